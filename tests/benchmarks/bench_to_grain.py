"""Time per record of `to_grain` against the chain of Grain's own nodes.

    python tests/benchmarks/bench_to_grain.py

The chain is source, shuffle, repeat, random_map, batch 32, one read thread; the transform
draws one normal number. Both take turns, so that other work on the machine falls on
both, and the first elements of a turn, which the chain reads ahead, are not timed. The
figure is the median of the rounds' ratios. Nothing is written.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import grain
import numpy as np

from detloader import to_grain

BATCH = 32
READ_AHEAD = 16


def add_noise(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {"x": sample["x"] + rng.normal(), "y": sample["y"]}


def stock(records: list[Any]) -> grain.IterDataset[Any]:
    chain = grain.MapDataset.source(records).shuffle(seed=0).repeat()
    return (
        chain.random_map(add_noise, seed=0)
        .batch(BATCH)
        .to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=READ_AHEAD))
    )


def microseconds(iterator: Iterator[Any], elements: int) -> float:
    start = time.perf_counter()
    for _ in range(elements):
        next(iterator)
    return (time.perf_counter() - start) / elements / BATCH * 1e6


def compare(name: str, records: list[Any], elements: int, rounds: int) -> dict[str, Any]:
    """Give microseconds per record of both, and how many times faster ours is."""
    ours = iter(
        to_grain(
            records,
            seed=0,
            shuffle=True,
            transform=add_noise,
            batch_size=BATCH,
            num_epochs=None,
        )
    )
    pairs = []
    for _ in range(rounds):
        ours_took = microseconds(ours, elements)
        theirs = iter(stock(records))
        # Its thread goes on reading while the other is timed, unless it is closed.
        microseconds(theirs, READ_AHEAD + 1)
        theirs_took = microseconds(theirs, elements)
        theirs.close()
        pairs.append((ours_took, theirs_took))
    medians = [statistics.median(side) for side in zip(*pairs, strict=True)]
    ratios = sorted(theirs / ours for ours, theirs in pairs)
    quarter = len(ratios) // 4
    return {
        "record": name,
        "records": len(records),
        "to_grain, µs": medians[0],
        "chain, µs": medians[1],
        "times faster": statistics.median(ratios),
        "quartiles": f"{ratios[quarter]:.2f} to {ratios[-quarter]:.2f}",
    }


def records_of(floats: int, count: int) -> list[dict[str, Any]]:
    return [{"x": np.full(floats, i, np.float32), "y": np.int32(i)} for i in range(count)]


def measure() -> list[dict[str, Any]]:
    """Give the rows of the table."""
    return [
        compare("1 KB", records_of(256, 20_000), elements=60, rounds=60),
        compare("150 KB", records_of(37_500, 400), elements=10, rounds=60),
    ]


if __name__ == "__main__":
    for row in measure():
        print(row)  # noqa: T201 - the script's output
