"""Reports that are written again, and what pictures are drawn from."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from detloader.reports import formats

Cli = Callable[..., subprocess.CompletedProcess[str]]
Case = Callable[[str], list[Path]]
SCHEMA = Path(__file__).parents[2] / "docs" / "result.schema.json"


@pytest.fixture
def pair(case: Case) -> list[str]:
    """Two runs that differ."""
    return [run.name for run in case("implicit-partitioning-10-4")]


def read(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_a_result_gives_the_reports_that_the_audit_gave_and_needs_no_run(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    def options(folder: str) -> list[str]:
        (tmp_path / folder).mkdir()
        return [part for name in formats() for part in (f"--{name}", f"{folder}/{name}")]

    audited = cli("audit", *pair, *options("audit"))
    for run in pair:
        shutil.rmtree(tmp_path / run)
    again = cli("report", "audit/json", *options("report"))

    assert (audited.returncode, again.returncode) == (1, 0)
    assert again.stdout == audited.stdout
    for name in formats():
        report = tmp_path / "report" / name
        assert report.read_bytes() == (tmp_path / "audit" / name).read_bytes()


def test_every_format_is_an_option_of_every_command_that_has_a_result(cli: Cli) -> None:
    for command in ("audit", "check", "report"):
        told = cli(command, "--help").stdout

        assert [name for name in formats() if f"--{name} FILE" not in told] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no result"),
        ("{}", "holds no result"),
        ('{"schema_version": 2, "verdict": ["new"]}', "has schema_version 2"),
        ('{"schema_version": 1, "command": "audit", "verdict": "changed"}', "holds no result"),
        ('{"schema_version": 1, "command": "audit", "verdict": "changed", "runs": []}', "a run"),
        ("[" * 100_000, "holds no result"),
        ('{"schema_version": 1, "axes": ' + "[" * 100_000, "holds no result"),
        ('{"schema_version": 1, "command": "audit", "verd', "holds no result"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(
    cli: Cli, tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "result.json").write_text(text, encoding="utf-8")
    done = cli("report", "result.json", "--html", "page.html")

    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"detloader: result\.json .*\n", done.stderr)
    assert reason in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_a_result_is_not_overwritten_by_its_own_report(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    cli("audit", *pair, "--json", "result.json")
    (tmp_path / "link.json").symlink_to("result.json")
    before = (tmp_path / "result.json").read_bytes()
    for name in ("result.json", "./result.json", "link.json"):
        done = cli("report", "result.json", "--html", name)

        assert (done.returncode, done.stdout) == (2, "")
        assert "is read here" in done.stderr
        assert (tmp_path / "result.json").read_bytes() == before


def test_bytes_that_are_no_text_are_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_bytes(b'{"schema_version": 1, "command": "\xff"}')

    assert "holds no result" in cli("report", "result.json").stderr
    assert "cannot be read" in cli("report", "nowhere.json").stderr


def test_pictures_are_in_the_result_where_they_are_asked_for(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    schema = read(SCHEMA)

    def pictures(*arguments: str) -> list[str]:
        cli(*arguments, "--json", "result.json")
        result = read(tmp_path / "result.json")
        jsonschema.validate(result, schema)
        return [picture["name"] for picture in result["streams"][0].get("pictures", [])]

    assert pictures("audit", *pair) == []
    assert pictures("check", pair[0]) == []
    assert "order-map" in pictures("audit", *pair, "--pictures")
    assert "order-map" in pictures("audit", *pair, "--html", "page.html")
    assert "order-map" in pictures("audit", pair[0], pair[0], "--pictures")
    assert "coverage" in pictures("check", pair[0], "--pictures")


def test_a_result_without_pictures_says_so_where_they_are_asked_for(
    cli: Cli, pair: list[str]
) -> None:
    cli("audit", *pair, "--json", "without.json")
    cli("audit", *pair, "--json", "with.json", "--pictures")
    how = "to have them, audit or check again with --pictures"
    told = f"detloader: without.json has no pictures: {how}\n"

    assert cli("report", "without.json", "--html", "page.html").stderr == told
    assert cli("report", "without.json", "--html", "-").stderr == told
    assert cli("report", "without.json", "--markdown", "-").stderr == ""
    assert cli("report", "with.json", "--html", "page.html").stderr == ""


def test_a_picture_of_no_known_kind_is_refused_in_one_line(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    cli("audit", *pair, "--json", "result.json", "--pictures")
    text = (tmp_path / "result.json").read_text(encoding="utf-8")
    (tmp_path / "result.json").write_text(
        text.replace('"order-map"', '"or\\u001bder"'), encoding="utf-8"
    )
    done = cli("report", "result.json", "--html", "page.html")

    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"detloader: result\.json holds no result \(.*order-map.*\n", done.stderr)
    assert not (tmp_path / "page.html").exists()


def test_several_runs_are_one_page(cli: Cli, pair: list[str]) -> None:
    page = cli("audit", *pair, pair[0], "--html", "-").stdout

    assert page.startswith("<!doctype html>")
    assert page.count('<section class="comparison"') == 2
    assert "Every run against run_a" in page


def test_findings_of_runs_with_whole_paths_stand_at_files_below_the_working_folder(
    cli: Cli, case: Case, tmp_path: Path
) -> None:
    log = json.loads(cli("audit", *case("implicit-partitioning-10-4"), "--sarif", "-").stdout)
    places = {
        location["physicalLocation"]["artifactLocation"]["uri"]
        for found in log["runs"][0]["results"]
        for location in found["locations"]
    }

    assert places
    assert all((tmp_path / place).is_file() for place in places)
