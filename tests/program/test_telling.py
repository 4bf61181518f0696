"""What `detloader record -o RUN -- PROGRAM` says, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import detloader
from detloader import open_run
from tests.support.programs import record_program, write_program


def test_a_program_without_loaders_is_told_that_nothing_was_recorded(tmp_path: Path) -> None:
    program = write_program(tmp_path, "print(1)", head="")
    result = record_program(tmp_path, sys.executable, program)

    assert (result.returncode, result.stdout) == (0, "1\n")
    assert "iterated no loader" in result.stderr


def test_a_program_that_clears_its_environment_is_told_of_its_run(tmp_path: Path) -> None:
    program = write_program(tmp_path, "import os\nos.environ.clear()", head="")
    empty = record_program(tmp_path, sys.executable, program)
    text = """
        import os
        os.environ.clear()
        for _ in DataLoader(data):
            pass
        """
    full = record_program(tmp_path, sys.executable, write_program(tmp_path, text))

    assert (empty.returncode, full.returncode, full.stderr) == (0, 0, "")
    assert "iterated no loader" in empty.stderr
    assert "Traceback" not in empty.stderr
    assert open_run(tmp_path / "run").rows == 20


def test_a_program_whose_rows_are_all_left_out_is_told_so(tmp_path: Path) -> None:
    program = write_program(tmp_path, "print(len([*DataLoader(data)]))")
    result = record_program(tmp_path, sys.executable, program, flags=["--epochs", "3"])

    assert (result.returncode, result.stdout) == (0, "20\n")
    assert "run has none of the 20 rows of stream 'train.py:5'" in result.stderr


@pytest.mark.parametrize(
    "flags",
    ["-I", "-E", "-S", "-BE", "-W ignore -I", "-Wignore -I", "-X dev -E", "-uX dev -S", "-Ic pass"],
)
def test_a_python_that_ignores_its_environment_is_told_so(flags: str, tmp_path: Path) -> None:
    program = write_program(tmp_path, "print(1)", head="")
    result = record_program(tmp_path, sys.executable, *flags.split(), program)

    assert result.returncode == 0
    assert "is told to ignore its environment" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["-B"], ["-c", "-I"], ["-W", "-I"], ["-", "-I"], ["train.py", "-I"]]
)
def test_any_other_python_is_not(arguments: list[str], tmp_path: Path) -> None:
    write_program(tmp_path, "print(1)", head="")
    result = record_program(tmp_path, sys.executable, *arguments, input="")

    assert "ignore its environment" not in result.stderr


@pytest.mark.parametrize("path", ["", str(Path(detloader.__file__).parents[1])])
def test_a_python_that_cannot_import_detloader_is_told_so(path: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "other", symlinks=True)
    program = write_program(tmp_path, "print(1)", head="")
    environment = {**os.environ, "PYTHONPATH": path}
    result = record_program(tmp_path, tmp_path / "other/bin/python", program, env=environment)

    assert (result.returncode, result.stdout) == (0, "1\n")
    (line,) = result.stderr.splitlines()
    assert line.startswith("detloader: not recorded: ")
    assert "has no detloader that it can import (No module named " in line


def test_what_a_program_reads_of_another_python_is_that_python_s_own(tmp_path: Path) -> None:
    venv.create(tmp_path / "other", symlinks=True)
    other = [os.fspath(tmp_path / "other/bin/python"), "-c", "print(1)"]
    program = write_program(
        tmp_path,
        f"""
        import subprocess
        print(subprocess.run({other}, capture_output=True, check=True))
        """,
        head="",
    )
    result = record_program(tmp_path, sys.executable, program, env={**os.environ, "PYTHONPATH": ""})

    assert "stderr=b''" in result.stdout


@pytest.mark.parametrize(
    ("loaders", "told"),
    [
        (1, "1 loader could not be recorded: "),
        (3, "3 loaders could not be recorded, of which the first: "),
    ],
)
def test_a_run_that_cannot_be_written_is_no_program_without_loaders(
    loaders: int, told: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    text = """
        loaders = [DataLoader(data) for _ in range(loaders)]
        for epoch in range(2):
            print(sum(len([*loader]) for loader in loaders))
        """.replace("range(loaders)", f"range({loaders})")
    program = write_program(tmp_path, text)
    result = record_program(tmp_path, sys.executable, program, run="file/run")
    *lines, last = result.stderr.splitlines()

    assert (result.returncode, result.stdout) == (0, f"{20 * loaders}\n" * 2)
    assert [line.partition(": ")[0] for line in lines] == ["not recorded"] * loaders
    assert last.startswith(f"detloader: {tmp_path / 'file/run'} has no rows: {told}")
    assert "cannot be written: Not a directory; choose another folder" in last


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonesuch-program"], "no command"),
        (["-p", "a=1", "--", sys.executable], "go with a factory"),
    ],
)
def test_bad_usage_is_said_in_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "detloader", "record", "-o", "run", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )

    assert result.returncode == 2
    assert message in result.stderr


def test_a_run_without_a_name_is_refused_in_one_line(tmp_path: Path) -> None:
    result = record_program(tmp_path, sys.executable, "-c", "print(1)", run="")

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "detloader: a run is the name of a folder, not ''\n"
    assert not [*tmp_path.iterdir()]


def test_a_programs_path_may_have_a_colon(tmp_path: Path) -> None:
    (tmp_path / "a:b").mkdir()
    program = write_program(tmp_path / "a:b", "#!/bin/sh\necho begun $1\n", head="", name="go.sh")
    program.chmod(0o755)
    result = record_program(tmp_path, "a:b/go.sh", "well")

    assert (result.returncode, result.stdout) == (0, "begun well\n")


def test_each_stream_names_the_run_that_the_program_continues(tmp_path: Path) -> None:
    program = write_program(tmp_path, "[*DataLoader(data)], [*DataLoader(data, batch_size=2)]")
    record_program(tmp_path, sys.executable, program, run="first")
    flags = ["--parent", "first"]
    record_program(tmp_path, sys.executable, program, run="second", flags=flags)
    second = open_run(tmp_path / "second")
    parents = [stream.declared.parent for stream in second.streams.values()]

    assert parents == [open_run(tmp_path / "first").fingerprint] * 2


def test_a_program_that_continues_no_run_is_not_begun(tmp_path: Path) -> None:
    flags = ["--parent", "nowhere"]
    result = record_program(tmp_path, sys.executable, "-c", "print(1)", flags=flags)

    assert (result.returncode, result.stdout) == (2, "")
    assert "nowhere does not exist" in result.stderr


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").write_text("mine")
    result = record_program(tmp_path, sys.executable, "-c", "print(1)")

    assert (result.returncode, result.stdout) == (2, "")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine"]
