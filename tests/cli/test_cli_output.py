"""Where results go: files, the terminal, and what a project sets."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tests.support.terminals import read_terminal

Cli = Callable[..., subprocess.CompletedProcess[str]]
Case = Callable[[str], list[Path]]
SCHEMA = Path(__file__).parents[2] / "docs" / "result.schema.json"
SCRIPT = Path(sys.executable).with_name("detloader")


@pytest.fixture
def pair(case: Case) -> list[str]:
    """Two runs that differ."""
    return [run.name for run in case("implicit-partitioning-10-4")]


def test_json_validates_against_the_published_schema(cli: Cli, pair: list[str]) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    audit = json.loads(cli("audit", *pair, "--json", "-").stdout)
    several = json.loads(cli("audit", *pair, pair[0], "--json", "-").stdout)
    check = json.loads(cli("check", pair[1], "--json", "-").stdout)

    for result in (audit, several, check):
        jsonschema.validate(result, schema)
    assert (audit["verdict"], audit["command"]) == ("changed", "audit")
    assert audit["findings"][0]["rule"] == "implicit-partitioning"
    assert "differences" not in check


def test_reports_go_to_files_and_the_terminal_still_gets_text(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    done = cli("audit", *pair, "--json", "result.json", "--text", "result.txt")

    assert done.stdout.startswith("changed: ")
    assert (tmp_path / "result.txt").read_text(encoding="utf-8") == done.stdout
    assert (
        json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["verdict"] == "changed"
    )


def test_quiet_is_one_line(cli: Cli, pair: list[str]) -> None:
    done = cli("audit", *pair, "--quiet")

    assert done.stdout == "changed: run_b has 8 of the 10 records of run_a, in another order\n"
    assert done.returncode == 1


def test_limit_cuts_lists(cli: Cli, pair: list[str]) -> None:
    assert "8 and 1 more" in cli("audit", *pair, "--limit", "1").stdout
    assert "8, 9" in cli("audit", *pair).stdout


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--json", "-", "--text", "-"], "cannot both go to -"),
        (["--json", "-", "--quiet"], "exclude each other"),
        (["--json", "no/such/folder.json"], "cannot be written"),
        (["--json", "."], "cannot be written"),
        (["--json", "same", "--text", "same"], "named twice"),
    ],
)
def test_destinations_that_make_no_sense_are_refused(
    cli: Cli, pair: list[str], options: list[str], reason: str
) -> None:
    done = cli("audit", *pair, *options)

    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "file",
    [
        "run_a/main/rank-00000/manifest.json",
        "run_b/main/rank-00000/manifest.json",
        "run_b/report.html",
        "link/main/report.html",
        "names.csv",
        "pyproject.toml",
        "detloader-accepted.json",
    ],
)
def test_no_report_is_written_over_what_is_read(
    cli: Cli, pair: list[str], tmp_path: Path, file: str
) -> None:
    (tmp_path / "link").symlink_to("run_b")
    (tmp_path / "names.csv").write_text("a,b\n1,1\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    (tmp_path / "detloader-accepted.json").write_text('{"accepted": []}', encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = cli("audit", *pair, "--id-map", "names.csv", "--json", "new.json", "--html", file)

    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"detloader: {file} .*\bis read\b.*\n", done.stderr)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_device_takes_a_report_and_stays_a_device(cli: Cli, pair: list[str]) -> None:
    assert cli("audit", *pair, "--json", os.devnull).returncode == 1
    assert Path(os.devnull).is_char_device()


def test_an_error_leaves_an_older_report_as_it_was(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text("older", encoding="utf-8")

    assert cli("audit", "nowhere", "nowhere", "--json", "result.json").returncode == 2
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == "older"


def test_no_temporary_file_stays(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    before = {path.name for path in tmp_path.iterdir()}
    cli("audit", *pair, "--json", "result.json")

    assert {path.name for path in tmp_path.iterdir()} == before | {"result.json"}


def on_a_terminal(folder: Path, *arguments: str, **variables: str) -> str:
    """Run the program with a terminal for standard output."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **variables}
    if "NO_COLOR" not in variables:
        environment.pop("NO_COLOR", None)
    subprocess.run(
        [SCRIPT, *arguments], cwd=folder, env=environment, stdout=theirs, check=False, timeout=250
    )
    os.close(theirs)
    shown = read_terminal(ours)
    os.close(ours)
    return shown


def test_a_terminal_gets_colours_unless_they_are_not_wanted(
    pair: list[str], tmp_path: Path
) -> None:
    assert "\x1b[1;31mchanged" in on_a_terminal(tmp_path, "audit", *pair)
    assert "\x1b" not in on_a_terminal(tmp_path, "audit", *pair, "--no-color")
    assert "\x1b" not in on_a_terminal(tmp_path, "audit", *pair, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(tmp_path, "audit", *pair, TERM="dumb")


def settings(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.detloader]\n{text}\n", encoding="utf-8")


def test_a_project_sets_what_the_command_line_leaves_open(
    cli: Cli, case: Case, tmp_path: Path
) -> None:
    (run,) = case("partition-replicated")
    settings(tmp_path, 'ignore = ["partition-broken"]\nlimit = 3')

    assert cli("check", run, "--ignore", "coverage-hole").returncode == 1
    assert "partition-broken" not in cli("check", run).stdout
    assert "more rows" in cli("show", run).stdout


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("fail_on = 'warn'", "unknown key fail_on: the keys are select, ignore, fail-on, limit"),
        ("fail-on = 'sometimes'", "fail-on"),
        ("limit = 0", "limit"),
        ("select = 'race'", "select"),
        ("select = ['no-such-rule']", "there is no rule 'no-such-rule'"),
        ("select = [", "cannot be read"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(
    cli: Cli, case: Case, tmp_path: Path, text: str, reason: str
) -> None:
    (run,) = case("clean-weighted")
    settings(tmp_path, text)
    done = cli("check", run)

    assert done.returncode == 2
    assert reason in done.stderr
    assert re.fullmatch(r"detloader: .*\n", done.stderr)
