"""Measures what docs/benchmarks.md says, and writes it there.

    python -m tests.benchmarks                          all, at a million rows
    python -m tests.benchmarks --only sizes told-apart --rows 1e6 1e7 1e8
    python -m tests.benchmarks --write                  docs/benchmarks.md from results.json

What was measured goes to tests/benchmarks/results.json, each table in the place of the one of
that name. `--bisection PROGRAM` is `reladiff`, of an environment of its own: pip install reladiff
duckdb. `--streaming PYTHON` is one with mosaicml-streaming. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks import (
    bench_adapters,
    bench_recording,
    bench_to_grain,
    results,
    sizes,
    told_apart,
)


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """Measure what was asked for: each table's rows, by its name."""
    every = [int(float(rows)) for rows in asked.rows]
    tables: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "loaders": bench_to_grain.measure,
        "recording": bench_recording.measure,
        "adapters": lambda: bench_adapters.measure(asked.streaming),
        "sizes": lambda: [row for rows in every for row in sizes.measure(rows)],
        "blocks": lambda: _apart("blocks", asked.blocks),
        "told-apart": lambda: [
            row for rows in every for row in told_apart.measure(rows, asked.bisection)
        ],
        "soak": lambda: _apart("soak", asked.soak),
    }
    return {name: tables[name]() for name in asked.only or tables}


def _apart(module: str, argument: str) -> list[dict[str, Any]]:
    """Measure in a process of its own, whose memory is that of nothing else."""
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", argument]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    rows: list[dict[str, Any]] = json.loads(ran.stdout)
    return rows


def main() -> None:
    """Measure, keep the results, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", metavar="TABLE", choices=[*results.TABLES])
    parser.add_argument("--rows", nargs="+", default=["1e6"], metavar="N")
    parser.add_argument("--blocks", default="1e8", metavar="N", help="rows of the table blocks")
    parser.add_argument("--soak", default="60", metavar="SECONDS", help="how long the table takes")
    parser.add_argument("--bisection", metavar="PROGRAM", help="reladiff, to be compared with")
    parser.add_argument("--streaming", metavar="PYTHON", help="one with mosaicml-streaming")
    parser.add_argument("--write", action="store_true", help="only write the page again")
    parser.add_argument("--json", type=Path, default=results.RESULTS, metavar="FILE")
    parser.add_argument("--markdown", type=Path, default=results.PAGE, metavar="FILE")
    asked = parser.parse_args()
    if not asked.write:
        results.keep(asked.json, measured(asked))
    text = results.with_tables(asked.markdown.read_text(encoding="utf-8"), results.read(asked.json))
    asked.markdown.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{asked.json}, {asked.markdown}\n")


if __name__ == "__main__":
    main()
