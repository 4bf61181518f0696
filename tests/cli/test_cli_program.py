from __future__ import annotations

import os
import pkgutil
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import detloader.cli
from detloader.cli.status import guarded
from detloader.errors import UsageError
from detloader.manifest.verify import verify_run

Cli = Callable[..., subprocess.CompletedProcess[str]]
SCRIPT = Path(sys.executable).with_name("detloader")
FRAMEWORKS = {"grain", "tensorflow", "torch"}
HEAVY = FRAMEWORKS | {"pandas", "numpy", "pyarrow", "scipy"}

LOADERS = """
def endless():
    print("begun", flush=True)
    while True:
        yield 0
"""


def loaded(*arguments: object) -> set[str]:
    """Return the packages that a command imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", SCRIPT, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
    )
    names = re.findall(r"^import time:.*\|\s*([\w.]+)$", done.stderr, re.MULTILINE)
    assert "detloader.cli" in names
    return {name.partition(".")[0] for name in names}


def test_a_command_is_a_file_of_the_package(cli: Cli) -> None:
    modules = {module.name.rstrip("_") for module in pkgutil.iter_modules(detloader.cli.__path__)}
    listed = set(re.findall(r"^  (\w+)  ", cli("--help").stdout, re.MULTILINE))

    assert listed == {
        "accept",
        "audit",
        "bisect",
        "check",
        "demo",
        "freeze",
        "import",
        "preflight",
        "record",
        "replay",
        "report",
        "rules",
        "show",
        "sign",
        "verify",
    }
    assert listed <= modules


def test_help_imports_nothing_heavy() -> None:
    assert not loaded("--help") & HEAVY


def test_auditing_equal_runs_imports_no_framework_and_reads_no_rows(
    case: Callable[[str], list[Path]],
) -> None:
    assert not loaded("audit", *case("clean-worker-count")) & (
        HEAVY | {"numpy", "pyarrow", "scipy"}
    )


def test_a_check_imports_no_framework(case: Callable[[str], list[Path]]) -> None:
    # pandas is no framework of ours: pyarrow asks for it wherever it is installed.
    assert not loaded("check", *case("clean-weighted")) & FRAMEWORKS


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance"],
        ["audit"],
        ["audit", "only-one"],
        ["check", "--fail-on", "sometimes", "run"],
        ["show", "run", "--step", "-1"],
        ["show", "run", "--limit", "0"],
        ["--colour"],
    ],
)
def test_bad_usage_is_one_line_and_status_2(cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"detloader: .*\n", done.stderr)


def test_the_version_is_that_of_the_package(program: Cli) -> None:
    done = program("--version")

    assert re.fullmatch(r"detloader \d+\.\d+.*\n", done.stdout)


def test_an_interrupt_is_quiet_and_has_the_status_of_an_interrupt(tmp_path: Path) -> None:
    (tmp_path / "loaders.py").write_text(LOADERS, encoding="utf-8")
    # A child of what ignores interrupts, as all in the background of a shell, ignores them too.
    heeded = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        [SCRIPT, "record", "loaders:endless", "-o", "run"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        signal.signal(signal.SIGINT, heeded)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()

    assert (process.returncode, errors) == (130, "")
    run = verify_run(tmp_path / "run")
    assert run.fingerprint is not None
    assert not run.complete


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [SCRIPT, "rules"], cwd=tmp_path, check=False, stdout=write_end, stderr=subprocess.PIPE
    )
    os.close(write_end)

    assert (done.returncode, done.stderr) == (141, b"")


def failing(error: Exception) -> click.Command:
    def fail() -> None:
        raise error

    return click.Command("fail", callback=fail)


def test_a_bug_never_looks_like_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    status = guarded(failing(ZeroDivisionError("by\nzero")), [])
    said = capsys.readouterr().err

    assert status == 2
    assert said.startswith("detloader: a bug in detloader")
    assert "ZeroDivisionError: by\\nzero; --debug shows where" in said
    assert said.count("\n") == 1


def test_control_characters_of_a_message_stay_on_their_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    guarded(failing(UsageError("no run \x1b[2J\n here")), [])

    assert capsys.readouterr().err == "detloader: no run \\x1b[2J\\n here\n"


def test_debug_shows_the_traceback_and_keeps_the_status(cli: Cli) -> None:
    plain, debug = cli("show", "nowhere"), cli("show", "nowhere", "--debug")

    assert plain.returncode == debug.returncode == 2
    assert "Traceback" in debug.stderr
    assert debug.stderr.endswith(plain.stderr)
