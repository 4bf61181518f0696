from __future__ import annotations

import hashlib
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from detloader.manifest.reader import open_run
from detloader.manifest.verify import verify_run
from detloader.recording import record

Cli = Callable[..., subprocess.CompletedProcess[str]]

LOADERS = '''
import itertools
import os
import signal

from detloader import open_run, to_grain

NUMBERS = [1, 2, 3]


def stream(size, seed=0, tags=None):
    return to_grain(list(range(size)), seed=seed, shuffle=True, batch_size=4)


def empty():
    return []


def names():
    return ["a", "b", "c"]


def endless():
    number = 0
    while True:
        yield number
        number += 1


def breaks():
    yield 1
    raise RuntimeError("torn\\nfile")


def nothing():
    return None


def number():
    return 7


def fails():
    raise OSError("no disk")


def leaves():
    raise SystemExit(0)


def dicts():
    return [{"id": name, "x": [1.0]} for name in "abc"]


def batches():
    return [{"id": [7, 8], "x": [1, 2]}, {"id": [9], "x": [3]}]


def torn():
    return [{"id": 1}, {"id": 2}, {"no": 3}, {"id": 4}, {"id": 5}]


def killed():
    """Kill the process once some rows have reached the disk."""
    for number in itertools.count():
        yield number
        if number % 1000 == 999 and open_run("run").rows:
            os.kill(os.getpid(), signal.SIGKILL)


class Data:
    @staticmethod
    def make():
        return ["x"]
'''


@pytest.fixture
def loaders(tmp_path: Path) -> Path:
    """Write a module with factories into the folder in which the program runs."""
    path = tmp_path / "loaders.py"
    path.write_text(LOADERS, encoding="utf-8")
    (tmp_path / "broken.py").write_text("import no_such_package\n", encoding="utf-8")
    (tmp_path / "stops.py").write_text("1 / 0\n", encoding="utf-8")
    return path


def test_a_loader_is_built_run_and_recorded_with_its_recipe(
    program: Cli, loaders: Path, tmp_path: Path
) -> None:
    done = program(
        "record",
        "loaders:stream",
        "-o",
        "run",
        "-p",
        "size=10",
        "-p",
        'tags=["a", 1]',
        "-p",
        "seed=3",
    )
    stream = verify_run(tmp_path / "run").streams["main"]

    assert (done.returncode, done.stdout) == (0, "run: 10 rows\n")
    assert set(stream.table()["record"].to_pylist()) == set(range(10))
    assert stream.declared.seed == 3
    assert stream.recipe is not None
    assert stream.recipe.factory == "loaders:stream"
    assert stream.recipe.arguments == {"size": 10, "tags": ["a", 1], "seed": 3}
    assert stream.recipe.source_sha256 == hashlib.sha256(loaders.read_bytes()).hexdigest()


@pytest.mark.usefixtures("loaders")
def test_a_value_that_is_no_json_is_text(cli: Cli, tmp_path: Path) -> None:
    cli("record", "loaders:stream", "-o", "run", "-p", "size=1", "-p", "tags=train set")
    recipe = open_run(tmp_path / "run").streams["main"].recipe

    assert recipe is not None
    assert recipe.arguments["tags"] == "train set"


@pytest.mark.usefixtures("loaders")
def test_an_endless_loader_stops_after_the_batches_asked_for(cli: Cli, tmp_path: Path) -> None:
    done = cli("record", "loaders:endless", "-o", "run", "--batches", 5)

    assert (done.returncode, done.stdout) == (0, "run: 5 rows\n")
    assert open_run(tmp_path / "run").complete


@pytest.mark.usefixtures("loaders")
def test_a_factory_may_be_part_of_a_class(cli: Cli) -> None:
    assert cli("record", "loaders:Data.make", "-o", "run").stdout == "run: 1 row\n"


@pytest.mark.usefixtures("loaders")
@pytest.mark.parametrize("level", ["digest", "order", "full"])
def test_the_level_decides_what_is_kept(cli: Cli, tmp_path: Path, level: str) -> None:
    cli("record", "loaders:stream", "-o", "run", "-p", "size=8", "--level", level)
    run = verify_run(tmp_path / "run")

    assert run.streams["main"].level == level
    assert run.rows == 8


@pytest.mark.usefixtures("loaders")
@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        ("loaders", "write MODULE:FACTORY"),
        (":names", "write MODULE:FACTORY"),
        ("nowhere:names", "no module nowhere"),
        ("nowhere.deep:names", "no module nowhere.deep"),
        ("broken:names", "no_such_package"),
        ("stops:names", "ZeroDivisionError"),
        ("loaders:name", "did you mean names?"),
        ("loaders:NUMBERS", "cannot be called"),
        ("loaders:nothing", "gave None"),
        ("loaders:number", "cannot record"),
        ("loaders:fails", "OSError: no disk"),
        ("loaders:leaves", "SystemExit"),
        ("loaders:stream", "missing 1 required positional argument"),
        ("loaders:breaks", "failed after 1 element: RuntimeError: torn\\nfile"),
    ],
)
def test_a_factory_or_loader_that_fails_is_one_line(cli: Cli, factory: str, reason: str) -> None:
    done = cli("record", factory, "-o", "run")

    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert re.fullmatch(r"detloader: .*\n", done.stderr)


@pytest.mark.usefixtures("loaders")
def test_a_run_that_exists_is_not_overwritten(cli: Cli, tmp_path: Path) -> None:
    assert cli("record", "loaders:names", "-o", "run").returncode == 0
    before = open_run(tmp_path / "run").fingerprint
    again = cli("record", "loaders:endless", "-o", "run", "--batches", 2)

    assert again.returncode == 2
    assert "holds a run already" in again.stderr
    assert verify_run(tmp_path / "run").fingerprint == before


@pytest.mark.usefixtures("loaders")
@pytest.mark.parametrize("option", [["-p", "size"], ["-p", "=1"], ["-p", "size=1", "-p", "size=2"]])
def test_a_parameter_is_given_once_as_a_pair(cli: Cli, option: list[str]) -> None:
    done = cli("record", "loaders:stream", "-o", "run", *option)

    assert done.returncode == 2
    assert "detloader: -p" in done.stderr


@pytest.mark.usefixtures("loaders")
def test_reading_a_recorded_run_runs_nothing_that_it_names(cli: Cli, tmp_path: Path) -> None:
    cli("record", "loaders:names", "-o", "run")
    (tmp_path / "loaders.py").write_text("raise SystemExit('it ran')\n", encoding="utf-8")
    del sys.modules["loaders"]

    for arguments in (
        ["show", "run"],
        ["check", "run"],
        ["audit", "run", "run"],
        ["verify", "run"],
    ):
        assert "it ran" not in cli(*arguments).stderr


@pytest.mark.usefixtures("loaders")
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["loaders:stream", "-p", "size=8", "--epochs", "3"], "has none of the 8 rows"),
        (["loaders:empty"], "nothing was taken from its loader"),
    ],
)
def test_a_run_without_rows_says_why(cli: Cli, options: list[str], reason: str) -> None:
    done = cli("record", *options, "-o", "run")

    assert (done.returncode, done.stdout) == (0, "run: 0 rows\n")
    assert reason in done.stderr


@pytest.mark.usefixtures("loaders")
def test_a_killed_recording_leaves_a_prefix_that_says_it_is_incomplete(
    program: Cli, tmp_path: Path
) -> None:
    killed = program("record", "loaders:killed", "-o", "run")
    shown, verified = program("show", "run", "--limit", 1), program("verify", "run")
    audited = program("audit", "run", "run")

    assert killed.returncode == -signal.SIGKILL
    assert shown.returncode == 0
    rows = open_run(tmp_path / "run").rows
    assert rows > 0
    assert shown.stdout.startswith(f"run: {rows:,} rows, incomplete\n")
    assert f"\nstream main: {rows:,} rows, 1 epoch, " in shown.stdout
    assert (verified.returncode, verified.stdout) == (2, "")
    assert verified.stderr == (
        f"detloader: run was cut off and never sealed: {rows:,} rows can be read, "
        "none sealed yet; audit judges it as the beginning of a run\n"
    )
    assert "Traceback" not in audited.stderr


def test_a_run_that_somebody_records_is_not_said_to_be_cut_off(
    program: Cli, tmp_path: Path
) -> None:
    with record(["a", "b"], tmp_path / "run"):
        verified = program("verify", "run")

    assert verified.returncode == 2
    assert "run is still being recorded" in verified.stderr
    assert program("verify", "run").returncode == 0


@pytest.mark.usefixtures("loaders")
@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["loaders:dicts", "--ids", "id"], ["a", "b", "c"]),
        (["loaders:batches", "--ids", "id", "--batched"], [7, 8, 9]),
    ],
)
def test_ids_are_found_in_the_elements(
    cli: Cli, tmp_path: Path, options: list[str], ids: list[int | str]
) -> None:
    done = cli("record", *options, "-o", "run")
    rows = open_run(tmp_path / "run").streams["main"].table()

    assert (done.returncode, done.stdout, done.stderr) == (0, "run: 3 rows\n", "")
    assert rows["record"].to_pylist() == ids
    assert ("batch" in rows.column_names) == ("--batched" in options)


@pytest.mark.usefixtures("loaders")
@pytest.mark.parametrize(("key", "kept"), [("id", 2), ("nothing", 0)])
def test_rows_that_could_not_be_recorded_are_one_line_and_status_2(
    cli: Cli, tmp_path: Path, key: str, kept: int
) -> None:
    done = cli("record", "loaders:torn", "--ids", key, "-o", "run")

    assert (done.returncode, done.stdout) == (2, f"run: {kept} rows\n")
    assert re.fullmatch(
        rf"detloader: {5 - kept} rows could not be recorded: .*'{key}'.*\n", done.stderr
    )
    assert open_run(tmp_path / "run").rows == kept
