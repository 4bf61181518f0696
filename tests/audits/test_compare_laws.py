"""What holds between any two runs, whatever they hold."""

from __future__ import annotations

import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from detloader.audits import audit
from detloader.findings import Counts, Result, Verdict
from tests.support.results import counts_of, first_of
from tests.support.runs import write_run

Rows = dict[str, list[Any]]

LAWS = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def compare(a: Rows, b: Rows, *, seal: bool = True) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        return audit(write_run(root / "a", a), write_run(root / "b", b, seal=seal))


@st.composite
def runs(draw: st.DrawFn, *, distinct: bool = False, least: int = 1) -> Rows:
    size = draw(st.integers(least, 24))
    if distinct:
        record = list(draw(st.permutations(range(100, 100 + size))))
    else:
        record = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    epoch = sorted(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)))
    rows: Rows = {"epoch": epoch, "record": record}
    if draw(st.booleans()):
        rows["record"] = [f"file-{value}" for value in record]
    if draw(st.booleans()):
        rows["content"] = [zlib.crc32(str(value).encode()) for value in rows["record"]]
    if draw(st.booleans()):
        rows["draws"] = draw(
            st.lists(st.none() | st.integers(0, 2**64 - 1), min_size=size, max_size=size)
        )
    return rows


def contents(records: list[Any]) -> list[int]:
    """Make content that follows from the record and its place."""
    return [zlib.crc32(f"{record} {place}".encode()) for place, record in enumerate(records)]


def take(rows: Rows, order: list[int]) -> Rows:
    return {name: [values[row] for row in order] for name, values in rows.items()}


@given(rows=runs())
@LAWS
def test_a_run_is_identical_to_itself(rows: Rows) -> None:
    result = compare(rows, rows)

    assert result.verdict is Verdict.IDENTICAL
    assert result.differences == Counts()
    assert result.first_difference is None
    assert result.coverage == 1.0


@given(data=st.data())
@LAWS
def test_a_permutation_is_reordered_exactly_where_it_differs(data: st.DataObject) -> None:
    rows = data.draw(runs(least=2))
    epochs = np.array(rows["epoch"])
    order = [
        int(row)
        for epoch in np.unique(epochs)
        for row in data.draw(st.permutations(np.flatnonzero(epochs == epoch).tolist()))
    ]
    permuted = take(rows, order)
    # A repeated record may come with other draws: then it is not known which came first.
    keys = list(zip(rows["epoch"], rows["record"], strict=True))
    assume(len(set(keys)) == len(keys) or permuted == rows)
    result = compare(rows, permuted)

    assert result.verdict is (Verdict.IDENTICAL if permuted == rows else Verdict.REORDERED)
    assert (counts_of(result).moved > 0) == (permuted != rows)
    assert counts_of(result).draws == counts_of(result).content == 0


@given(data=st.data())
@LAWS
def test_what_one_run_lacks_the_other_has_besides(data: st.DataObject) -> None:
    a, b = data.draw(runs()), data.draw(runs())
    a["record"], b["record"] = ([str(name) for name in rows["record"]] for rows in (a, b))

    assert_mirrored(a, b)


def test_what_is_lacking_does_not_hang_on_which_alignment_was_taken() -> None:
    a: Rows = {"record": [0, 0, 0, 1]}
    b: Rows = {"record": [1, 0, 1, 0]}

    assert counts_of(compare(a, b)).substituted == 1
    assert_mirrored(a, b)


def test_a_record_that_is_lost_once_is_substituted_in_one_of_its_places() -> None:
    a: Rows = {"record": [7, 7, 7, 8, 9]}
    b: Rows = {"record": [1, 2, 8, 7, 7]}

    assert counts_of(compare(a, b)) == Counts(moved=1, missing=1, extra=1, substituted=1)
    assert_mirrored(a, b)


def assert_mirrored(a: Rows, b: Rows) -> None:
    there, back = counts_of(compare(a, b)), counts_of(compare(b, a))

    assert there.moved == back.moved
    assert there.substituted == back.substituted
    assert there.missing == back.extra + back.duplicated
    assert back.missing == there.extra + there.duplicated


@given(data=st.data())
@LAWS
def test_a_row_that_is_left_out_is_missing(data: st.DataObject) -> None:
    rows = data.draw(runs(least=2))
    left_out = data.draw(st.integers(0, len(rows["record"]) - 1))
    fewer = take(rows, [row for row in range(len(rows["record"])) if row != left_out])
    result = compare(rows, fewer)

    assert result.verdict is Verdict.CHANGED
    assert (counts_of(result).missing, counts_of(result).moved) == (1, 0)
    assert counts_of(result).extra == counts_of(result).substituted == 0


@given(data=st.data())
@LAWS
def test_a_row_that_is_put_in_is_extra_or_duplicated(data: st.DataObject) -> None:
    rows = data.draw(runs(distinct=True))
    place = data.draw(st.integers(0, len(rows["record"]) - 1))
    order = list(range(len(rows["record"])))
    more = take(rows, [*order[: place + 1], place, *order[place + 1 :]])
    known = compare(rows, more).differences
    fresh = more | {"record": [*more["record"]]}
    fresh["record"][place] = type(fresh["record"][0])(7)
    new = compare(rows, fresh).differences

    assert known == Counts(duplicated=1)
    assert new == Counts(extra=1)


@given(data=st.data())
@LAWS
def test_another_record_in_a_place_is_substituted(data: st.DataObject) -> None:
    rows = data.draw(runs(distinct=True))
    place = data.draw(st.integers(0, len(rows["record"]) - 1))
    other = rows | {"record": [*rows["record"]]}
    other["record"][place] = type(other["record"][0])(7)
    result = compare(rows, other)

    assert result.differences == Counts(substituted=1)
    assert (first_of(result).row, first_of(result).column) == (place, "record")
    assert first_of(result).a == rows["record"][place]
    assert first_of(result).b == other["record"][place]


@given(data=st.data())
@LAWS
def test_other_content_is_counted_where_draws_are_equal(data: st.DataObject) -> None:
    rows = data.draw(runs())
    rows["content"] = [*range(len(rows["record"]))]
    place = data.draw(st.integers(0, len(rows["record"]) - 1))
    other = rows | {"content": [*rows["content"]]}
    other["content"][place] = 2**64 - 1
    result = compare(rows, other)

    assert result.verdict is Verdict.CHANGED
    assert result.differences == Counts(content=1)
    assert first_of(result).b == "18446744073709551615"


@given(data=st.data())
@LAWS
def test_other_draws_are_counted_and_excuse_other_content(data: st.DataObject) -> None:
    rows = data.draw(runs())
    rows |= {"content": [*range(len(rows["record"]))], "draws": [*range(len(rows["record"]))]}
    place = data.draw(st.integers(0, len(rows["record"]) - 1))
    other = rows | {"content": [*rows["content"]], "draws": [*rows["draws"]]}
    other["content"][place] = other["draws"][place] = 2**63

    assert compare(rows, other).differences == Counts(draws=1)


def test_long_runs_of_few_records_are_aligned(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    record = rng.integers(0, 2, 4000)
    moved = np.concatenate([record[1:], record[:1]])
    other = rng.integers(0, 2, 4000)
    a, b = write_run(tmp_path / "a", {"record": record}), tmp_path / "b"
    shifted = audit(a, write_run(b, {"record": moved}))
    drawn = audit(a, write_run(tmp_path / "c", {"record": other}))
    surplus = abs(int(record.sum()) - int(other.sum()))

    assert shifted.verdict is Verdict.REORDERED
    assert counts_of(shifted).moved > 0
    assert counts_of(drawn).missing + counts_of(drawn).substituted == surplus


def test_no_draw_is_not_the_draw_zero() -> None:
    a: Rows = {"record": [1, 2, 3], "draws": [None, 0, 5]}
    b: Rows = {"record": [1, 2, 3], "draws": [0, 0, 5]}

    assert compare(a, b).differences == Counts(draws=1)


@given(data=st.data())
@LAWS
def test_draws_that_follow_the_place_are_no_difference(data: st.DataObject) -> None:
    rows = data.draw(runs(distinct=True, least=2))
    size = len(rows["record"])
    rows |= {"epoch": [0] * size, "draws": [*range(size)]}
    rows["content"] = contents(rows["record"])
    order = data.draw(st.permutations(range(size)))
    assume(list(order) != list(range(size)))
    other = take(rows, list(order)) | {"draws": [*range(size)]}
    other["content"] = contents(other["record"])
    result = compare(rows, other)

    assert result.verdict is Verdict.REORDERED
    assert counts_of(result).draws == counts_of(result).content == 0


@given(data=st.data())
@LAWS
def test_an_open_run_is_compared_as_far_as_it_goes(data: st.DataObject) -> None:
    rows = data.draw(runs(least=2))
    size = len(rows["record"])
    reached = data.draw(st.integers(1, size - 1))
    begun = take(rows, list(range(reached)))
    open_result = compare(rows, begun, seal=False)
    closed = compare(rows, begun)

    assert open_result.verdict is Verdict.IDENTICAL
    assert open_result.coverage == pytest.approx(reached / size)
    assert closed.verdict is Verdict.CHANGED
    assert closed.coverage == 1.0
    assert closed.differences == Counts(missing=size - reached)


@given(size=st.integers(1, 4), batches=st.integers(1, 5), ranks=st.integers(2, 3), data=st.data())
@LAWS
def test_ranks_that_deal_a_batch_otherwise_are_equivalent(
    size: int, batches: int, ranks: int, data: st.DataObject
) -> None:
    rows = size * ranks * batches
    batch = np.repeat(np.arange(batches), size * ranks).tolist()
    rank = [place % ranks for place in range(rows)]
    record = data.draw(st.permutations(range(rows)))
    a: Rows = {"record": list(record), "batch": batch, "rank": rank}
    dealt = [
        place
        for number in range(batches)
        for place in data.draw(
            st.permutations(range(number * size * ranks, (number + 1) * size * ranks))
        )
    ]
    b = a | {"record": [a["record"][place] for place in dealt]}
    result = compare(a, b)
    same = b["record"] == a["record"]

    assert result.verdict is (Verdict.IDENTICAL if same else Verdict.EQUIVALENT)


@given(data=st.data())
@LAWS
def test_other_batches_of_the_same_rows_are_regrouped(data: st.DataObject) -> None:
    rows = data.draw(runs(least=2)) | {"epoch": []}
    size = len(rows["record"])
    rows["epoch"] = [0] * size
    left, right = data.draw(st.integers(1, size)), data.draw(st.integers(1, size))
    assume(left != right)
    a = rows | {"batch": [row // left for row in range(size)]}
    b = rows | {"batch": [row // right for row in range(size)]}
    result = compare(a, b)

    assert result.verdict is Verdict.REGROUPED
    assert counts_of(result).batches > 0
    assert result.differences == Counts(batches=counts_of(result).batches)


@given(rows=runs(), offset=st.integers(1, 5))
@LAWS
def test_labels_of_batches_are_only_labels(rows: Rows, offset: int) -> None:
    batch = [row // 2 for row in range(len(rows["record"]))]
    a = rows | {"batch": [label + 1 for label in batch]}
    b = rows | {"batch": [3 * label + offset for label in batch]}
    result = compare(a, b)

    assert result.verdict in {Verdict.IDENTICAL, Verdict.EQUIVALENT}
    assert result.differences == Counts()


@given(rows=runs(), other=st.sampled_from(["batch", "content", "worker", "label"]))
@LAWS
def test_a_column_of_one_run_is_no_difference(rows: Rows, other: str) -> None:
    rows.pop("content", None)
    result = compare(rows, rows | {other: [*range(len(rows["record"]))]})

    assert result.verdict is Verdict.IDENTICAL
    assert result.not_compared == [other]
