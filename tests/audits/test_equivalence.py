"""Whether runs are as alike as was asked: the five rules on runs of every kind."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.audits import audit
from detloader.audits.equivalence import Equivalence, unexcused
from detloader.errors import UsageError
from detloader.findings import Finding, Outcome, Result, Severity, StreamResult, Verdict
from detloader.manifest.schema import Level
from tests.support.runs import write_run

Rows = dict[str, list[Any]]

LAWS = settings(max_examples=15, deadline=None)
RULES = [*Equivalence]

A: Rows = {
    "epoch": [0] * 4 + [1] * 4,
    "batch": [0, 0, 1, 1] * 2,
    "record": [2, 0, 3, 1, 1, 3, 0, 2],
    "content": [20, 0, 30, 10, 11, 31, 1, 21],
}
ON_RANKS: Rows = {
    "rank": [0] * 4 + [1] * 4,
    "batch": [0, 0, 1, 1] * 2,
    "record": [0, 1, 2, 3, 4, 5, 6, 7],
}


def take(rows: Rows, order: list[int]) -> Rows:
    return {name: [values[row] for row in order] for name, values in rows.items()}


OTHERS: dict[str, tuple[Rows, Rows, str]] = {
    "the same": (A, A, "same-set same-global-batches same-order-per-rank same-order same-prefix"),
    "shuffled in an epoch": (
        A,
        take(A, [3, 1, 2, 0, 4, 5, 6, 7]) | {"batch": A["batch"]},
        "same-set",
    ),
    "shuffled in a batch": (A, take(A, [1, 0, 2, 3, 4, 5, 6, 7]), "same-set same-global-batches"),
    "in other batches": (
        A,
        A | {"batch": [0, 1, 1, 2] * 2},
        "same-set same-order-per-rank same-order",
    ),
    "shorter": (A, take(A, [0, 1, 2, 3, 4]), "same-prefix"),
    "longer": (take(A, [0, 1, 2, 3, 4]), A, "same-prefix"),
    "shorter and shuffled": (A, take(A, [1, 0, 2, 3, 4]), ""),
    "of other content": (A, A | {"content": [21, *A["content"][1:]]}, ""),
    "moved between epochs": (A, A | {"record": [2, 0, 3, 1, 1, 3, 0, 3]}, ""),
    "in larger batches of each rank": (
        ON_RANKS,
        ON_RANKS | {"batch": [0] * 8},
        "same-set same-order-per-rank",
    ),
    "on one rank in smaller batches": (
        {"rank": [0, 0, 1, 1], "batch": [0] * 4, "record": [0, 1, 2, 3]},
        {"batch": [0, 0, 1, 1], "record": [0, 1, 2, 3]},
        "same-set same-order",
    ),
    "dealt to the ranks otherwise": (
        ON_RANKS,
        ON_RANKS | {"record": [4, 1, 2, 3, 0, 5, 6, 7]},
        "same-set same-global-batches",
    ),
}


def judge(a: Rows, b: Rows, rule: str, **options: Any) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        return audit(
            write_run(root / "a", a), write_run(root / "b", b, **options), equivalence=rule
        )


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("rule", RULES)
def test_a_run_meets_the_rules_that_it_should_and_no_other(name: str, rule: Equivalence) -> None:
    a, b, met = OTHERS[name]
    result = judge(a, b, rule)

    assert result.outcome is (Outcome.HOLDS if rule in met.split() else Outcome.BROKEN)
    assert result.decision is not None
    says = "holds" if rule in met.split() else "does not hold: "
    assert result.decision.startswith(f"{rule} {says}")


@pytest.mark.parametrize("rule", RULES)
def test_what_was_measured_stays_as_it_is(rule: Equivalence, tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a", A), write_run(tmp_path / "b", take(A, [1, 0, *range(2, 8)]))
    plain = audit(a, b)
    asked = audit(a, b, equivalence=rule)

    assert plain.decision is None
    assert plain.outcome is msgspec.UNSET
    assert msgspec.structs.replace(asked, decision=None, outcome=msgspec.UNSET) == plain


@given(data=st.data())
@LAWS
def test_any_order_of_an_epoch_is_the_same_set(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    rows: Rows = {"record": data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))}
    order = data.draw(st.permutations(range(size)))
    other = take(rows, list(order))

    assert judge(rows, other, "same-set").outcome is Outcome.HOLDS
    same_order = judge(rows, other, "same-order").outcome is Outcome.HOLDS
    assert same_order == (rows == other)


@given(data=st.data())
@LAWS
def test_any_beginning_of_a_run_is_a_prefix_of_it_and_no_other_rows_are(
    data: st.DataObject,
) -> None:
    record = data.draw(st.lists(st.integers(0, 9), min_size=2, max_size=12))
    length = data.draw(st.integers(1, len(record)))
    place = data.draw(st.integers(0, length - 1))
    prefix = record[:length]
    spoilt = [*prefix[:place], 99, *prefix[place + 1 :]]

    for a, b in ((record, prefix), (prefix, record)):
        assert judge({"record": a}, {"record": b}, "same-prefix").outcome is Outcome.HOLDS
    for a, b in ((record, spoilt), (spoilt, record)):
        assert judge({"record": a}, {"record": b}, "same-prefix").outcome is Outcome.BROKEN


@given(data=st.data())
@LAWS
def test_any_cut_into_batches_keeps_the_order(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    record = list(data.draw(st.permutations(range(size))))
    cuts = st.lists(st.booleans(), min_size=size, max_size=size)
    a, b = ({"record": record, "batch": np.cumsum(data.draw(cuts)).tolist()} for _ in range(2))

    for rule in ("same-order", "same-order-per-rank"):
        assert judge(a, b, rule).outcome is Outcome.HOLDS


@pytest.mark.parametrize("rule", RULES)
def test_digests_alone_do_not_tell_how_alike_runs_are(rule: Equivalence, tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", A, level=Level.DIGEST)
    b = write_run(tmp_path / "b", take(A, [1, 0, *range(2, 8)]), level=Level.DIGEST)
    result = audit(a, b, equivalence=rule)

    assert (result.verdict, result.outcome) == (Verdict.CHANGED, Outcome.UNKNOWN)
    assert str(result.decision).startswith(f"{rule} cannot be told: digests of record")


@pytest.mark.parametrize("rule", RULES)
def test_what_could_not_be_compared_cannot_be_told(rule: Equivalence) -> None:
    nothing = judge({"record": []}, {"record": []}, rule)
    types = judge({"record": [1]}, {"record": ["1"]}, rule)
    unbegun = judge({"record": [1]}, {"record": []}, rule, seal=False)

    assert {one.outcome for one in (nothing, types, unbegun)} == {Outcome.UNKNOWN}


def test_a_run_without_rows_is_no_beginning() -> None:
    assert judge({"record": [1]}, {"record": []}, "same-prefix").outcome is Outcome.BROKEN


def test_a_run_that_goes_on_is_judged_as_far_as_it_goes() -> None:
    begun = judge(A, take(A, [0, 1, 2, 3]), "same-order", seal=False)
    cut = judge(A, take(A, [3, 1]), "same-set", seal=False)
    other = take(A, [0, 1, 2]) | {"content": [1, 2, 3]}

    assert begun.decision == "same-order holds: 50.0% of the rows could be compared"
    assert cut.outcome is Outcome.UNKNOWN
    assert str(cut.decision).endswith(", and one run is not complete")
    assert judge(A, other, "same-set", seal=False).outcome is Outcome.BROKEN


def test_which_rank_has_a_record_is_unknown_while_runs_are_open(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", ON_RANKS, seal=False)
    b = write_run(tmp_path / "b", ON_RANKS | {"batch": [0] * 8}, seal=False)

    assert audit(a, b, equivalence="same-order-per-rank").outcome is Outcome.UNKNOWN


def test_the_counts_say_what_speaks_against_a_rule() -> None:
    moved = {"record": [1, 2, 3, 0, 4, 5, 6, 7]}
    result = judge({"record": [*range(8)]}, moved, "same-order")

    assert result.decision == "same-order does not hold: 1 record moved"


def test_every_stream_has_to_meet_the_rule(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for run, val in ((a, [1, 2]), (b, [1, 3])):
        write_run(run, A, stream="train")
        write_run(run, {"record": val}, stream="val")
    result = audit(a, b, equivalence="same-set")

    assert result.decision == "same-set does not hold: 1 record substituted in stream val"


def test_several_runs_are_each_judged_and_the_top_repeats_it(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", A)
    shuffled = write_run(tmp_path / "shuffled", take(A, [1, 0, *range(2, 8)]))
    shorter = write_run(tmp_path / "shorter", take(A, [0, 1]))
    result = audit(a, shuffled, shorter, equivalence="same-set")

    assert isinstance(result.comparisons, list)
    assert [one.outcome for one in result.comparisons] == [Outcome.HOLDS, Outcome.BROKEN]
    assert result.outcome is Outcome.BROKEN
    assert result.decision == (
        f"{shuffled}: same-set holds; {shorter}: same-set does not hold: 6 records missing"
    )


def test_an_equivalence_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", A)

    with pytest.raises(UsageError, match="no equivalence 'same': name one of same-set"):
        audit(run, run, equivalence="same")


NAMES = ["seed-handling", "topology-dependence", "race", "coverage-hole", "content-drift", "none"]


def with_findings(verdict: Verdict) -> Result:
    found = [Finding(rule=name, severity=Severity.FAIL, message="m", cause="c") for name in NAMES]
    stream = StreamResult(name="main", verdict=verdict, findings=found)
    return Result(command="audit", verdict=verdict, runs=[], findings=found, streams=[stream])


@pytest.mark.parametrize(
    ("rule", "excused"),
    [
        (Equivalence.SAME_SET, {"seed-handling", "topology-dependence", "race"}),
        (Equivalence.SAME_GLOBAL_BATCHES, {"topology-dependence", "race"}),
        (Equivalence.SAME_ORDER_PER_RANK, {"topology-dependence"}),
        (Equivalence.SAME_ORDER, {"topology-dependence"}),
        (Equivalence.SAME_PREFIX, {"coverage-hole"}),
    ],
)
def test_findings_about_what_a_rule_allows_do_not_count(
    rule: Equivalence, excused: set[str]
) -> None:
    left = [finding.rule for finding in unexcused(with_findings(Verdict.REORDERED), rule)]

    assert left == [name for name in NAMES if name not in excused]


@pytest.mark.parametrize("rule", RULES)
def test_on_identical_runs_every_finding_counts(rule: Equivalence) -> None:
    left = [finding.rule for finding in unexcused(with_findings(Verdict.IDENTICAL), rule)]

    assert left == NAMES
