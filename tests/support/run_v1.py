"""Makes `tests/fixtures/run-v1`: a run as schema version 1 was first written.

It was made once, by `python tests/support/run_v1.py tests/fixtures/run-v1`, and is kept so
that every later version reads it. Never make it again: a run that today's code wrote proves
nothing about yesterday's.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from detloader.manifest.schema import Declared, Environment, Recipe, Resume
from detloader.manifest.writer import RankWriter

__all__ = ["DECLARED", "ROWS", "write_run_v1"]

ROWS = {
    0: pa.table(
        {
            "record": pa.array(["a", "ü", None, ""], pa.string()),
            "epoch": pa.array([0, 0, 1, 1], pa.int64()),
            "batch": pa.array([0, 1, 0, 1], pa.int64()),
            "draws": pa.array([2**64 - 1, None, 0, 7], pa.uint64()),
            "content": pa.array([1, 2, 3, None], pa.uint64()),
            "padding": pa.array([False, False, None, True], pa.bool_()),
            "label": pa.array([0.5, float("nan"), None, -0.0], pa.float64()),
        }
    ),
    1: pa.table(
        {
            "record": pa.array(["b", "c"], pa.string()),
            "epoch": pa.array([0, 1], pa.int64()),
            "batch": pa.array([0, 0], pa.int64()),
            "draws": pa.array([5, 6], pa.uint64()),
            "content": pa.array([8, 9], pa.uint64()),
            "padding": pa.array([False, False], pa.bool_()),
            "label": pa.array([1.0, 2.0], pa.float64()),
        }
    ),
}
DECLARED = Declared(
    loader="to_grain",
    purpose="train",
    seed=2**60,
    seed_used=None,
    weights={"a": 1.0, "ü": 1e-7},
    world_size=2,
    config={"limit": float("inf"), "nested": [{"deep": [1, "x", None, True]}]},
    resume=Resume(position=3),
)


def write_run_v1(run: Path) -> None:
    """Write the run with today's code."""
    for rank, rows in ROWS.items():
        with RankWriter(
            run,
            rank=rank,
            ranks=len(ROWS),
            declared=DECLARED,
            environment=Environment(versions={"python": "3.11.7"}, env={"TZ": None}),
            recipe=Recipe(factory="train:make", arguments={"seed": 3}, source_sha256="0" * 64),
            run_id="run-v1",
        ) as writer:
            writer.append(rows)


if __name__ == "__main__":
    write_run_v1(Path(sys.argv[1]))
