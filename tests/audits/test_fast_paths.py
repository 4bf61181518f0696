"""What is fast gives what is plain."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.audits import audit
from detloader.audits.alignment import align
from detloader.audits.increasing import longest_increasing
from detloader.audits.integers import (
    are_distinct,
    ascends,
    contains,
    distinct,
    first_rows,
    lacking,
    overlap,
    repeated,
    span,
    tally,
)
from detloader.audits.rule import rule_names
from detloader.errors import DamageError, UsageError
from detloader.findings import FirstDifference, Verdict
from detloader.manifest.schema import BLOCK_ROWS, Level
from tests.support.damage import refit
from tests.support.results import first_of
from tests.support.runs import write_run

LAWS = settings(max_examples=100, deadline=None)
FAR = 10**12
"""What spreads keys so far that no table holds them."""

keys = st.lists(st.integers(-20, 20), max_size=24)
sets = st.lists(st.integers(-20, 20), max_size=24, unique=True)


def increasing_by_definition(values: list[int]) -> int:
    lengths: list[int] = []
    for place, value in enumerate(values):
        shorter = [lengths[k] for k in range(place) if values[k] < value]
        lengths.append(1 + max(shorter, default=0))
    return max(lengths, default=0)


@given(pair=st.tuples(keys, keys) | st.tuples(sets, sets) | st.tuples(keys, sets))
@LAWS
def test_keys_that_lie_close_are_aligned_as_those_that_do_not(
    pair: tuple[list[int], list[int]],
) -> None:
    close_a, close_b = (np.array(part, np.int64) for part in pair)
    close, far = align(close_a, close_b), align(close_a * FAR, close_b * FAR)

    assert close.rows_a.tolist() == far.rows_a.tolist()
    assert close.rows_b.tolist() == far.rows_b.tolist()
    assert close.moved == far.moved


@given(values=keys)
@LAWS
def test_the_longest_increasing_subsequence_is_as_long_as_its_definition_says(
    values: list[int],
) -> None:
    assert longest_increasing(np.array(values, np.int64)) == increasing_by_definition(values)


def piles(values: list[int]) -> int:
    """Count the piles of patience sorting."""
    tops: list[int] = []
    for value in values:
        place = bisect_left(tops, value)
        tops[place : place + 1] = [value]
    return len(tops)


@given(
    seed=st.integers(0, 2**32 - 1),
    low=st.sampled_from([0, -(10**15)]),
    distinct=st.booleans(),
    end=st.sampled_from(["random", "ascending", "descending", "constant"]),
)
@settings(max_examples=12, deadline=None)
def test_values_that_are_taken_in_blocks_make_as_many_piles(
    seed: int, low: int, distinct: bool, end: str
) -> None:
    rng = np.random.default_rng(seed)
    size = 300_000
    values = rng.permutation(size) if distinct else rng.integers(0, size // 3, size)
    tail = values[-20_000:]
    if end != "random":
        values[-20_000:] = {"ascending": 1, "descending": -1, "constant": 0}[end] * np.sort(tail)
    values = values + low

    assert longest_increasing(values) == piles(values.tolist())


def first_by_blocks(a: Path, b: Path) -> FirstDifference | None:
    found = audit(a, b, first=True).first_difference
    assert not isinstance(found, msgspec.UnsetType)
    return found


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.sampled_from([1, 7, 70_000, 140_000]), min_size=1, max_size=5),
    low=st.sampled_from([0, -(10**15)]),
    step=st.sampled_from([0, 1, 10**6]),
)
@settings(max_examples=12, deadline=None)
def test_epochs_that_take_their_values_side_by_side_make_as_many_piles(
    seed: int, sizes: list[int], low: int, step: int
) -> None:
    rng = np.random.default_rng(seed)
    start, epochs = low, []
    for size in sizes:
        epochs.append(rng.permutation(size) + start)
        start += size + step
    values = np.concatenate(epochs)

    assert longest_increasing(values) == piles(values.tolist())


@given(pool=keys, values=keys, far=st.sampled_from([1, FAR]))
@LAWS
def test_sets_of_integers_are_what_sets_are(pool: list[int], values: list[int], far: int) -> None:
    pool, values = [key * far for key in pool], [key * far for key in values]
    one, other = np.array(pool, np.int64), np.array(values, np.int64)
    all_of_them = sorted(set(values))

    assert distinct(other).tolist() == all_of_them
    assert [part.tolist() for part in tally(other)] == [
        all_of_them,
        [*map(values.count, all_of_them)],
    ]
    assert are_distinct(other) == (len(all_of_them) == len(values))
    assert contains(one, other).tolist() == [value in pool for value in values]
    assert overlap(one, other) == bool({*pool} & {*values})
    assert lacking(one, other).tolist() == sorted(set(pool) - set(values))
    assert repeated(other).tolist() == [values.count(value) > 1 for value in values]
    assert first_rows(other)(slice(None)).tolist() == [*map(values.index, values)]
    assert ascends(other) == (values == all_of_them)


@given(values=keys)
@LAWS
def test_a_span_is_all_integers_from_the_least_to_the_greatest(values: list[int]) -> None:
    whole = range(min(values, default=0), max(values, default=-1) + 1)

    assert span(np.array(values, np.int64)) == (whole if {*whole} == {*values} else None)


def some_rows(size: int) -> dict[str, Any]:
    place = np.arange(size)
    return {
        "record": np.random.default_rng(0).permutation(size),
        "epoch": place // (size // 2 + 1),
        "batch": place // 32,
        "content": np.random.default_rng(1).integers(0, 2**62, size).astype(np.uint64),
    }


@pytest.mark.parametrize("place", [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 32, -1])
@pytest.mark.parametrize("column", ["record", "epoch", "batch", "content"])
def test_the_first_difference_by_blocks_is_that_of_the_audit(
    tmp_path: Path, column: str, place: int
) -> None:
    rows = some_rows(BLOCK_ROWS + 100)
    other = rows | {column: rows[column].copy()}
    other[column][place] += 10**6
    a, b = write_run(tmp_path / "a", rows), write_run(tmp_path / "b", other)

    assert first_by_blocks(a, b) == first_of(audit(a, b))


@pytest.mark.parametrize("lacking", [1, 100, 101, BLOCK_ROWS + 99])
def test_a_missing_tail_is_found_by_blocks(tmp_path: Path, lacking: int) -> None:
    rows = some_rows(BLOCK_ROWS + 100)
    fewer = {name: values[:-lacking] for name, values in rows.items()}
    a, b = write_run(tmp_path / "a", rows), write_run(tmp_path / "b", fewer)

    assert first_by_blocks(a, b) == first_of(audit(a, b))
    assert first_by_blocks(b, a) == first_of(audit(b, a))


def test_labels_of_batches_that_differ_alone_are_no_first_difference(tmp_path: Path) -> None:
    rows = some_rows(2 * BLOCK_ROWS)
    other = rows | {"batch": rows["batch"] + 7}
    a, b = write_run(tmp_path / "a", rows), write_run(tmp_path / "b", other)

    assert first_by_blocks(a, b) is None


@pytest.mark.parametrize(
    "change", [{"rank": [0, 1] * 50}, {"worker": [0] * 100, "split": [1] * 100}]
)
def test_runs_that_blocks_cannot_tell_apart_are_read(
    tmp_path: Path, change: dict[str, list[int]]
) -> None:
    rows = some_rows(100)
    other = {**rows, **change, "record": rows["record"][::-1]}
    a, b = write_run(tmp_path / "a", rows), write_run(tmp_path / "b", other)

    assert first_by_blocks(a, b) == first_of(audit(a, b))


def test_blocks_that_are_equal_are_not_read(tmp_path: Path) -> None:
    rows = {"record": np.random.default_rng(0).permutation(4 * BLOCK_ROWS)}
    other = {"record": rows["record"].copy()}
    other["record"][3 * BLOCK_ROWS + 5] = -1
    a, b = write_run(tmp_path / "a", rows), write_run(tmp_path / "b", other)
    for run in (a, b):
        spoil_first_block(run, len(rows["record"]))
    found = first_by_blocks(a, b)

    assert found is not None
    assert (found.row, found.b) == (3 * BLOCK_ROWS + 5, -1)
    with pytest.raises(DamageError):
        audit(a, b)


def spoil_first_block(run: Path, rows: int, column: str = "record") -> None:
    """Overwrite the pages of a column in a run's first block, and let its header agree."""
    header, part = next(run.rglob("manifest.json")), next(run.rglob("*.parquet"))
    group = pq.ParquetFile(part).metadata.row_group(0)
    chunk = next(
        chunk
        for chunk in map(group.column, range(group.num_columns))
        if chunk.path_in_schema == column
    )
    data = bytearray(part.read_bytes())
    # The values of the last page alone: headers of pages are looked at before any page is read.
    end = chunk.data_page_offset + chunk.total_compressed_size
    data[end - 100 : end] = bytes(100)
    refit(header, bytes(data), rows)


def test_what_only_the_first_difference_does_not_tell_is_said_to_be_untold(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": [0, 1, 2, 3]})
    b = write_run(tmp_path / "b", {"record": [0, 1, 3, 2]})
    whole, first = audit(a, b), audit(a, b, first=True, ignore=["race"])

    assert first.first_difference == whole.first_difference
    assert first.verdict is Verdict.CHANGED
    assert first.reason == "only the first difference was looked for, not its kind or cause"
    assert first.differences is msgspec.UNSET
    assert first.findings == []
    assert {skipped.rule for skipped in first.not_checked} == {*rule_names()} - {"race"}
    assert {*first.not_checked[0].missing} == {"an audit without --first"}


def test_rows_that_are_the_same_have_no_first_difference(tmp_path: Path) -> None:
    rows = {"record": [0, 1, 2, 3], "batch": [0, 0, 1, 1], "content": [5, 6, 7, 8]}
    a = write_run(tmp_path / "a", rows)
    relabelled = write_run(tmp_path / "b", rows | {"batch": [3, 3, 4, 4]})
    lean = {name: rows | {"content": [5, 6, 7, last]} for name, last in (("c", 8), ("d", 9))}
    c, d = (write_run(tmp_path / name, lean[name], level=Level.ORDER) for name in lean)

    assert audit(a, relabelled, first=True).verdict is Verdict.IDENTICAL
    assert audit(c, d, first=True).verdict is Verdict.CHANGED
    assert audit(c, d, first=True).reason == audit(c, d).reason


def test_an_open_run_without_common_ranks_has_no_first_difference(tmp_path: Path) -> None:
    rows = {"record": [0, 1], "epoch": [0, 0]}
    a = write_run(tmp_path / "a", rows | {"rank": [0, 0]}, {"world_size": 2}, seal=False)
    b = write_run(tmp_path / "b", rows | {"rank": [1, 1]}, {"world_size": 2}, seal=False)
    whole, first = audit(a, b), audit(a, b, first=True)

    assert (first.verdict, first.reason) == (Verdict.INCONCLUSIVE, whole.reason)


@pytest.mark.parametrize("more", [{"equivalence": "same-set"}, {"pictures": True}])
def test_the_first_difference_alone_tells_no_more(tmp_path: Path, more: dict[str, Any]) -> None:
    a = write_run(tmp_path / "a", {"record": [0, 1]})

    with pytest.raises(UsageError, match="the first difference alone does not give"):
        audit(a, a, first=True, **more)


def test_columns_of_equal_digests_are_read_once(tmp_path: Path) -> None:
    rows = some_rows(1000)
    a = write_run(tmp_path / "a", rows)
    b = write_run(tmp_path / "b", rows | {"record": rows["record"][::-1]})
    whole = audit(a, b)
    spoil_first_block(b, 1000, "content")

    assert audit(a, b) == whole
