"""What is fast gives what is plain."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.audits import audit
from detloader.audits.alignment import align
from detloader.audits.first import first_difference_of
from detloader.audits.increasing import longest_increasing
from detloader.errors import DamageError
from detloader.findings import FirstDifference
from detloader.manifest.reader import open_run
from detloader.manifest.schema import BLOCK_ROWS
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
    run_a, run_b = open_run(a), open_run(b)
    return first_difference_of(run_a.path, run_a.streams["main"], run_b.path, run_b.streams["main"])


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
        spoil_first_block(next(run.rglob("*.parquet")))
    found = first_by_blocks(a, b)

    assert found is not None
    assert (found.row, found.b) == (3 * BLOCK_ROWS + 5, -1)
    with pytest.raises(DamageError):
        audit(a, b)


def spoil_first_block(part: Path) -> None:
    """Overwrite the pages of a part's first block."""
    chunk = pq.ParquetFile(part).metadata.row_group(0).column(0)
    data = bytearray(part.read_bytes())
    start = chunk.data_page_offset
    data[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    part.write_bytes(data)
