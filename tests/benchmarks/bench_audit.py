"""How fast are equal and differing runs of ten million rows told apart?

Run `python -m tests.benchmarks.bench_audit [ROWS] [--huge ROWS]`. Targets: `audit` of two equal
runs under 0.5 s, `detloader --help` under 0.2 s, as processes with their start. The blocks of
the equal runs are overwritten before they are audited: the verdict cannot come from them.

Runs that differ throughout, moves classified: under 4 s and 1 GB. Where other programs share
the machine, the processor's time says more than the clock's. Where no rules are said to be
asked, one that costs nothing is: the difference is what the rules cost.

`--huge 100_000_000` writes two runs of that many rows at level order (3 bytes a row each) that
differ in one row, and has `audit --first` look for it: under 1 s, from two blocks of each.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.manifest.schema import Declared, Environment, Level
from detloader.manifest.writer import RankWriter
from tests.benchmarks.process import Cost, cost_of

DETLOADER = Path(sysconfig.get_path("scripts")) / "detloader"


def write(
    run: Path, record: NDArray[np.int64], level: Level = Level.FULL, epochs: int = 10
) -> Path:
    """Record those rows, in chunks as a recorder hands them over."""
    per_epoch = max(len(record) // epochs, 1)
    with RankWriter(run, level=level, declared=Declared(), environment=Environment()) as writer:
        for start in range(0, len(record), 100_000):
            rows = record[start : start + 100_000]
            position = np.arange(start, start + len(rows))
            columns = {
                "record": rows,
                "epoch": position // per_epoch,
                "batch": position % per_epoch // 32,
                "draws": pa.array(position.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)),
                "content": pa.array(rows.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)),
            }
            writer.append(pa.table(columns))
    return run


def spoil_blocks(run: Path) -> None:
    """Overwrite every row, and leave sizes and names as they were."""
    for part in run.glob("*/rank-*/order/*.parquet"):
        part.write_bytes(bytes(part.stat().st_size))


def seconds(*arguments: object, repeats: int = 7) -> tuple[float, str]:
    """Return the median wall time of a process, and what it said."""
    taken = []
    command = [str(DETLOADER), *map(str, arguments)]
    for _ in range(repeats):
        began = time.perf_counter()
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken), found.stdout or found.stderr


def cost(*arguments: object) -> Cost:
    """Return what the program takes with these arguments."""
    return cost_of([DETLOADER, *arguments])


def compare_differing(folder: Path, rows: int, epochs: int) -> None:
    """Audit two runs of the same records in other orders, with rules and without."""
    per_epoch = rows // epochs
    orders = [
        np.concatenate(
            [np.random.default_rng([run, epoch]).permutation(per_epoch) for epoch in range(epochs)]
        )
        for run in (0, 1)
    ]
    for level in (Level.ORDER, Level.FULL):
        a, b = (
            write(folder / f"{level}-{epochs}-{run}", order, level, epochs)
            for run, order in enumerate(orders)
        )
        for name, options in {"all rules": (), "no rules": ("--select", "source-order")}.items():
            wall, processor, memory, output = cost("audit", a, b, "--json", "-", *options)
            report(
                f"audit, level {level}, {epochs} epochs, {name}: {wall:.2f} s, "
                f"{processor:.2f} s of processor, {memory:.0f} MB, {verdict(output)}"
            )


def find_first(folder: Path, rows: int) -> None:
    """Find the one row in which two huge runs differ."""
    record = np.random.default_rng(0).permutation(rows)
    a = write(folder / "huge-a", record, Level.ORDER)
    record[rows - rows // 3] = -1
    b = write(folder / "huge-b", record, Level.ORDER)
    for _ in range(3):
        wall, processor, memory, output = cost("audit", a, b, "--first", "--json", "-")
        report(
            f"audit --first of {rows} rows: {wall:.2f} s, {processor:.2f} s of processor, "
            f"{memory:.0f} MB, row {json.loads(output)['first_difference']['row']}"
        )


def verdict(output: str) -> str:
    """Return the verdict of an audit's JSON."""
    try:
        return str(json.loads(output)["verdict"])
    except (ValueError, KeyError):
        return output[:200]


def bytes_a_record(run: Path, rows: int) -> float:
    """Return the size of a run on disk over its rows."""
    return sum(path.stat().st_size for path in run.rglob("*") if path.is_file()) / rows


def report(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(rows: int, huge: int) -> None:
    """Write the runs, measure, report."""
    sequential = np.arange(rows)
    permuted = np.random.default_rng(0).permutation(rows)
    changed = permuted.copy()
    changed[rows // 2] = -1
    report(f"detloader --help: {seconds('--help')[0]:.3f} s")
    with tempfile.TemporaryDirectory() as temporary:
        for epochs in (1, 10):
            compare_differing(Path(temporary), rows, epochs)
    if huge:
        with tempfile.TemporaryDirectory() as temporary:
            find_first(Path(temporary), huge)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, order in {"sequential": sequential, "permuted": permuted}.items():
            run = write(folder / f"order-{name}", order, Level.ORDER)
            report(f"level order, {name}: {bytes_a_record(run, rows):.4f} bytes a record")
        began = time.perf_counter()
        a = write(folder / "a", permuted)
        report(f"writing {rows} rows: {time.perf_counter() - began:.1f} s")
        report(f"level full, permuted: {bytes_a_record(a, rows):.2f} bytes a record")
        b = write(folder / "b", permuted)
        others = {
            "one changed row": write(folder / "changed", changed),
            "another permutation": write(folder / "sequential", sequential),
        }
        for name, run in others.items():
            wall, processor, memory, output = cost("audit", a, run, "--json", "-")
            report(
                f"audit, {name}: {wall:.2f} s, {processor:.2f} s of processor, {memory:.0f} MB, "
                f"{verdict(output)}"
            )
        spoil_blocks(a)
        spoil_blocks(b)
        taken, output = seconds("audit", a, b, "--json", "-")
        report(f"audit, equal runs with spoilt blocks: {taken:.3f} s, {verdict(output)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=int, nargs="?", default=10_000_000)
    parser.add_argument("--huge", type=int, default=0, help="rows of the runs that differ in one")
    asked = parser.parse_args()
    main(asked.rows, asked.huge)
