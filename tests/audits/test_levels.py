"""Where two runs first differ at each level."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader.audits import audit
from detloader.findings import (
    DifferenceLevel,
    FirstDifference,
    FirstDifferences,
    Result,
    StreamResult,
    Verdict,
)
from detloader.manifest.schema import Level
from tests.support.results import counts_of
from tests.support.runs import audit_rows, write_run

Rows = dict[str, list[Any]]
Key = tuple[int, int]

LAWS = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
ALIKE = {Verdict.IDENTICAL, Verdict.EQUIVALENT}


def compare(a: Rows, b: Rows) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        return audit_rows(Path(folder), a, b)


def levels_of(result: Result | StreamResult) -> FirstDifferences:
    assert not isinstance(result.first_differences, msgspec.UnsetType)
    return result.first_differences


def rows_of(result: Result) -> dict[str, int | None]:
    """Give the row of each level, None where it is equal."""
    return {level.value: one.row if one else None for level, one in levels_of(result).items()}


@st.composite
def runs(draw: st.DrawFn, *, distinct: bool = False) -> Rows:
    size = draw(st.integers(1, 12))
    records = st.integers(0, 15 if distinct else 4)
    record = draw(st.lists(records, min_size=size, max_size=size, unique=distinct))
    width = draw(st.integers(1, 4))
    values = st.lists(st.integers(0, 1), min_size=size, max_size=size)
    return {
        "record": record,
        "epoch": [0] * size if distinct else sorted(draw(values)),
        "batch": [row // width for row in range(size)],
        "draws": draw(values),
        "content": draw(values),
        "raw": draw(values),
    }


@st.composite
def pairs(draw: st.DrawFn, *, distinct: bool = False) -> tuple[Rows, Rows]:
    """Give two runs, of which one may be made of the other."""
    a = draw(runs(distinct=distinct))
    if draw(st.booleans()):
        return a, draw(runs(distinct=distinct))
    order = draw(st.permutations(range(len(a["record"]))))
    kept = order[: draw(st.integers(1, len(order)))]
    b = {name: [values[row] for row in kept] for name, values in a.items()}
    return a, b | {"epoch": sorted(b["epoch"]), "batch": a["batch"][: len(kept)]}


def keys(rows: Rows) -> list[Key]:
    return list(zip(rows["epoch"], rows["record"], strict=True))


def numbered_alike(a: Rows, b: Rows) -> Rows:
    """Number b's epochs as a does, where nothing but the numbers tells the runs apart."""
    numbers = dict(zip(sorted(set(b["epoch"])), sorted(set(a["epoch"])), strict=False))
    epoch = [numbers.get(number) for number in b["epoch"]]
    alike = a["record"] == b["record"] and a["epoch"] == epoch
    return b | {"epoch": a["epoch"]} if alike else b


def first_surplus(mine: list[Key], theirs: list[Key]) -> list[int]:
    """Give the first row up to which a key comes more often than among the others, by counting."""
    limits, seen = Counter(theirs), Counter[Key]()
    for row, key in enumerate(mine):
        seen[key] += 1
        if seen[key] > limits[key]:
            return [row]
    return []


def first_in_set(a: list[Key], b: list[Key]) -> int | None:
    return min(first_surplus(a, b) + first_surplus(b, a), default=None)


def begins(rows: Rows) -> list[bool]:
    """Tell where batches begin: labels that are greater than 0 count on into the next epoch."""
    label, epoch = rows["batch"], rows["epoch"]
    return [
        row == 0
        or label[row] != label[row - 1]
        or (epoch[row] != epoch[row - 1] and label[row] == 0)
        for row in range(len(label))
    ]


def batches(rows: Rows) -> list[list[Key]]:
    found: list[list[Key]] = []
    for key, fresh in zip(keys(rows), begins(rows), strict=True):
        if fresh:
            found.append([])
        found[-1].append(key)
    return found


def first_in_batches_as_sets(a: Rows, b: Rows) -> int | None:
    begin = 0
    none: list[Key] = []
    for of_a, of_b in itertools.zip_longest(batches(a), batches(b), fillvalue=none):
        row = first_in_set(of_a, of_b)
        if row is not None:
            return begin + row
        begin += len(of_a)
    return None


def first_in_sequences(a: list[Any], b: list[Any]) -> int | None:
    for row, (of_a, of_b) in enumerate(itertools.zip_longest(a, b)):
        if of_a != of_b:
            return row
    return None


@given(pair=pairs())
@LAWS
def test_set_order_and_batches_differ_first_where_their_definitions_say(
    pair: tuple[Rows, Rows],
) -> None:
    a, b = pair[0], numbered_alike(*pair)
    found = rows_of(compare(*pair))

    assert found["set"] == first_in_set(keys(a), keys(b))
    assert found["order"] == first_in_sequences(keys(a), keys(b))
    assert found["batches_as_sets"] == first_in_batches_as_sets(a, b)
    assert found["batches"] == first_in_sequences(
        list(zip(keys(a), begins(a), strict=True)), list(zip(keys(b), begins(b), strict=True))
    )


@given(pair=pairs(distinct=True))
@LAWS
def test_a_level_differs_whichever_run_is_the_baseline(pair: tuple[Rows, Rows]) -> None:
    there, back = levels_of(compare(*pair)), levels_of(compare(*pair[::-1]))

    assert {level: one is None for level, one in there.items()} == {
        level: one is None for level, one in back.items()
    }


@given(pair=pairs())
@LAWS
def test_records_and_batches_differ_in_the_same_row_whichever_run_is_the_baseline(
    pair: tuple[Rows, Rows],
) -> None:
    there, back = levels_of(compare(*pair)), levels_of(compare(*pair[::-1]))

    for level in ("set", "order", "batches_as_sets", "batches"):
        one, other = there[DifferenceLevel(level)], back[DifferenceLevel(level)]
        assert (one and (one.row, one.a, one.b)) == (other and (other.row, other.b, other.a))


@given(pair=pairs())
@LAWS
def test_levels_agree_with_counts_and_with_the_first_difference(pair: tuple[Rows, Rows]) -> None:
    result = compare(*pair)
    counts, found, first = counts_of(result), levels_of(result), result.first_difference
    absent = counts.missing + counts.extra + counts.duplicated + counts.substituted

    assert (found[DifferenceLevel.SET] is None) == (absent == 0)
    assert (found[DifferenceLevel.DRAWS] is None) == (counts.draws == 0)
    drifted = found[DifferenceLevel.CONTENT] or found[DifferenceLevel.RAW]
    assert (drifted is None) == (counts.content == 0)
    if first and first.column in {"record", "epoch"}:
        assert found[DifferenceLevel.ORDER] == first
    if first and first.column == "batch":
        assert found[DifferenceLevel.BATCHES] == first
    if counts.moved or counts.batches:
        assert found[DifferenceLevel.BATCHES] is not None


@given(rows=runs())
@LAWS
def test_no_level_of_a_run_differs_from_itself(rows: Rows) -> None:
    assert rows_of(compare(rows, rows)) == dict.fromkeys(DifferenceLevel)


@st.composite
def dealt(draw: st.DrawFn) -> Rows:
    """Give the rows of several ranks, rank by rank."""
    of_ranks = draw(
        st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), max_size=3, min_size=1)
    )
    place = [(rank, batch) for rank, batches in enumerate(of_ranks) for batch in sorted(batches)]
    size = len(place)
    return {
        "record": draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)),
        "epoch": [0] * size,
        "rank": [rank for rank, _ in place],
        "batch": [batch for _, batch in place],
    }


def canonical(rows: Rows) -> Rows:
    order = sorted(
        range(len(rows["rank"])), key=lambda row: (rows["batch"][row], rows["rank"][row])
    )
    return {name: [values[row] for row in order] for name, values in rows.items()}


@given(a=dealt(), b=dealt())
@LAWS
def test_rows_of_ranks_differ_first_where_they_do_in_canonical_order(a: Rows, b: Rows) -> None:
    found = rows_of(compare(a, b))
    a, b = canonical(a), canonical(b)

    assert found["set"] == first_in_set(keys(a), keys(b))
    assert found["order"] == first_in_sequences(keys(a), keys(b))
    assert found["batches_as_sets"] == first_in_batches_as_sets(a, b)


BASELINE: Rows = {
    "record": [0, 1, 2, 3, 4, 5, 6, 7],
    "batch": [0, 0, 1, 1, 2, 2, 3, 3],
    "draws": [10, 11, 12, 13, 14, 15, 16, 17],
    "content": [20, 21, 22, 23, 24, 25, 26, 27],
    "raw": [30, 31, 32, 33, 34, 35, 36, 37],
}


def changed(name: str, changes: dict[int, Any]) -> Rows:
    values = [changes.get(row, value) for row, value in enumerate(BASELINE[name])]
    return BASELINE | {name: values}


def taken(order: list[int]) -> Rows:
    """Give the rows of the baseline in this order, in its batches."""
    rows = {name: [values[row] for row in order] for name, values in BASELINE.items()}
    return rows | {"batch": BASELINE["batch"][: len(order)]}


def differing(result: Result) -> dict[str, int]:
    return {level: row for level, row in rows_of(result).items() if row is not None}


def test_a_record_that_is_lacking_is_the_first_of_the_set(tmp_path: Path) -> None:
    result = audit_rows(tmp_path, BASELINE, taken([0, 2, 1, 3, 4, 6, 7]))

    assert differing(result) == {"set": 5, "order": 1, "batches_as_sets": 1, "batches": 1}
    assert levels_of(result)[DifferenceLevel.SET] == FirstDifference(
        row=5, epoch=None, batch=2, column="record", a=5, b=None
    )


def test_a_record_that_comes_again_is_the_first_of_the_set_where_it_does(tmp_path: Path) -> None:
    result = audit_rows(tmp_path, {"record": [5, 1, 2]}, {"record": [5, 1, 2, 5]})

    assert levels_of(result)[DifferenceLevel.SET] == FirstDifference(
        row=3, epoch=None, batch=None, column="record", a=None, b=5
    )


def test_records_that_change_their_epoch_are_told_by_the_epoch(tmp_path: Path) -> None:
    a: Rows = {"record": [0, 1, 2], "epoch": [0, 0, 1]}
    found = levels_of(audit_rows(tmp_path, a, a | {"epoch": [0, 1, 1]}))

    first = FirstDifference(row=1, epoch=0, batch=None, column="epoch", a=0, b=1)
    assert found == {DifferenceLevel.SET: first, DifferenceLevel.ORDER: first}


def test_a_swap_within_a_batch_leaves_batches_as_sets_equal(tmp_path: Path) -> None:
    swapped = audit_rows(tmp_path, BASELINE, taken([0, 1, 3, 2, 4, 5, 6, 7]))

    assert differing(swapped) == {"order": 2, "batches": 2}


def test_a_swap_over_batches_differs_in_the_first_batch_that_it_touches(tmp_path: Path) -> None:
    swapped = audit_rows(tmp_path, BASELINE, taken([0, 1, 3, 2, 4, 6, 5, 7]))

    assert differing(swapped) == {"order": 2, "batches_as_sets": 5, "batches": 2}
    assert levels_of(swapped)[DifferenceLevel.BATCHES_AS_SETS] == FirstDifference(
        row=5, epoch=None, batch=2, column="record", a=5, b=6
    )


def test_other_borders_differ_as_sequences_where_they_stand(tmp_path: Path) -> None:
    result = audit_rows(tmp_path, BASELINE, changed("batch", {4: 1, 5: 1}))

    assert differing(result) == {"batches_as_sets": 4, "batches": 4}
    assert levels_of(result)[DifferenceLevel.BATCHES] == FirstDifference(
        row=4, epoch=None, batch=2, column="batch", a=2, b=1
    )


def test_other_draws_of_a_record_are_found_where_it_stands_in_the_baseline(tmp_path: Path) -> None:
    order = [7, 6, 5, 4, 3, 2, 1, 0]
    result = audit_rows(tmp_path, changed("draws", {3: 99, 6: 98}), taken(order))

    assert differing(result)["draws"] == 3
    assert levels_of(result)[DifferenceLevel.DRAWS] == FirstDifference(
        row=3, epoch=None, batch=1, column="draws", a="99", b="13"
    )


def test_draws_that_follow_the_place_do_not_differ(tmp_path: Path) -> None:
    other = taken([7, 6, 5, 4, 3, 2, 1, 0]) | {"draws": BASELINE["draws"]}

    assert "draws" not in differing(audit_rows(tmp_path, BASELINE, other))


def test_other_content_counts_where_draws_are_equal(tmp_path: Path) -> None:
    other = changed("content", {2: 99, 5: 98}) | {"draws": changed("draws", {2: 97})["draws"]}

    assert differing(audit_rows(tmp_path, BASELINE, other)) == {"draws": 2, "content": 5}


def test_what_was_read_is_a_level_of_its_own(tmp_path: Path) -> None:
    other = changed("raw", {6: 99}) | {"content": changed("content", {3: 98})["content"]}

    assert differing(audit_rows(tmp_path, BASELINE, other)) == {"content": 3, "raw": 6}


def test_a_level_whose_column_one_run_lacks_is_left_out(tmp_path: Path) -> None:
    other: Rows = {"record": [*range(7, -1, -1)], "content": BASELINE["content"]}

    assert list(levels_of(audit_rows(tmp_path, BASELINE, other))) == ["set", "order", "content"]


def test_rows_of_several_ranks_are_numbered_in_canonical_order(tmp_path: Path) -> None:
    a: Rows = {"record": [0, 1, 2, 3], "batch": [0, 1, 0, 1], "rank": [0, 0, 1, 1]}
    b = a | {"record": [0, 9, 2, 3]}
    found = levels_of(audit_rows(tmp_path, a, b))

    assert {one and one.row for one in found.values()} == {2}


def test_rows_that_change_the_rank_stay_in_their_global_batch(tmp_path: Path) -> None:
    a: Rows = {"record": [0, 1, 2, 3], "batch": [0, 1, 0, 1], "rank": [0, 0, 1, 1]}
    result = audit_rows(tmp_path, a, a | {"record": [2, 1, 0, 3]})

    assert result.verdict is Verdict.EQUIVALENT
    assert differing(result) == {"order": 0, "batches": 0}


@pytest.mark.parametrize("size", [3, 100, 70_000])
def test_a_swap_far_behind_is_found_whatever_the_size_of_batches(tmp_path: Path, size: int) -> None:
    rows = 600_000
    record = [*range(rows)]
    swapped = [*record]
    for one in (1, 300_001):  # within a batch, so that many have to be looked at
        swapped[one - 1], swapped[one] = record[one], record[one - 1]
    at = (rows - 1) // size * size
    swapped[at - 1], swapped[at] = record[at], record[at - 1]
    batch = [row // size for row in record]
    result = audit_rows(
        tmp_path, {"record": record, "batch": batch}, {"record": swapped, "batch": batch}
    )

    assert differing(result) == {"order": 0, "batches_as_sets": at - 1, "batches": 0}


def test_what_headers_tell_has_every_level_that_was_recorded(tmp_path: Path) -> None:
    a, b = (write_run(tmp_path / name, BASELINE, level=Level.DIGEST) for name in "ab")

    assert rows_of(audit(a, b)) == dict.fromkeys(DifferenceLevel)


def test_levels_stand_on_top_and_in_each_stream(tmp_path: Path) -> None:
    result = audit_rows(tmp_path, BASELINE, changed("record", {3: 9}))

    assert levels_of(result) == levels_of(result.streams[0])


def test_the_first_difference_alone_comes_without_levels(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", BASELINE)
    b = write_run(tmp_path / "b", changed("record", {3: 9}))

    assert audit(a, b, first=True).first_differences is msgspec.UNSET
    assert audit(a, b, first=True).streams[0].first_differences is msgspec.UNSET


def test_where_no_row_can_be_compared_no_level_is_told(tmp_path: Path) -> None:
    other: Rows = {"record": [str(record) for record in BASELINE["record"]]}

    assert levels_of(audit_rows(tmp_path, BASELINE, other)) == {}
