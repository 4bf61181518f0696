"""A run of very many rows, written part by part: what a row costs must not grow.

    python -m tests.benchmarks.blocks [ROWS]

The rows are those of a cheap loader: a permutation, its epoch, its batches. Time is that of the
processor, in tenths of the run; the size is that of the folder. Memory is the peak of the process,
which holds nothing else.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.manifest.layout import JOURNAL
from detloader.manifest.schema import Declared, Environment, Level
from detloader.manifest.writer import PART_ROWS, RankWriter
from tests.support.memory import most_megabytes

__all__ = ["measure"]

TENTHS = 10
BITS = 30
FACTORS = 0x9E3779B1, 0x85EBCA77


def measure(rows: int) -> list[dict[str, Any]]:
    """Write so many rows, and give what each tenth of them cost."""
    parts = max(rows // PART_ROWS // TENTHS, 1)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        with RankWriter(
            run, level=Level.ORDER, declared=Declared(), environment=Environment()
        ) as writer:
            for tenth in range(TENTHS):
                began, before = time.process_time(), size(run)
                for part in range(parts):
                    writer.append(rows_of((tenth * parts + part) * PART_ROWS))
                written = parts * PART_ROWS
                found.append(
                    {
                        "rows so far": (tenth + 1) * written,
                        "ns a row": (time.process_time() - began) / written * 1e9,
                        "bytes a row": (size(run) - before) / written,
                        "memory, MB": most_megabytes(),
                    }
                )
    return found


def rows_of(start: int) -> pa.Table:
    """Return one part's rows, as a loader would have delivered them."""
    numbers = np.arange(start, start + PART_ROWS, dtype=np.uint64)
    record = mixed(numbers)
    return pa.table(
        {
            "record": record.astype(np.int64),
            "epoch": np.zeros(PART_ROWS, np.int64),
            "batch": (numbers // np.uint64(256)).astype(np.int64),
        }
    )


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Permute the numbers below 2**BITS: each step can be undone."""
    mask = np.uint64(2**BITS - 1)
    for factor in FACTORS:
        numbers = numbers * np.uint64(factor) & mask
        numbers = numbers ^ numbers >> np.uint64(BITS // 2)
    return numbers


def size(run: Path) -> int:
    """Count the bytes of a folder, but for the journal, which is gone in the end."""
    kept = (path for path in run.rglob("*") if path.is_file() and path.name != JOURNAL)
    return sum(path.stat().st_size for path in kept)


if __name__ == "__main__":
    asked = int(float(sys.argv[1])) if len(sys.argv) > 1 else 2**30
    sys.stdout.write(json.dumps(measure(asked)) + "\n")
