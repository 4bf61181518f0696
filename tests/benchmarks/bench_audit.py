"""How fast are equal and differing runs of ten million rows told apart?

Run `python tests/benchmarks/bench_audit.py [ROWS]`. Targets: `audit` of two equal runs under
0.5 s, `detloader --help` under 0.2 s, as processes with their start. The blocks of the equal
runs are overwritten before they are audited: the verdict cannot come from them.
"""

from __future__ import annotations

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

DETLOADER = Path(sysconfig.get_path("scripts")) / "detloader"


def write(run: Path, record: NDArray[np.int64], level: Level = Level.FULL) -> Path:
    """Record ten epochs of those rows, in chunks as a recorder hands them over."""
    per_epoch = max(len(record) // 10, 1)
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


def main(rows: int) -> None:
    """Write the runs, measure, report."""
    sequential = np.arange(rows)
    permuted = np.random.default_rng(0).permutation(rows)
    changed = permuted.copy()
    changed[rows // 2] = -1
    report(f"detloader --help: {seconds('--help')[0]:.3f} s")
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
            taken, output = seconds("audit", a, run, "--json", "-", repeats=1)
            report(f"audit, {name}: {taken:.3f} s, {verdict(output)}")
        spoil_blocks(a)
        spoil_blocks(b)
        taken, output = seconds("audit", a, b, "--json", "-")
        report(f"audit, equal runs with spoilt blocks: {taken:.3f} s, {verdict(output)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
