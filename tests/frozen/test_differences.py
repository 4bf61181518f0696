"""What is told from the digests of a frozen run and of another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import open_run
from detloader.audits.frozen import differences, freeze
from detloader.errors import RunError
from detloader.manifest.schema import BLOCK_ROWS
from tests.support.headers import headers_only
from tests.support.runs import write_run

ROWS = 150_000
COLUMNS: dict[str, Any] = {
    "record": np.arange(ROWS),
    "epoch": np.zeros(ROWS, np.int64),
    "draws": np.arange(ROWS, dtype=np.uint64),
}


@settings(max_examples=10)
@given(column=st.sampled_from([*COLUMNS]), row=st.integers(0, ROWS - 1))
def test_one_other_value_is_found_in_its_column_and_block(
    tmp_path_factory: pytest.TempPathFactory, column: str, row: int
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    values = COLUMNS[column].copy()
    values[row] += 1
    a = write_run(folder / "a", COLUMNS)
    b = write_run(folder / "b", {**COLUMNS, column: values})

    assert differences(freeze(a), open_run(a)) == []
    (difference,) = differences(freeze(a), open_run(b))
    assert (difference.stream, difference.rank, difference.column) == ("main", 0, column)
    assert difference.rows is not None
    assert row in difference.rows
    assert len(difference.rows) <= BLOCK_ROWS


@given(
    blocks=st.integers(1, 200),
    ranks=st.integers(1, 4),
    cut=st.integers(0, BLOCK_ROWS - 1),
    data=st.data(),
)
def test_of_any_long_run_the_first_differing_group_holds_the_first_differing_block(
    blocks: int, ranks: int, cut: int, data: st.DataObject
) -> None:
    places = st.tuples(
        st.integers(0, ranks - 1),
        st.sampled_from(["record", "content"]),
        st.integers(0, blocks - 1),
    )
    changed = data.draw(st.sets(places))
    found = differences(
        freeze(headers_only(blocks, ranks=ranks, cut=cut)),
        headers_only(blocks, changed, ranks=ranks, cut=cut),
    )

    assert [(each.rank, each.column) for each in found] == sorted(
        {(rank, column) for rank, column, _ in changed}, key=lambda at: (at[0], at[1] != "record")
    )
    for each in found:
        first = min(
            block for rank, column, block in changed if (rank, column) == (each.rank, each.column)
        )
        assert each.rows is not None
        assert first * BLOCK_ROWS in each.rows
        assert each.rows.stop <= blocks * BLOCK_ROWS - cut


def test_a_difference_is_a_sentence(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": [1, 2, 3], "content": [4, 5, 6]})
    b = write_run(tmp_path / "b", {"record": [1, 2], "content": [4, 5]})
    c = write_run(tmp_path / "c", {"record": ["1", "2", "3"], "content": [4, 5, 6]})

    assert [str(each) for each in differences(freeze(a), open_run(b))] == [
        "stream main, rank 0, column record first differs in rows 0 to 2 (2 rows, not 3)",
        "stream main, rank 0, column content first differs in rows 0 to 2 (2 rows, not 3)",
    ]
    assert [str(each) for each in differences(freeze(a), open_run(c))] == [
        "stream main, rank 0, column record is string, and frozen as int64"
    ]


def test_a_stream_or_a_rank_of_one_run_alone_is_a_difference(tmp_path: Path) -> None:
    rows = {"record": [1, 2, 3, 4], "rank": [0, 1, 0, 1]}
    both = write_run(tmp_path / "both", rows)
    one = write_run(tmp_path / "one", {"record": [1, 3]})
    other = write_run(tmp_path / "other", {"record": [1, 3]}, stream="validation")

    assert [str(each) for each in differences(freeze(both), open_run(one))] == [
        "stream main, rank 1 is frozen, and not in the run"
    ]
    assert [str(each) for each in differences(freeze(one), open_run(both))] == [
        "stream main, rank 1 is in the run, and not frozen"
    ]
    assert [str(each) for each in differences(freeze(one), open_run(other))] == [
        "stream main is frozen, and not in the run",
        "stream validation is in the run, and not frozen",
    ]


def test_a_column_of_one_run_alone_is_no_difference(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": [1, 2], "content": [4, 5], "worker": [0, 1]})
    b = write_run(tmp_path / "b", {"record": [1, 2], "draws": [4, 5], "worker": [1, 0]})

    assert differences(freeze(a), open_run(b)) == []


def test_a_run_that_is_not_complete_is_not_compared(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": [1, 2]})
    b = write_run(tmp_path / "b", {"record": [1, 2]}, seal=False)
    with pytest.raises(RunError, match="compare a complete run"):
        differences(freeze(a), open_run(b))
