"""Does recording take more and more memory? A loader is recorded for as long as you say.

    python -m tests.benchmarks.soak [SECONDS]

The stream has no end. Memory is what the process holds, looked at often; the growth is that
between the first fifth, in which caches fill, and the last one.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from detloader import record, to_grain
from detloader.manifest.verify import verify_run

__all__ = ["measure"]

SECONDS = 600.0
LOOKS = 100


def measure(seconds: float = SECONDS) -> list[dict[str, Any]]:
    """Record a stream for so long, and give what the process held."""
    records = [{"x": np.full(64, i, np.float32), "y": np.int32(i)} for i in range(10_000)]
    stream = to_grain(records, seed=0, shuffle=True, batch_size=64, num_epochs=None)
    held: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        with record(stream, run) as recorded:
            end, look = time.monotonic() + seconds, time.monotonic()
            for _ in recorded:
                now = time.monotonic()
                if now >= look:
                    held.append(_resident())
                    look += seconds / LOOKS
                if now >= end:
                    break
        rows = verify_run(run).rows
        size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    fifth = len(held) // 5
    early, late = statistics.median(held[fifth : 2 * fifth]), statistics.median(held[-fifth:])
    return [
        {
            "seconds": seconds,
            "rows": rows,
            "bytes a row": size / rows,
            "memory early, MB": early,
            "memory late, MB": late,
            "growth, bytes a row": (late - early) * 2**20 / (rows * 0.7),
        }
    ]


def _resident() -> float:
    """Return what this process holds, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    asked = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    sys.stdout.write(json.dumps(measure(asked)) + "\n")
