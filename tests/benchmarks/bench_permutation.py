"""Time per index of `permute` over whole passes, and against Grain's call on a sample."""

from __future__ import annotations

import statistics
import time

import numpy as np
from grain._src.python.experimental.index_shuffle.python import index_shuffle_module

from detloader.order.permutation import RecordOrder, permute

SIZES = (10, 1_000, 100_003, 1_000_000)
ROUNDS = 15
SAMPLE = 2_000


def whole_pass(size: int, seed: int) -> float:
    """Nanoseconds per index."""
    positions = np.arange(size)
    start = time.perf_counter_ns()
    permute(positions, size, seed)
    return (time.perf_counter_ns() - start) / size


def published(size: int, seed: int) -> float:
    """Nanoseconds per index of one call each, over evenly spaced positions."""
    positions = range(0, size, max(size // SAMPLE, 1))
    call = index_shuffle_module.index_shuffle
    start = time.perf_counter_ns()
    for position in positions:
        call(position, max_index=size - 1, seed=seed, rounds=4)
    return (time.perf_counter_ns() - start) / len(positions)


def read_in_steps(size: int, step: int = 32, steps: int = 10_000) -> float:
    """Nanoseconds per record of `RecordOrder.indices`, asked for a batch at a time."""
    order = RecordOrder(size, seed=0, num_epochs=None)
    start = time.perf_counter_ns()
    for first in range(0, step * steps, step):
        order.indices(first, first + step)
    return (time.perf_counter_ns() - start) / (step * steps)


def main() -> None:
    """Print one line a size; ratios are medians over interleaved pairs."""
    for size in SIZES:
        pairs = [(whole_pass(size, seed), published(size, seed)) for seed in range(ROUNDS)]
        ours = min(pair[0] for pair in pairs)
        theirs = min(pair[1] for pair in pairs)
        ratio = statistics.median(theirs / ours for ours, theirs in pairs)
        report(
            f"size {size:>9,}: {ours:>10,.1f} ns per index ({ours * size / 1e6:.2f} ms a pass), "
            f"Grain {theirs:>9,.1f} ns, ratio {ratio:.1f}"
        )
    report(f"32 at a time, size 1,000,000: {read_in_steps(1_000_000):.1f} ns per record")


def report(line: str) -> None:
    print(line)  # noqa: T201 - the script's output


if __name__ == "__main__":
    main()
