"""Every case of tests/cases, imported and judged as a user would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from detloader.audits import all_rules, audit, check
from detloader.findings import Result, Severity
from detloader.importers import import_log

CASES = sorted(path.parent for path in Path(__file__).parents[1].glob("cases/*/expect.json"))


def judge(case: Path, folder: Path, command: str) -> Result:
    names = ["run"] if command == "check" else ["run_a", "run_b"]
    for name in names:
        import_log(case / f"{name}.csv", folder / name, meta=case / f"{name}.json")
    runs = [folder / name for name in names]
    return check(*runs) if command == "check" else audit(*runs)


def as_set(names: Any) -> set[str]:
    return {names} if isinstance(names, str) else set(names or ())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_gets_the_finding_that_it_must_give(case: Path, tmp_path: Path) -> None:
    expected = json.loads((case / "expect.json").read_text())
    rules = as_set(expected["rule"])
    result = judge(case, tmp_path, expected["command"])
    loud = [finding for finding in result.findings if finding.severity is not Severity.NOTE]

    assert expected.get("verdict") in {None, result.verdict}
    assert {finding.rule for finding in loud} <= rules
    if rules & {rule.name for rule in all_rules()} == rules and rules:
        first = result.findings[0]
        assert first.rule in rules
        assert first.severity in as_set(expected["severity"])
        assert_contains(first.evidence, expected.get("evidence", {}))


def assert_contains(evidence: dict[str, Any], expected: dict[str, Any]) -> None:
    for key, value in expected.items():
        if isinstance(value, list):
            assert [item for item in value if item not in evidence[key]] == []
        else:
            assert evidence[key] == value


def test_there_are_cases() -> None:
    assert len(CASES) > 30
