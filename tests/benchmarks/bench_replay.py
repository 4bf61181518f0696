"""Time to compute a recorded run again: its order alone, and all its records.

    python tests/benchmarks/bench_replay.py

The order of a million shuffled records is computed from the header, in one process. The
records of eight blocks are read and transformed again by one process and by two, which take
turns, so that other work on the machine falls on both; the figure is the median of the
rounds' ratios, and beside it stands the ratio of processor time: all of it over that of the
busier process, which is what two idle processors would give.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from detloader import record, to_grain
from detloader.audits.replay.recipes import job_of
from detloader.audits.replay.recompute import (
    recompute_order,
    recompute_records,
    record_digests,
)
from detloader.findings import Verdict
from detloader.manifest.reader import open_run
from detloader.manifest.schema import BLOCK_ROWS
from detloader.recipe import build_loader

ROOT = Path(__file__).parents[2]
BLOCKS = 8
ROUNDS = 3
STREAM = "tests.support.replay_streams:stream"


def write_order(run: Path, rows: int) -> None:
    loader = to_grain(range(rows), seed=3, shuffle=True, batch_size=256)
    with record(loader, run, level="order") as twin:
        for _ in twin:
            pass


def write_records(run: Path) -> None:
    size = BLOCKS * BLOCK_ROWS
    arguments: dict[str, Any] = {"size": size, "batch_size": 64, "num_epochs": 1}
    loader, recipe = build_loader(STREAM, arguments)
    with record(loader, run, recipe=recipe) as twin:
        for _ in twin:
            pass


def seconds(run: Path, processes: int) -> float:
    """Time the ranges alone: processes that are there already, with all that they import."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as executor:
        job = job_of(open_run(run))
        for _ in [executor.submit(record_digests, job, 0, 1) for _ in range(4 * processes)]:
            _.result()
        start = time.perf_counter()
        result = recompute_records(run, executor=executor)
        took = time.perf_counter() - start
    assert result.verdict is Verdict.IDENTICAL
    return took


def processor_seconds(run: Path) -> list[float]:
    """Measure the processor time of each block, in this process."""
    job = job_of(open_run(run))
    record_digests(job, 0, 1)
    taken = []
    for block in range(BLOCKS):
        start = time.process_time()
        record_digests(job, block * BLOCK_ROWS, (block + 1) * BLOCK_ROWS)
        taken.append(time.process_time() - start)
    return taken


def main() -> None:
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        order, records = Path(folder, "order"), Path(folder, "records")
        write_order(order, 1_000_000)
        start = time.perf_counter()
        result = recompute_order(order)
        print(f"order of 1,000,000 records: {time.perf_counter() - start:.2f} s, {result.verdict}")  # noqa: T201
        write_records(records)
        pairs = [(seconds(records, 1), seconds(records, 2)) for _ in range(ROUNDS)]
        ratio = statistics.median(one / two for one, two in pairs)
        blocks = processor_seconds(records)
        ideal = sum(blocks) / max(sum(blocks[::2]), sum(blocks[1::2]))
        print(  # noqa: T201
            f"{BLOCKS * BLOCK_ROWS:,} records: one process {min(p[0] for p in pairs):.1f} s, two "
            f"{min(p[1] for p in pairs):.1f} s; {ratio:.2f} times (processor time {ideal:.2f})"
        )


if __name__ == "__main__":
    main()
