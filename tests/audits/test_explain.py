"""Orders that loaders make of other orders are explained by what the loaders did."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from detloader.audits.compare import compare
from detloader.audits.explain import Explanation, explain
from detloader.audits.pairs import load_pair
from detloader.manifest.reader import open_run
from tests.support.results import loud_rules
from tests.support.runs import audit_rows, write_run

Order = np.ndarray[Any, Any]
LAWS = settings(max_examples=40, deadline=None)
BASE = np.random.default_rng(0).permutation(60)


def explanation(
    a: Order | list[Any], b: Order | list[Any], **columns: tuple[Any, Any]
) -> Explanation | None:
    """Record two orders, compare them, and explain the second."""
    first, second = ({name: pair[run] for name, pair in columns.items()} for run in (0, 1))
    with tempfile.TemporaryDirectory() as folder:
        runs = [
            open_run(write_run(Path(folder, name), {"record": order, **more}))
            for name, order, more in (("a", a, first), ("b", b, second))
        ]
        sources = [(run.path, run.streams["main"]) for run in runs]
        pair = load_pair(*sources[0], *sources[1])
        return explain(compare(pair.common_a, pair.common_b))


def formula(a: Order | list[Any], b: Order | list[Any], **columns: tuple[Any, Any]) -> str | None:
    found = explanation(a, b, **columns)
    return None if found is None else found.formula


def merged(order: Order, parts: int, seed: int = 0) -> Order:
    """Merge contiguous parts of equal length as they come; the remainder is dropped."""
    rng = np.random.default_rng(seed)
    length = len(order) // parts
    rows = rng.permutation(np.repeat(np.arange(parts), length))
    within = np.empty(len(rows), np.int64)
    for part in range(parts):
        within[rows == part] = np.arange(length)
    return order[rows * length + within]


def window_shuffled(order: Order, window: int, seed: int = 0) -> Order:
    """Send an order through a shuffle buffer."""
    rng, buffer, out = np.random.default_rng(seed), [], []
    for record in order.tolist():
        buffer.append(record)
        if len(buffer) == window:
            out.append(buffer.pop(int(rng.integers(len(buffer)))))
    out += [buffer.pop(int(rng.integers(len(buffer)))) for _ in range(len(buffer))]
    return np.array(out)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (BASE[::-1], "b = reverse(a)"),
        (np.roll(BASE, -12), "b = rotate(a, 12)"),
        (BASE[:-7], "b = drop_tail(a, 7)"),
        (BASE[5:], "b = drop_head(a, 5)"),
        (BASE[1::4], "b = shard(a, 1 of 4)"),
        (merged(BASE, 7), "b = merge(partition(a, 7))"),
        (np.tile(BASE, 2), "b = repeat(a, 2)"),
        (np.roll(BASE, -12)[2::5], "b = rotate(shard(a, 4 of 5), 2)"),
        (merged(BASE[:-11], 7), "b = merge(partition(drop_tail(a, 11), 7))"),
        (np.tile(BASE, 2)[:-9], "b = drop_tail(repeat(a, 2), 9)"),
    ],
)
def test_what_a_loader_did_is_named(made: Order, expected: str) -> None:
    found = explanation(BASE, made)

    assert found is not None
    assert expected in {found.formula, *found.ties}
    assert found.explained_rows == found.rows == len(made)


def test_a_shuffle_buffer_is_named_by_the_rows_that_it_held() -> None:
    found = formula(BASE, window_shuffled(BASE, 4))

    assert found in {"b = window_shuffle(a, 3)", "b = window_shuffle(a, 4)"}


def test_names_sorted_as_text_are_named() -> None:
    numbers = np.arange(120)

    assert formula(numbers, np.array(sorted(numbers, key=str))) == "b = sort_as_text(a)"


@pytest.mark.parametrize("shift", [1, 2])
def test_another_epochs_order_is_named(shift: int) -> None:
    orders = [np.random.default_rng(seed).permutation(20) for seed in range(4)]
    kept = 4 - shift
    epochs = np.repeat(np.arange(4), 20), np.repeat(np.arange(kept), 20)
    found = explanation(np.concatenate(orders), np.concatenate(orders[shift:]), epoch=epochs)

    assert found is not None
    assert found.formula == f"b = epochs(a, from {shift})"
    assert found.explained_rows == found.rows == 20 * kept


def test_one_epoch_in_the_place_of_each_is_named() -> None:
    orders = [np.random.default_rng(seed).permutation(20) for seed in range(3)]
    epochs = np.repeat(np.arange(3), 20)
    found = formula(np.concatenate(orders), np.tile(orders[0], 3), epoch=(epochs, epochs))

    assert found == "b = epoch(a, 0)"


def test_all_epochs_have_to_agree_on_what_was_done() -> None:
    orders = [np.random.default_rng(seed).permutation(20) for seed in range(2)]
    epochs = np.repeat(np.arange(2), 20)
    alike = np.concatenate([np.roll(order, -3) for order in orders])
    unlike = np.concatenate([np.roll(orders[0], -3), orders[1][::-1]])

    assert formula(np.concatenate(orders), alike, epoch=(epochs, epochs)) == "b = rotate(a, 3)"
    assert formula(np.concatenate(orders), unlike, epoch=(epochs, epochs)) is None


def test_worker_counts_that_fit_as_well_are_ties() -> None:
    found = explanation(np.arange(40), merged(np.arange(40), 4))

    assert found is not None
    assert found.formula == "b = merge(partition(a, 4))"
    assert found.ties == ("b = merge(partition(a, 8))", "b = merge(partition(a, 20))")


def test_few_rows_are_not_explained() -> None:
    assert explanation(np.arange(7), np.roll(np.arange(7), 1)) is None


def test_parts_so_short_that_chance_would_fit_them_explain_nothing() -> None:
    pairs_in_order = merged(np.arange(24), 12)

    assert explanation(np.arange(24), pairs_in_order) is None


def test_parts_that_every_epoch_keeps_in_order_are_no_chance() -> None:
    orders = [merged(np.arange(24), 12, seed) for seed in range(3)]
    epochs = np.repeat(np.arange(3), 24)

    found = formula(np.tile(np.arange(24), 3), np.concatenate(orders), epoch=(epochs, epochs))

    assert found == "b = merge(partition(a, 12))"


def test_of_explanations_of_one_length_the_one_with_the_fewest_orders_is_told() -> None:
    fours = np.arange(200).reshape(-1, 4)
    fours[::3] = fours[::3, [0, 2, 1, 3]]  # parts of two stay in order
    found = explanation(np.arange(200), fours.ravel())

    assert found is not None
    assert found.formula == "b = window_shuffle(a, 2)"


def test_runs_of_other_records_are_not_explained() -> None:
    assert explanation(np.arange(40), np.arange(40, 80)) is None


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(40, 80))
@LAWS
def test_a_random_permutation_has_no_explanation(seed: int, size: int) -> None:
    a, b = (np.random.default_rng([seed, run]).permutation(size) for run in (0, 1))

    assert explanation(a, b) is None


STEPS: dict[str, Callable[[Order, int], Order]] = {
    "reverse": lambda order, _: order[::-1],
    "rotate": lambda order, by: np.roll(order, -by),
    "drop_tail": lambda order, by: order[:-by],
    "drop_head": lambda order, by: order[by:],
    "shard": lambda order, by: order[by % 3 :: 3],
}
LAST_STEPS = {"merge": lambda order, by: merged(order, 2 + by % 3, by)}


def length_of(formula_: str) -> int:
    """Count the steps of a formula; a merge of a partition is one."""
    return formula_.count("(") - formula_.count("merge(")


@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=2, unique=True),
    last=st.sampled_from([None, *sorted(LAST_STEPS)]),
    by=st.integers(1, 4),
    seed=st.integers(0, 99),
)
@LAWS
def test_what_a_chain_made_is_explained_by_a_chain_as_short(
    names: list[str], last: str | None, by: int, seed: int
) -> None:
    a = np.random.default_rng(seed).permutation(96)
    b = a
    for name in names:
        b = STEPS[name](b, by)
    # Of a rotated order, the dropped remainder lies in the middle of the baseline.
    assume(last is None or "rotate" not in names or len(b) % (2 + by % 3) == 0)
    if last is not None:
        b = LAST_STEPS[last](b, by)
    found = explanation(a, b)

    assert found is not None
    assert length_of(found.formula) <= len(names) + (last is not None)
    assert found.explained_rows == len(b)


def test_steps_commute_where_the_order_does_not_show_them() -> None:
    for one, other in itertools.permutations(("drop_head", "drop_tail")):
        made = STEPS[other](STEPS[one](BASE, 3), 3)

        assert length_of(formula(BASE, made) or "") == 2


def test_an_audit_says_what_explains_an_order_that_no_rule_explains(tmp_path: Path) -> None:
    result = audit_rows(tmp_path, {"record": BASE}, {"record": np.roll(BASE, -12)})

    assert loud_rules(result) == []
    assert result.reason == "b = rotate(a, 12) explains all 60 rows, but no rule names a cause"


def test_an_audit_leaves_a_random_order_unexplained(tmp_path: Path) -> None:
    other = np.random.default_rng(1).permutation(60)

    assert audit_rows(tmp_path, {"record": BASE}, {"record": other}).reason is None


def test_the_cause_is_told_with_the_formula(tmp_path: Path) -> None:
    orders = [np.random.default_rng(seed).permutation(40) for seed in range(3)]
    rows = {"epoch": np.repeat(np.arange(3), 40), "record": np.concatenate(orders)}
    stuck = rows | {"record": np.tile(orders[0], 3)}
    result = audit_rows(tmp_path, rows, stuck, shuffle=True)
    cause = next(finding for finding in result.findings if finding.rule in loud_rules(result))

    assert cause.rule == "epoch-order-repeat"
    assert cause.evidence["formula"] == "b = epoch(a, 0)"
    assert cause.evidence["rows"] == 40  # the rule's own: rows of an epoch
    assert "explained_rows" not in cause.evidence
    assert result.reason is None


def test_the_cause_is_told_with_the_rows_that_the_formula_explains(tmp_path: Path) -> None:
    shorter = {"epoch": [0] * 55, "record": BASE[5:]}
    result = audit_rows(tmp_path, {"epoch": [0] * 60, "record": BASE}, shorter, source_size=60)
    cause = next(finding for finding in result.findings if finding.rule in loud_rules(result))

    assert cause.evidence["formula"] == "b = drop_head(a, 5)"
    assert cause.evidence["explained_rows"] == cause.evidence["rows"] == 55
    assert cause.evidence["ties"] == []


@pytest.mark.parametrize("formula", ["shards", "slices"])
@pytest.mark.parametrize("batch", [2, 4])
def test_rows_that_were_dealt_to_ranks_are_named_so(
    formula: str, batch: int, tmp_path: Path
) -> None:
    a: dict[str, list[int]] = {"epoch": [], "batch": [], "record": []}
    b: dict[str, list[int]] = {"epoch": [], "batch": [], "rank": [], "record": []}
    for epoch in range(2):
        order = np.random.default_rng(epoch).permutation(26)
        a["epoch"] += [epoch] * 26
        a["record"] += order.tolist()
        a["batch"] += [place // 9 for place in range(26)]
        slices = np.array_split(order, 3)
        for rank in range(3):
            share = (slices[rank] if formula == "slices" else order[rank::3]).tolist()
            b["epoch"] += [epoch] * len(share)
            b["batch"] += [place // batch for place in range(len(share))]
            b["rank"] += [rank] * len(share)
            b["record"] += share

    assert f"b = {formula}(a, 3) explains all 52 rows" in (audit_rows(tmp_path, a, b).reason or "")


def in_turns(parts: list[Order], rows: int) -> Order:
    """Let workers give a batch each in turn, until all are done."""
    turns = max(-(-len(part) // rows) for part in parts)
    return np.concatenate(
        [part[turn * rows : (turn + 1) * rows] for turn in range(turns) for part in parts]
    )


@pytest.mark.parametrize("size", [103, 500])
@pytest.mark.parametrize("workers", [2, 3, 7])
@pytest.mark.parametrize("rows", [1, 4, 8])
@pytest.mark.parametrize("contiguous", [True, False])
def test_workers_that_take_turns_are_named(
    contiguous: bool, rows: int, workers: int, size: int
) -> None:
    base = np.random.default_rng(1).permutation(size)
    dealt = [base[worker::workers] for worker in range(workers)]
    parts = np.array_split(base, workers) if contiguous else dealt
    found = formula(base, in_turns(parts, rows))

    if rows == 1 and not contiguous:
        assert found is None  # every worker's n-th record in turn is the order itself
    else:
        name = "slices" if contiguous else "shards"
        assert found == f"b = interleave({name}(a, {workers}), {rows})"


def test_workers_that_drop_their_last_batches_are_named() -> None:
    parts = [np.arange(103)[worker::3] for worker in range(3)]
    whole = [part[: len(part) // 8 * 8] for part in parts]

    assert formula(np.arange(103), in_turns(whole, 8)) == "b = interleave(shards(a, 3), 8)"
