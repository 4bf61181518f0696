"""What recording at level `full` costs the loop that it watches.

    python tests/benchmarks/bench_recording.py

A recorded and an unrecorded stream take turns, a few milliseconds each, so that other
work on the machine falls on both. Two figures: the median of the rounds' ratios by the
clock, and the ratio of processor time, in which the recorder's thread counts in full and
other programs do not; on a busy machine, believe the second. Sealing, which happens once and
after the loop, is timed apart. Nothing is kept on disk.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from detloader import record, to_grain

RECORDS = 20_000
BATCH = 32
TURNS = 200
ROWS_RECORDED = 200_000
SLOW_SECONDS = 50e-6


class Took(NamedTuple):
    """Seconds of one turn: by the clock, and of the processor in this thread."""

    clock: float
    processor: float


def add_noise(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {"x": sample["x"] + rng.normal(), "y": sample["y"]}


def add_noise_slowly(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    end = time.thread_time() + SLOW_SECONDS
    while time.thread_time() < end:
        pass
    return add_noise(sample, rng)


def turn(iterator: Iterator[Any], elements: int) -> Took:
    clock, processor = time.perf_counter(), time.thread_time()
    for _ in range(elements):
        next(iterator)
    return Took(time.perf_counter() - clock, time.thread_time() - processor)


def stream(transform: Callable[..., Any]) -> Any:
    records = [{"x": np.full(256, i, np.float32), "y": np.int32(i)} for i in range(RECORDS)]
    return to_grain(
        records, seed=0, shuffle=True, transform=transform, batch_size=BATCH, num_epochs=None
    )


def compare(name: str, transform: Callable[..., Any], rows: int) -> dict[str, Any]:
    """Give one row of the table."""
    elements = -(-rows // BATCH // TURNS)
    plain_turns, watched_turns = [], []
    with tempfile.TemporaryDirectory() as folder:
        dataset = stream(transform)
        recorded = record(dataset, f"{folder}/run")
        plain, watched = iter(dataset), iter(recorded)
        turn(plain, elements), turn(watched, elements)
        others = time.process_time() - time.thread_time()
        for number in range(TURNS):
            if number % 2:
                plain_turns.append(turn(plain, elements))
            watched_turns.append(turn(watched, elements))
            if not number % 2:
                plain_turns.append(turn(plain, elements))
        recorder = time.process_time() - time.thread_time() - others
        start = time.perf_counter()
        recorded.close()
        sealing = time.perf_counter() - start
    ratios = [b.clock / a.clock for a, b in zip(plain_turns, watched_turns, strict=True)]
    without = sum(took.processor for took in plain_turns)
    within = sum(took.processor for took in watched_turns) + recorder
    each = 1e6 / (elements * TURNS * BATCH)
    return {
        "transform": name,
        "rows": elements * TURNS * BATCH,
        "plain, µs": without * each,
        "recorded, µs": within * each,
        "more processor, %": 100 * (within / without - 1),
        "more by the clock, %": 100 * (statistics.median(ratios) - 1),
        "sealing, ms": sealing * 1e3,
    }


def measure() -> list[dict[str, Any]]:
    """Give the rows of the table."""
    return [
        compare("one normal draw", add_noise, ROWS_RECORDED),
        compare("50 µs of work", add_noise_slowly, ROWS_RECORDED // 4),
    ]


if __name__ == "__main__":
    for row in measure():
        print(row)  # noqa: T201 - the script's output
