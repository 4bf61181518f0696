"""`accept`: the file that it writes, and the audits that read it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tests.support.runs import write_run

Cli = Callable[..., subprocess.CompletedProcess[str]]

FILE = "detloader-accepted.json"
SCHEMA = Path(__file__).parents[2] / "docs" / "result.schema.json"
ACCEPT = ("accept", "result.json", "--reason", "agreed", "--until", "2999-12-31")


@pytest.fixture
def pair(cli: Cli, tmp_path: Path) -> list[str]:
    """Two runs that differ, with the result of their audit in result.json."""
    for name, record in (("a", [0, 1, 2, 3]), ("b", [0, 1, 2]), ("c", [0, 1, 3])):
        write_run(tmp_path / name, {"record": record})
    assert cli("audit", "a", "b", "--json", "result.json").returncode == 1
    return ["a", "b"]


def refused(done: subprocess.CompletedProcess[str], reason: str) -> None:
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert reason in done.stderr


def test_an_accepted_difference_is_status_0_and_is_said(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    accepted = cli(*ACCEPT)
    done = cli("audit", *pair, "--json", "again.json")
    result = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))

    assert accepted.returncode == 0
    assert accepted.stdout.endswith("accepted until 2999-12-31: stream main: 1 record missing\n")
    assert done.returncode == 0
    assert done.stdout.startswith(
        "changed: b has 3 of the 4 records of a\n\ndecision: accepted until 2999-12-31: agreed\n"
    )
    assert result["decision"] == "accepted until 2999-12-31: agreed"
    assert result["outcome"] == "accepted"
    jsonschema.validate(result, json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_another_difference_counts(cli: Cli, pair: list[str]) -> None:
    assert cli(*ACCEPT).returncode == 0
    done = cli("audit", "a", "c")

    assert done.returncode == 1
    assert "decision" not in done.stdout
    assert cli("audit", *pair, "c").returncode == 1


def test_an_expired_acceptance_is_said_and_counts(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    assert cli(*ACCEPT).returncode == 0
    path = tmp_path / FILE
    path.write_text(path.read_text(encoding="utf-8").replace("2999", "2020"), encoding="utf-8")
    done = cli("audit", *pair)

    assert done.returncode == 1
    assert "decision: was accepted until 2020-12-31, which is over: agreed" in done.stdout


def test_accepting_again_renews_the_one_entry(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    assert cli(*ACCEPT).returncode == 0
    assert cli("audit", *pair, "--json", "result.json").returncode == 0
    assert cli(*ACCEPT, "--reason", "agreed again").returncode == 0
    (entry,) = json.loads((tmp_path / FILE).read_text(encoding="utf-8"))["accepted"]

    assert entry["reason"] == "agreed again"
    assert (entry["verdict"], entry["until"]) == ("changed", "2999-12-31")


def test_a_difference_is_known_again_where_the_runs_lie_elsewhere(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    assert cli(*ACCEPT).returncode == 0
    (tmp_path / "moved").mkdir()
    for name in pair:
        (tmp_path / name).rename(tmp_path / "moved" / name)

    assert cli("audit", "moved/a", tmp_path / "moved" / "b").returncode == 0


def test_the_file_lies_beside_the_nearest_pyproject(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    result = tmp_path / "result.json"
    program = "import os; os.chdir('folder'); from detloader.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "accept", result, *ACCEPT[2:]],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0
    assert (tmp_path / FILE).is_file()
    assert cli("audit", *pair).returncode == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--reason", " "], "the reason is empty"),
        (["--until", "2020-01-01"], "2020-01-01 is over"),
        (["--until", "tomorrow"], "--until tomorrow is no day: write YYYY-MM-DD"),
        (["--until", "29990101"], "--until 29990101 is no day"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    cli: Cli, pair: list[str], tmp_path: Path, options: list[str], reason: str
) -> None:
    assert pair

    refused(cli(*ACCEPT, *options), reason)
    assert not (tmp_path / FILE).exists()


def test_a_result_that_cannot_be_accepted_is_refused(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    cli("audit", pair[0], pair[0], "--json", "same.json")
    cli("check", pair[0], "--json", "check.json")
    (tmp_path / "text.json").write_text("no JSON", encoding="utf-8")

    for file, reason in (
        ("same.json", "the verdict is identical: there is no difference to accept"),
        ("check.json", "this is a result of check: only an audit can be accepted"),
        ("text.json", "text.json holds no result"),
        ("none.json", "none.json cannot be read"),
    ):
        refused(cli("accept", file, *ACCEPT[2:]), reason)
    assert not (tmp_path / FILE).exists()


def test_a_file_that_was_spoilt_is_one_line(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("<<<<<<<", encoding="utf-8")

    refused(cli("audit", *pair), f"{FILE} cannot be read")
    refused(cli(*ACCEPT), f"{FILE} cannot be read")
    assert (tmp_path / FILE).read_text(encoding="utf-8") == "<<<<<<<"
