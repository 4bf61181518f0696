"""Seeds that were given, seeds that were used, and what runs can be told from them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader.audits import audit, check
from detloader.findings import Finding, Result, Severity, Verdict
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

RULE = "seed-handling"


def order(seed: int, size: int = 40, epochs: int = 1) -> dict[str, list[Any]]:
    shuffled = [
        random.Random(f"{seed} {epoch}").sample(range(size), size) for epoch in range(epochs)
    ]
    return {
        "epoch": [epoch for epoch in range(epochs) for _ in range(size)],
        "record": [record for epoch in shuffled for record in epoch],
    }


def compare(
    folder: Path,
    a: dict[str, Any],
    b: dict[str, Any],
    rows_a: dict[str, Any] | None = None,
    rows_b: dict[str, Any] | None = None,
) -> Result:
    common = {"shuffle": True}
    return audit(
        write_run(folder / "a", rows_a or order(1), common | a),
        write_run(folder / "b", rows_b or order(2), common | b),
    )


def only(result: Result) -> Finding:
    (finding,) = findings_of(result, RULE)
    assert loud_rules(result) in ([RULE], [])
    return finding


def test_a_seed_of_zero_that_counts_as_none(tmp_path: Path) -> None:
    result = compare(tmp_path, {"seed": 0, "seed_used": 17}, {"seed": 0, "seed_used": 18})
    evidence = evidence_of(only(result))

    assert only(result).severity is Severity.FAIL
    assert evidence["kind"] == "zero"
    assert (evidence["given"], evidence["used"]) == ([0, 0], [17, 18])


@pytest.mark.parametrize(
    ("given", "used", "kind"),
    [
        (0, 17, "zero"),
        (2**40 + 5, 5, "truncated"),
        (1.5, 1, "fraction"),
        (-1, 2**32 - 1, "out-of-range"),
        (2**63 + 1, 44, "out-of-range"),
    ],
)
def test_a_seed_that_lost_something_fails_in_one_run_too(
    given: Any, used: int, kind: str, tmp_path: Path
) -> None:
    declared = {"seed": given, "seed_used": used}
    (finding,) = findings_of(check(write_run(tmp_path / "a", order(1), declared)), RULE)

    assert (finding.severity, evidence_of(finding)["kind"]) == (Severity.FAIL, kind)


def test_another_seed_that_may_be_derived_is_a_warning_in_one_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", order(1), {"seed": 5, "seed_used": 90210})
    (finding,) = findings_of(check(run), RULE)

    assert (finding.severity, evidence_of(finding)["kind"]) == (Severity.WARN, "ignored")


def test_a_derived_seed_that_both_runs_share_is_a_note(tmp_path: Path) -> None:
    declared = {"seed": 5, "seed_used": 90210}
    result = compare(tmp_path, declared, declared, order(1), order(1))

    assert result.verdict is Verdict.IDENTICAL
    assert only(result).severity is Severity.NOTE


def test_a_seed_that_one_run_ignored(tmp_path: Path) -> None:
    result = compare(tmp_path, {"seed": 5, "seed_used": 5}, {"seed": 5, "seed_used": 6})

    assert (only(result).severity, only(result).run) == (Severity.FAIL, "b")
    assert "the other run" in only(result).message


def test_two_seeds_that_a_loader_takes_for_one_on_equal_runs(tmp_path: Path) -> None:
    a, b = {"seed": 7, "seed_used": 7}, {"seed": 2**32 + 7, "seed_used": 7}
    result = compare(tmp_path, a, b, order(1), order(1))

    assert result.verdict is Verdict.IDENTICAL
    assert evidence_of(only(result))["kind"] == "truncated"


def test_two_seeds_without_effect_on_equal_runs(tmp_path: Path) -> None:
    result = compare(tmp_path, {"seed": 7}, {"seed": 8}, order(1), order(1))

    assert result.verdict is Verdict.IDENTICAL
    assert (only(result).severity, evidence_of(only(result))["kind"]) == (
        Severity.FAIL,
        "no-effect",
    )


@pytest.mark.parametrize(
    "declared", [{"shuffle": False}, {"order_policy": "fixed"}, {"purpose": "eval"}]
)
def test_two_seeds_may_have_no_effect_where_nothing_is_shuffled(
    declared: dict[str, Any], tmp_path: Path
) -> None:
    a, b = {"seed": 7} | declared, {"seed": 8} | declared

    assert findings_of(compare(tmp_path, a, b, order(1), order(1)), RULE) == []


def test_few_records_do_not_show_that_a_seed_has_no_effect(tmp_path: Path) -> None:
    result = compare(tmp_path, {"seed": 7}, {"seed": 8}, order(1, size=5), order(1, size=5))

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["epochs of at least 12 records"]


def test_runs_that_nobody_seeded(tmp_path: Path) -> None:
    result = compare(tmp_path, {"seed": None}, {"seed": None})

    assert (only(result).severity, evidence_of(only(result))["kind"]) == (Severity.FAIL, "unseeded")


def test_one_run_that_nobody_seeded(tmp_path: Path) -> None:
    result = compare(tmp_path, {"seed": 4}, {"seed": None})

    assert evidence_of(only(result))["given"] == [4, None]


def test_unseeded_runs_that_recorded_their_seeds(tmp_path: Path) -> None:
    result = compare(tmp_path, {"seed": None, "seed_used": 3}, {"seed": None, "seed_used": 4})

    assert evidence_of(only(result))["used"] == [3, 4]


def test_different_seeds_are_the_cause_and_no_fault(tmp_path: Path) -> None:
    a, b = {"seed": 4, "workers": 0, "versions": {"numpy": "1"}}, {"seed": 5, "workers": 2}
    result = compare(tmp_path, a, b | {"versions": {"numpy": "2"}})

    assert (only(result).severity, evidence_of(only(result))["kind"]) == (
        Severity.NOTE,
        "different",
    )


def test_different_draws_of_one_order_follow_different_seeds(tmp_path: Path) -> None:
    rows_a, rows_b = order(1) | {"draws": [*range(40)]}, order(1) | {"draws": [*range(40, 80)]}
    result = compare(tmp_path, {"seed": 4}, {"seed": 5}, rows_a, rows_b)

    assert evidence_of(only(result))["kind"] == "different"


def test_seeds_that_are_derived_from_different_ones(tmp_path: Path) -> None:
    result = compare(tmp_path, {"seed": 4, "seed_used": 904}, {"seed": 5, "seed_used": 905})

    assert [finding.severity for finding in findings_of(result, RULE)] == [
        Severity.NOTE,
        Severity.NOTE,
    ]


def test_a_replay_with_the_seed_that_was_recorded_is_clean(tmp_path: Path) -> None:
    result = compare(tmp_path, {"seed": None, "seed_used": 9}, {"seed": 9}, order(9), order(9))

    assert (result.verdict, result.findings) == (Verdict.IDENTICAL, [])


def test_different_seeds_do_not_explain_unshuffled_runs(tmp_path: Path) -> None:
    a, b = {"seed": 4, "shuffle": False}, {"seed": 5, "shuffle": False}

    assert findings_of(compare(tmp_path, a, b), RULE) == []


def test_different_seeds_do_not_explain_a_run_that_stopped_early(tmp_path: Path) -> None:
    rows = order(1, epochs=3)
    shorter = {name: values[:50] for name, values in rows.items()}

    assert findings_of(compare(tmp_path, {"seed": 4}, {"seed": 5}, rows, shorter), RULE) == []


def test_undeclared_seeds_cannot_be_told(tmp_path: Path) -> None:
    result = compare(tmp_path, {}, {})

    assert findings_of(result, RULE) == []
    assert "seed" in lacking(result, RULE)


@given(
    seed=st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=9))
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_seed_that_was_used_as_given_is_never_a_fault(
    seed: float | str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = write_run(
        tmp_path_factory.mktemp("run") / "a", order(1), {"seed": seed, "seed_used": seed}
    )

    assert findings_of(check(run), RULE) == []
