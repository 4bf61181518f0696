"""`--equivalence`: what it prints, and what the status says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runs import write_run

Cli = Callable[..., subprocess.CompletedProcess[str]]
Case = Callable[[str], list[Path]]

BASE = {"record": [0, 1, 2, 3], "batch": [0, 0, 1, 1]}
SHUFFLED = BASE | {"record": [2, 1, 0, 3]}


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    """Two runs in another order, without a fault that a rule would name."""
    write_run(tmp_path / "a", BASE)
    write_run(tmp_path / "b", SHUFFLED)
    return ["a", "b"]


def test_a_rule_that_holds_is_status_0_and_the_verdict_stays(cli: Cli, pair: list[str]) -> None:
    done = cli("audit", *pair, "--equivalence", "same-set")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "reordered: b has the same records as a, in another order\n\ndecision: same-set holds\n"
    )


def test_a_rule_that_does_not_hold_is_status_1(cli: Cli, pair: list[str]) -> None:
    done = cli("audit", *pair, "--equivalence", "same-order", "--json", "-")
    result = json.loads(done.stdout)

    assert done.returncode == 1
    assert result["verdict"] == "reordered"
    assert result["decision"] == "same-order does not hold: 2 records moved"
    assert result["outcome"] == "broken"


def test_what_cannot_be_told_is_status_2(cli: Cli, tmp_path: Path) -> None:
    write_run(tmp_path / "a", {"record": [1]})
    write_run(tmp_path / "b", {"record": ["1"]})

    assert cli("audit", "a", "b", "--equivalence", "same-set").returncode == 2


def test_a_fault_of_the_order_does_not_fail_runs_of_the_same_set(cli: Cli, case: Case) -> None:
    a, b = (run.name for run in case("race-completion-order"))
    plain = json.loads(cli("audit", a, b, "--json", "-").stdout)

    assert "race" in [finding["rule"] for finding in plain["findings"]]
    assert cli("audit", a, b, "--equivalence", "same-set").returncode == 0
    assert cli("audit", a, b, "--equivalence", "same-order").returncode == 1


def test_a_run_that_differs_in_more_is_not_excused(cli: Cli, case: Case) -> None:
    a, b = (run.name for run in case("implicit-partitioning-10-4"))
    done = cli("audit", a, b, "--equivalence", "same-set", "--quiet")

    assert done.returncode == 1
    assert done.stdout.endswith("; same-set does not hold: 2 records missing\n")


def test_the_worst_of_several_runs_decides(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    write_run(tmp_path / "c", BASE | {"record": [0, 1, 2, 4]})

    assert cli("audit", *pair, "a", "--equivalence", "same-set").returncode == 0
    assert cli("audit", *pair, "c", "--equivalence", "same-set").returncode == 1


def test_a_project_sets_the_rule_and_the_command_line_stands_above_it(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.detloader]\nequivalence = "same-set"\n', encoding="utf-8")

    assert cli("audit", *pair).returncode == 0
    assert cli("audit", *pair, "--equivalence", "same-order").returncode == 1
    assert cli("check", "a").returncode == 0


def test_an_unknown_rule_is_one_line(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    asked = cli("audit", *pair, "--equivalence", "same")
    (tmp_path / "pyproject.toml").write_text('[tool.detloader]\nequivalence = "same"\n')
    set_so = cli("audit", *pair)

    for done in (asked, set_so):
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert "equivalence" in done.stderr
