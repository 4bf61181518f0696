"""How fast are two runs told apart, beside tools that compare files, frames and tables?

All tools get the same rows in the same run: record, epoch and batch of one loader. `cmp` compares
the records as plain int64; pandas and DuckDB read the Parquet parts of the runs as they lie, and
find the first row that differs; a tool of hash bisection compares two DuckDB tables by the row's
number. What each needs beforehand (plain files, tables) is not counted. Each is a process of its
own, timed with its start.
"""

from __future__ import annotations

import json
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.manifest.schema import Declared, Environment, Level
from detloader.manifest.writer import RankWriter
from tests.benchmarks.process import Cost, cost_of

__all__ = ["measure"]

DETLOADER = Path(sysconfig.get_path("scripts")) / "detloader"
PARTS = "main/rank-00000/order"

PANDAS = """
import sys, numpy, pandas
a, b = (pandas.read_parquet(path) for path in sys.argv[1:])
unequal = (a.to_numpy() != b.to_numpy()).any(axis=1)
print("row", int(unequal.argmax())) if unequal.any() else print("same")
"""

DUCKDB = """
import sys, duckdb
a, b = (f"'{path}/*.parquet'" for path in sys.argv[1:])
found = duckdb.sql(f'''
    WITH pairs AS (
        SELECT (a.record, a.epoch, a.batch) IS DISTINCT FROM (b.record, b.epoch, b.batch) AS differ
        FROM {a} AS a POSITIONAL JOIN {b} AS b
    ), numbered AS (SELECT row_number() OVER () - 1 AS place, differ FROM pairs)
    SELECT min(place) FROM numbered WHERE differ
''')
((row,),) = found.fetchall()
print("same" if row is None else f"row {row}")
"""

TABLES = """
import sys, duckdb
folder, *runs = sys.argv[1:]
for run in runs:
    table = duckdb.connect(f"{folder}/{run}.duckdb")
    parts = f"{folder}/{run}/main/rank-00000/order/*.parquet"
    table.sql(f"CREATE TABLE r AS SELECT row_number() OVER () AS place, record FROM '{parts}'")
"""


def measure(rows: int, bisection: str | None = None) -> list[dict[str, Any]]:
    """Compare equal runs, runs that differ in one row, and runs of unlike orders.

    Args:
        rows: rows of each run.
        bisection: the program `reladiff`, or one with its arguments; None leaves it out.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        order = np.random.default_rng(0).permutation(rows)
        changed = order.copy()
        changed[rows - rows // 3] = rows
        other = np.random.default_rng(1).permutation(rows)
        for name, records in {"a": order, "same": order, "one": changed, "other": other}.items():
            _write(folder, name, records)
        if bisection:
            cost_of([sys.executable, "-c", TABLES, folder, "a", "same", "one", "other"])
        cases = {"equal": "same", "one row differs": "one", "another order": "other"}
        return [
            {"rows": rows, "runs": case, "tool": tool, **_told(cost)}
            for case, name in cases.items()
            for tool, cost in _compare(folder, name, bisection)
        ]


def _compare(folder: Path, name: str, bisection: str | None) -> Iterator[tuple[str, Cost]]:
    a, b = folder / "a", folder / name
    yield "detloader audit", cost_of([DETLOADER, "audit", a, b, "--json", "-"])
    if name == "same":
        yield (
            "detloader audit --verify",
            cost_of([DETLOADER, "audit", a, b, "--verify", "--json", "-"]),
        )
    else:
        yield (
            "detloader audit --first",
            cost_of([DETLOADER, "audit", a, b, "--first", "--json", "-"]),
        )
    yield "cmp", cost_of(["cmp", folder / "a.int64", folder / f"{name}.int64"])
    yield "pandas", cost_of([sys.executable, "-c", PANDAS, a / PARTS, b / PARTS])
    yield "DuckDB", cost_of([sys.executable, "-c", DUCKDB, a / PARTS, b / PARTS])
    if bisection and name != "other":
        # It lists every row that differs, which is all of them there.
        tables = [f"duckdb://main@{folder / run}.duckdb" for run in ("a", name)]
        options = ["-k", "place", "-c", "record"]
        yield "reladiff", cost_of([bisection, tables[0], "r", tables[1], "r", *options])


def _told(cost: Cost) -> dict[str, Any]:
    return {
        "seconds": cost.wall,
        "of processor": cost.processor,
        "memory, MB": cost.memory,
        "answer": _answer(cost.output),
    }


def _answer(output: str) -> str:
    """Return what a tool found, in a few words."""
    try:
        result = json.loads(output)
    except ValueError:
        lines = output.strip().splitlines()
        return re.sub(".*differ: ", "", lines[-1])[-60:] if lines else "same"
    first = result["first_difference"]
    return f"{result['verdict']}, row {first['row']}" if first else str(result["verdict"])


def _write(folder: Path, name: str, records: NDArray[np.int64]) -> None:
    records.tofile(folder / f"{name}.int64")
    with RankWriter(
        folder / name, level=Level.ORDER, declared=Declared(), environment=Environment()
    ) as writer:
        for start in range(0, len(records), 1_000_000):
            some = records[start : start + 1_000_000]
            places = np.arange(start, start + len(some))
            columns = {"record": some, "epoch": np.zeros_like(some), "batch": places // 256}
            writer.append(pa.table(columns))
