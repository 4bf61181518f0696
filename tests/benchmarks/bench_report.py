"""How long does the HTML report of two runs of ten million rows take?

Run `python -m tests.benchmarks.bench_report [ROWS]`. Targets: under 15 s and 1 GB for comparing,
taking the pictures and writing the page, and at most 2 MB for the page. Where other programs
share the machine, the processor's time says more than the clock's.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from tests.benchmarks.bench_audit import cost, report, write

__all__: list[str] = []


def main(rows: int, epochs: int = 10) -> None:
    """Write two runs of the same records in other orders, and report what differs."""
    per_epoch = rows // epochs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = [folder / "a", folder / "b"]
        for seed, run in enumerate(runs):
            order = [np.random.default_rng([seed, e]).permutation(per_epoch) for e in range(epochs)]
            write(run, np.concatenate(order), epochs=epochs)
        page, result = folder / "page.html", folder / "result.json"
        commands = {
            "audit without pictures": ("audit", *runs, "--quiet"),
            "audit with pictures and page": ("audit", *runs, "--html", page, "--json", result),
            "report of the result": ("report", result, "--html", page, "--quiet"),
        }
        for what, command in commands.items():
            wall, processor, memory, _ = cost(*command)
            report(f"{what}: {wall:.2f} s, {processor:.2f} s of processor, {memory:.0f} MB")
        report(f"page: {page.stat().st_size:,} bytes; result: {result.stat().st_size:,} bytes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=10_000_000)
    main(parser.parse_args().rows)
