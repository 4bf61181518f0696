"""What the operating system refuses is no bug of ours."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from detloader.cli.status import guarded

Cli = Callable[..., subprocess.CompletedProcess[str]]
Case = Callable[[str], list[Path]]
SCRIPT = Path(sys.executable).with_name("detloader")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file where a folder is needed."""
    path = tmp_path / "file"
    path.write_text("record\n1\n", encoding="utf-8")
    (tmp_path / "log.csv").write_text("record\n1\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "-o", "file/demo"],
        ["import", "log.csv", "-o", "file/run"],
        ["import", "log.csv", "-o", "file/deep/run"],
        ["record", "builtins:list", "-o", "file/run"],
        ["show", "file/run"],
        ["verify", "file/run"],
    ],
)
def test_a_file_in_the_way_is_one_line_that_names_it(
    cli: Cli, tmp_path: Path, arguments: list[str]
) -> None:
    before = sorted(tmp_path.iterdir())
    done = cli(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"detloader: [^\n]*file/[^\n]*\n", done.stderr)
    assert "bug" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("options", [[], ["--json", "-"], ["--quiet"]])
def test_an_output_that_takes_nothing_is_one_line(
    case: Case, tmp_path: Path, options: list[str]
) -> None:
    (run,) = case("clean-weighted")[:1]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [SCRIPT, "check", run, *options],
            cwd=tmp_path,
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )

    assert done.returncode == 2
    assert done.stderr == (
        "detloader: reading or writing failed: No space left on device; "
        "free some space, or write elsewhere\n"
    )


def test_a_report_that_cannot_be_written_names_its_file(cli: Cli, case: Case) -> None:
    done = cli("check", case("clean-weighted")[0], "--json", "/dev/full")

    assert done.returncode == 2
    assert done.stderr == "detloader: /dev/full cannot be written: No space left on device\n"


def test_errors_that_nobody_can_read_keep_their_status(tmp_path: Path) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run([SCRIPT, "show", "no"], cwd=tmp_path, check=False, stderr=full)

    assert done.returncode == 2


def failing(error: Exception) -> click.Command:
    def fail() -> None:
        raise error

    return click.Command("fail", callback=fail)


@pytest.mark.parametrize(
    ("number", "mend"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EROFS, "check the permissions"),
        (errno.EACCES, "check the permissions"),
        (errno.ENAMETOOLONG, "check the path"),
    ],
)
def test_a_refusal_names_the_file_and_how_to_mend_it(
    capsys: pytest.CaptureFixture[str], number: int, mend: str
) -> None:
    status = guarded(failing(OSError(number, "in Arrow's words", "runs/a\n")), [])
    said = capsys.readouterr().err

    assert status == 2
    assert said.startswith(f"detloader: runs/a\\n: {os.strerror(number)}; {mend}")
    assert said.count("\n") == 1
