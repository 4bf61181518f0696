"""What every rule has: a page, an example, a place in the causal order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from detloader.audits import all_rules, audit, check
from detloader.audits.rule import Rule
from detloader.errors import UsageError
from detloader.findings import Result, Severity
from tests.support.runs import write_run

HEADINGS = [
    "What it catches",
    "Why it hurts",
    "Example",
    "How to mend it",
    "Evidence",
    "Limits",
    "Seen in",
]

RULE_OF_OTHERS = '''
"""Something is odd."""
from detloader.audits.rule import Example, Fault, Stage
from detloader.findings import Severity
STAGE = Stage.SOURCE_SET
EXAMPLE = Example(faulty={"record": [1]}, mended={"record": [2]}, declared={})
def check_run(view, known):
    odd = view.record.values[view.record.values % 2 == 1].tolist()
    yield Fault(severity=Severity.NOTE, message="odd", cause="odd", evidence={"odd": odd})
'''

EXPLANATION = {"formula", "explained_rows", "rows", "ties"}
"""Evidence that an audit adds to the cause, whichever rule found it."""

RULES = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)


@RULES
def test_a_page_has_the_fixed_headings_in_order(rule: Rule) -> None:
    assert re.findall(r"^## (.+)$", rule.page, flags=re.MULTILINE) == HEADINGS
    assert rule.summary.endswith(".")


@RULES
def test_a_page_names_the_evidence_that_a_finding_has(rule: Rule, tmp_path: Path) -> None:
    evidence = judge(rule, tmp_path, faulty=True).findings[0].evidence
    section = rule.page.partition("## Evidence")[2].partition("## Limits")[0]

    assert evidence.keys() - EXPLANATION <= set(re.findall(r"`(\w+)`", section))


@RULES
def test_an_example_is_caught_and_its_mended_twin_is_passed(rule: Rule, tmp_path: Path) -> None:
    faulty = judge(rule, tmp_path / "faulty", faulty=True)
    mended = judge(rule, tmp_path / "mended", faulty=False)

    assert faulty.findings[0].rule == rule.name
    assert [finding for finding in mended.findings if finding.severity is not Severity.NOTE] == []


@RULES
def test_a_finding_names_a_command_that_the_product_has(rule: Rule, tmp_path: Path) -> None:
    confirm = judge(rule, tmp_path, faulty=True).findings[0].confirm

    assert confirm is None or re.match(r"detloader (show|replay|check|audit) \S+", confirm)


def judge(rule: Rule, folder: Path, *, faulty: bool) -> Result:
    example = rule.example
    rows = example.faulty if faulty else example.mended
    run = write_run(folder / "run", rows, example.declared)
    if example.baseline is None:
        return check(run)
    declared = {**example.declared, **example.baseline_declared}
    return audit(write_run(folder / "baseline", example.baseline, declared), run)


def test_rules_come_in_causal_order() -> None:
    ours = [
        "implicit-partitioning",
        "ignored-weights",
        "epoch-order-repeat",
        "partition-broken",
        "coverage-hole",
        "content-drift",
    ]

    assert [rule.name for rule in all_rules() if rule.name in ours] == ours
    assert [rule.stage for rule in all_rules()] == sorted(rule.stage for rule in all_rules())


def test_rules_that_ask_headers_are_found_and_need_no_arrays() -> None:
    asking = [rule.name for rule in all_rules() if rule.compare_headers is not None]
    program = (
        "import sys\n"
        "from detloader.audits.rule import header_rules\n"
        "print(*(rule.name for rule in header_rules()), 'numpy' in sys.modules)"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout

    assert output.split() == [*asking, "False"]


def test_a_rule_of_another_package_is_asked(tmp_path: Path) -> None:
    (tmp_path / "rule_of_others.py").write_text(RULE_OF_OTHERS)
    metadata = tmp_path / "others-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[detloader.rules]\nodd-records = rule_of_others\n")
    run = write_run(tmp_path / "run", {"record": [1, 2, 3]})
    program = (
        "from detloader.audits import check\n"
        f"for finding in check({str(run)!r}, select=['odd-records']).findings:\n"
        "    print(finding.rule, finding.evidence['odd'])"
    )
    output = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    ).stdout

    assert output == "odd-records [1, 3]\n"


def test_a_rule_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"record": [1]})

    with pytest.raises(UsageError, match="no rule 'coverage-hull'"):
        check(run, select=["coverage-hull"])
    with pytest.raises(UsageError, match="no rule 'content'"):
        audit(run, run, ignore=["content"])


def test_select_asks_one_rule_and_ignore_leaves_one_out(tmp_path: Path) -> None:
    declared = {"shuffle": False, "source_size": 4, "workers": 2}
    rows = {"epoch": [0] * 6, "worker": [0, 1] * 3, "record": [0, 0, 1, 1, 3, 3]}
    run = write_run(tmp_path / "run", rows, declared)
    everything = [finding.rule for finding in check(run).findings]

    assert everything == ["partition-broken"]
    assert check(run, ignore=["partition-broken"]).findings[0].rule == "coverage-hole"
    assert check(run, select=["content-drift"]).findings == []


def test_what_a_rule_lacked_is_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"record": [3, 1, 2]})
    missing = {skipped.rule: skipped.missing for skipped in check(run).not_checked}

    assert (
        missing.items()
        >= {
            "implicit-partitioning": ["source_size"],
            "ignored-weights": ["weights"],
            "epoch-order-repeat": ["epoch", "shuffle"],
            "partition-broken": ["rank or worker"],
            "coverage-hole": ["source_size"],
            "content-drift": ["raw or content"],
        }.items()
    )
