"""What was written is what is read, however it came."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import open_run
from detloader.errors import RunError, UsageError
from detloader.manifest.schema import BLOCK_ROWS, Level
from detloader.manifest.verify import verify_run
from detloader.manifest.writer import PART_ROWS
from tests.support.tables import cuts, rank_writer, tables, write_rows

if TYPE_CHECKING:
    from detloader.manifest.reader import Run


def plain(rows: pa.Table) -> str:
    """Give what a table holds; as text, for NaN is not itself."""
    return repr((rows.schema.remove_metadata(), rows.to_pydict()))


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_writing_then_reading_changes_nothing(data: st.DataObject) -> None:
    rows = data.draw(tables())
    cut_at = data.draw(cuts(len(rows)))
    with tempfile.TemporaryDirectory() as folder:
        run = verify_run(write_rows(Path(folder) / "run", rows, cut_at))
        (rank,) = run.streams["main"].ranks

        assert plain(rank.table()) == plain(rows)
        assert run.rows == len(rows)
        assert run.complete


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_an_open_run_reads_as_a_sealed_one(data: st.DataObject) -> None:
    rows = data.draw(tables(min_rows=1))
    with tempfile.TemporaryDirectory() as folder:
        writer = rank_writer(Path(folder) / "run")
        for cut in np.split(np.arange(len(rows)), data.draw(cuts(len(rows)))):
            writer.append(rows.take(cut))
        run = verify_run(Path(folder) / "run")
        (rank,) = run.streams["main"].ranks

        assert plain(rank.table()) == plain(rows)
        assert dict(run.streams["main"].columns) == {
            field.name: {"double": "float64"}.get(str(field.type), str(field.type))
            for field in rows.schema
        }
        assert (run.rows, run.complete, run.fingerprint) == (len(rows), False, None)
        writer.discard()


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_cuts_leave_no_trace_in_digests(data: st.DataObject) -> None:
    rows = data.draw(tables())
    first, second = data.draw(cuts(len(rows))), data.draw(cuts(len(rows)))
    with tempfile.TemporaryDirectory() as folder:
        a = open_run(write_rows(Path(folder) / "a", rows, first))
        b = open_run(write_rows(Path(folder) / "b", rows, second))

        assert a.fingerprint == b.fingerprint
        assert a.streams["main"].digests == b.streams["main"].digests


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_fingerprint_changes_with_any_compared_value_and_with_no_other(
    data: st.DataObject,
) -> None:
    records = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=9))
    at = data.draw(st.integers(0, len(records) - 1))
    changed = records.copy()
    changed[at] = data.draw(st.integers(0, 9))

    def fingerprint(records: list[int], worker: int) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            rows = pa.table({"record": records, "worker": [worker] * len(records)})
            return open_run(write_rows(Path(folder) / "run", rows)).fingerprint

    assert fingerprint(records, 0) == fingerprint(records, 1)
    assert (fingerprint(records, 0) == fingerprint(changed, 0)) == (records == changed)


def many_rows(count: int) -> pa.Table:
    record = np.random.default_rng(0).permutation(count)
    return pa.table({"record": record, "epoch": np.arange(count) // 1000})


@pytest.mark.parametrize(
    "count", [BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 2 * BLOCK_ROWS, PART_ROWS, PART_ROWS + 1]
)
def test_cuts_around_blocks_and_parts_leave_no_trace(tmp_path: Path, count: int) -> None:
    rows = many_rows(count)
    whole = open_run(write_rows(tmp_path / "whole", rows))
    pieces = [1, BLOCK_ROWS - 2, BLOCK_ROWS, count - 1]
    cut = verify_run(write_rows(tmp_path / "cut", rows, sorted(min(p, count) for p in pieces)))

    assert cut.fingerprint == whole.fingerprint
    assert cut.streams["main"].ranks[0].table().equals(rows)
    assert len(cut.streams["main"].ranks[0].header.columns[0].blocks) == -(-count // BLOCK_ROWS)


def test_a_level_keeps_its_columns_and_every_digest(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "record": [1, 2],
            "draws": pa.array([1, 2], pa.uint64()),
            "draws_image": pa.array([1, 2], pa.uint64()),
            "content": pa.array([3, 4], pa.uint64()),
            "raw": pa.array([3, 4], pa.uint64()),
            "label": ["x", "y"],
        }
    )
    runs: dict[Level, Run] = {
        level: verify_run(write_rows(tmp_path / level, rows, level=level)) for level in Level
    }
    stream = {level: run.streams["main"] for level, run in runs.items()}

    assert len({run.fingerprint for run in runs.values()}) == 1
    assert {run.rows for run in runs.values()} == {2}
    assert stream[Level.ORDER].table().column_names == ["record", "label", "rank", "position"]
    assert stream[Level.FULL].table().column_names == [*rows.column_names, "rank", "position"]
    assert not (tmp_path / "digest" / "main" / "rank-00000" / "order").exists()
    with pytest.raises(RunError, match="level digest"):
        stream[Level.DIGEST].table()
    with pytest.raises(UsageError, match="'draws'"):
        stream[Level.ORDER].table(["draws"])


def test_any_parquet_reader_opens_the_rows_with_exact_digests(tmp_path: Path) -> None:
    import pandas as pd

    draws: list[Any] = [2**64 - 1, None, 2**53 + 1]
    rows = pa.table({"record": [2**62 + 1, 0, 1], "draws": pa.array(draws, pa.uint64())})
    run = write_rows(tmp_path / "run", rows)

    frame = pd.read_parquet(run / "main" / "rank-00000" / "order")

    assert [value if value is not pd.NA else None for value in frame["draws"].tolist()] == draws
    assert frame["record"].tolist() == [2**62 + 1, 0, 1]
