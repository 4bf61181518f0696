"""Rows of several ranks have one order, whatever the folders say."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import open_run
from detloader.errors import UsageError
from detloader.manifest.schema import Level
from tests.support.tables import rank_writer, write_rows

COLUMNS = st.sampled_from([(), ("epoch",), ("batch",), ("epoch", "batch")])


def write_ranks(
    run: Path, ranks: dict[int, list[dict[str, int]]], columns: tuple[str, ...]
) -> Path:
    for rank, rows in ranks.items():
        table = {name: [row[name] for row in rows] for name in ("record", *columns)}
        schema = pa.schema([(name, pa.int64()) for name in table])
        write_rows(run, pa.table(table, schema), rank=rank)
    return run


def expected(
    ranks: dict[int, list[dict[str, int]]], columns: tuple[str, ...]
) -> list[tuple[int, int, int]]:
    """Sort row by row, as the definition says it."""
    keyed = []
    for rank, rows in ranks.items():
        seen: Counter[int] = Counter()
        for position, row in enumerate(rows):
            epoch = row["epoch"] if "epoch" in columns else 0
            place = seen[epoch]
            seen[epoch] += 1
            key = (
                (epoch, row["batch"], rank, position)
                if "batch" in columns
                else (epoch, place, rank)
            )
            keyed.append((key, (row["record"], rank, position)))
    return [row for _, row in sorted(keyed)]


ROWS = st.lists(
    st.fixed_dictionaries(
        {"record": st.integers(0, 5), "epoch": st.integers(0, 2), "batch": st.integers(0, 2)}
    ),
    max_size=6,
)


@settings(max_examples=50, deadline=None)
@given(
    ranks=st.dictionaries(st.integers(0, 12), ROWS, min_size=2, max_size=4),
    columns=COLUMNS,
)
def test_rows_of_ranks_are_in_canonical_order(
    ranks: dict[int, list[dict[str, int]]], columns: tuple[str, ...]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = open_run(write_ranks(Path(folder) / "run", ranks, columns))
        stream = run.streams["main"]
        table = stream.table(["record"])

    found = list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    assert found == expected(ranks, columns)
    assert [rank.header.rank for rank in stream.ranks] == sorted(ranks)
    assert run.rows == len(found)


def test_one_rank_keeps_its_delivery_order(tmp_path: Path) -> None:
    rows = pa.table({"record": [5, 6, 7], "epoch": [1, 0, 1], "batch": [9, 3, 2]})

    table = open_run(write_rows(tmp_path / "run", rows)).streams["main"].table()

    assert table["record"].to_pylist() == [5, 6, 7]
    assert table["position"].to_pylist() == [0, 1, 2]


def test_a_rank_that_never_had_a_row_does_not_hide_the_others(tmp_path: Path) -> None:
    run = write_rows(tmp_path / "run", pa.table({"record": [1, 2]}), rank=1)
    rank_writer(run, rank=0).close()

    stream = open_run(run).streams["main"]

    assert list(stream.columns) == ["record"]
    assert stream.table().to_pydict() == {"record": [1, 2], "rank": [1, 1], "position": [0, 1]}
    assert stream.rows == 2
    assert stream.complete


def test_a_stream_without_a_row_has_an_empty_table(tmp_path: Path) -> None:
    rank_writer(tmp_path / "run").close()

    run = open_run(tmp_path / "run")

    assert run.streams["main"].table().to_pydict() == {"rank": [], "position": []}
    assert (run.rows, run.complete) == (0, True)
    with pytest.raises(UsageError, match="no column 'record'"):
        run.streams["main"].table(["record"])


def test_columns_are_those_that_every_rank_has(tmp_path: Path) -> None:
    run = write_rows(tmp_path / "run", pa.table({"label": ["x"], "record": [1], "batch": [0]}))
    write_rows(run, pa.table({"record": [2], "batch": [0], "label": [3]}), rank=1)

    stream = open_run(run).streams["main"]

    assert dict(stream.columns) == {"record": "int64", "batch": "int64"}
    assert stream.table()["record"].to_pylist() == [1, 2]
    assert stream.digests is not None
    assert {name: [rank for rank, _ in found] for name, found in stream.digests.items()} == {
        "label": [0, 1],
        "record": [0, 1],
        "batch": [0, 1],
    }


def test_ranks_of_two_levels_give_what_both_kept(tmp_path: Path) -> None:
    rows = pa.table({"record": [1], "content": pa.array([1], pa.uint64())})
    run = write_rows(tmp_path / "run", rows)
    write_rows(run, rows, rank=1, level=Level.ORDER)

    stream = open_run(run).streams["main"]

    assert stream.level is Level.ORDER
    assert stream.table().column_names == ["record", "rank", "position"]


def test_rank_and_position_alone_can_be_asked_for(tmp_path: Path) -> None:
    rows: dict[str, Any] = {"record": [1, 2, 3]}
    run = write_rows(tmp_path / "run", pa.table(rows))

    assert open_run(run).streams["main"].table([]).to_pydict() == {
        "rank": [0, 0, 0],
        "position": [0, 1, 2],
    }


def test_ranks_are_ascending_beyond_five_digits(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for rank in (100_000, 99_999):
        write_rows(run, pa.table({"record": [rank]}), rank=rank)

    assert open_run(run).streams["main"].table()["record"].to_pylist() == [99_999, 100_000]
