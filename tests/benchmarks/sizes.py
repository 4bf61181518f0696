"""How large is a manifest, beside the least that a random order takes?

The least is log2(n!) / n bits a record, for n records in an order that nobody can compute. The
rest of a manifest at level `order` is epochs and batches, the digests of blocks, and the header.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.manifest.schema import Declared, Environment, Level
from detloader.manifest.writer import RankWriter

__all__ = ["measure"]


def measure(rows: int) -> list[dict[str, Any]]:
    """Write runs of so many rows, and give the bytes of a row of each."""
    permutation = np.random.default_rng(0).permutation(rows)
    least = math.lgamma(rows + 1) / math.log(2) / rows / 8
    orders = {"one permutation": (permutation, least), "as it stands": (np.arange(rows), 0.0)}
    found = []
    for name, (records, limit) in orders.items():
        for level in (Level.ORDER, Level.DIGEST):
            size = _bytes(records, level)
            found.append(
                {
                    "rows": rows,
                    "order": name,
                    "level": str(level),
                    "bytes a row": size,
                    "least": limit,
                    "times the least": size / limit if limit and level is Level.ORDER else None,
                }
            )
    return found


def _bytes(records: NDArray[np.int64], level: Level) -> float:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        with RankWriter(run, level=level, declared=Declared(), environment=Environment()) as writer:
            for start in range(0, len(records), 1_000_000):
                some = records[start : start + 1_000_000]
                places = np.arange(start, start + len(some))
                columns = {"record": some, "epoch": np.zeros_like(some), "batch": places // 256}
                writer.append(pa.table(columns))
        return sum(path.stat().st_size for path in run.rglob("*") if path.is_file()) / len(records)
