"""A result says which rules were asked, in which columns rows were compared, and what rules are."""

from __future__ import annotations

from pathlib import Path

from detloader.audits import all_rules, audit, check
from detloader.audits.rule import page_of
from tests.support.runs import write_run

ROWS = {"record": [0, 1, 2, 3], "draws": [1, 2, 3, 4], "worker": [0, 0, 1, 1]}


def test_an_audit_of_runs_that_differ_asks_every_rule_and_names_it(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", ROWS)
    b = write_run(tmp_path / "b", {**ROWS, "record": [3, 2, 1, 0]})
    (stream,) = audit(a, b).streams

    assert stream.asked == [rule.name for rule in all_rules()]
    assert audit(a, b, select=["race"]).streams[0].asked == ["race"]
    assert audit(a, b, ignore=["race"]).streams[0].asked == [
        rule.name for rule in all_rules() if rule.name != "race"
    ]


def test_equal_runs_and_a_check_ask_the_rules_that_have_a_question(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", ROWS)

    assert audit(a, a).streams[0].asked == [
        rule.name for rule in all_rules() if rule.compare_headers
    ]
    assert check(a).streams[0].asked == [rule.name for rule in all_rules() if rule.check_run]


def test_columns_of_one_run_or_of_none_are_not_among_those_compared(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", ROWS)
    b = write_run(tmp_path / "b", {"record": [0, 1, 2, 3], "worker": [1, 1, 0, 0]})

    assert audit(a, a).streams[0].compared == ["record", "draws"]
    assert audit(a, b).streams[0].compared == ["record"]


def test_a_rule_that_found_something_has_its_page_in_the_result(tmp_path: Path) -> None:
    rows = {"record": [*range(64)] * 2, "epoch": [0] * 64 + [1] * 64}
    declared = {"shuffle": True, "purpose": "train", "source_size": 64}
    result = check(write_run(tmp_path / "a", rows, declared))
    found = {finding.rule for finding in result.findings}

    assert found
    assert result.pages == {name: page_of(name) for name in found}
    assert {rule.name: rule.page for rule in all_rules()}.items() >= result.pages.items()
    assert check(write_run(tmp_path / "b", {"record": [1]})).pages == {}
