"""Tables that a manifest can hold, drawn and written."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from hypothesis import strategies as st

from detloader.manifest.schema import Declared, Environment, Level
from detloader.manifest.writer import RankWriter

__all__ = ["FULL_COLUMNS", "cuts", "rank_writer", "tables", "write_rows"]

Run = TypeVar("Run", str, Path)

_INT64 = st.integers(-(2**63), 2**63 - 1)
_UINT64 = st.integers(0, 2**64 - 1)
_TEXT = st.text(max_size=6)
_VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int64": (pa.int64(), _INT64),
    "uint64": (pa.uint64(), _UINT64),
    "float64": (pa.float64(), st.floats()),
    "bool": (pa.bool_(), st.booleans()),
    "string": (pa.string(), _TEXT),
}
FULL_COLUMNS: dict[str, tuple[str, ...]] = {
    "record": ("int64", "string"),
    "epoch": ("int64",),
    "batch": ("int64",),
    "draws": ("uint64", "string"),
    "content": ("uint64", "string"),
    "padding": ("bool",),
    "label": tuple(_VALUES),
    "überschrift": tuple(_VALUES),
}


@st.composite
def tables(draw: st.DrawFn, min_rows: int = 0, max_rows: int = 12) -> pa.Table:
    """Draw any columns of any types, with and without nulls."""
    names = draw(st.lists(st.sampled_from(sorted(FULL_COLUMNS)), min_size=1, unique=True))
    rows = draw(st.integers(min_rows, max_rows))
    columns = {}
    for name in names:
        arrow, values = _VALUES[draw(st.sampled_from(FULL_COLUMNS[name]))]
        maybe = draw(st.sampled_from([values, st.none() | values]))
        columns[name] = pa.array(draw(st.lists(maybe, min_size=rows, max_size=rows)), arrow)
    return pa.table(columns)


def cuts(rows: int) -> st.SearchStrategy[list[int]]:
    """Draw places to cut that many rows at; some pieces may be empty."""
    return st.lists(st.integers(0, rows), max_size=4).map(sorted)


def rank_writer(
    run: str | Path,
    *,
    rank: int = 0,
    ranks: int | None = None,
    stream: str = "main",
    level: Level = Level.FULL,
    **declared: Any,
) -> RankWriter:
    """Begin a rank whose header depends on nothing but the arguments."""
    return RankWriter(
        run,
        stream=stream,
        rank=rank,
        ranks=ranks,
        level=level,
        declared=Declared(**declared),
        environment=Environment(),
        run_id="a-run",
    )


def write_rows(run: Run, rows: pa.Table, cut_at: list[int] | None = None, **rank: Any) -> Run:
    """Write and seal one rank, appended in pieces."""
    borders = [0, *(cut_at or []), len(rows)]
    with rank_writer(run, **rank) as writer:
        for start, stop in itertools.pairwise(borders):
            writer.append(rows.slice(start, stop - start))
    return run
