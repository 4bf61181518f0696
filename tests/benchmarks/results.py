"""Results of benchmarks: kept as JSON, shown in docs/benchmarks.md between two comments."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["PAGE", "RESULTS", "TABLES", "keep", "read", "with_tables"]

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- tables: made by `python -m tests.benchmarks` -->", "<!-- end of tables -->"

TABLES = {
    "told-apart": "Two runs told apart, at level `order`. Wanted: equal runs of 100 million rows "
    "in under 0.5 s, a first difference in under 1 s, each in under 500 MB",
    "sizes": "Bytes of a manifest, beside the least that a random order takes. Wanted: at most 1.2 "
    "times the least",
    "blocks": "One run of very many rows, written part by part. Wanted: as much for the last row "
    "as for the first",
    "recording": "What recording at level `full` costs a loop. Wanted: at most 10 % of records of "
    "1 KB, 2 % where the transform takes 50 µs",
    "adapters": "What recording costs loaders that people have: images of 3x32x32 with a usual "
    "augmentation, batches of 128. Wanted: at most 3 % for Torch with two workers, "
    "looking at generators apart",
    "loaders": "`to_grain` beside Grain's own chain. Wanted: 4 times as fast at 1 KB, never slower",
    "soak": "A stream without end, recorded. Wanted: memory that does not grow",
}
"""What each table shows, in the order of the page."""

PACKAGES = ("numpy", "pyarrow", "grain", "pandas", "duckdb")


def keep(path: Path, tables: Mapping[str, Any]) -> None:
    """Put tables into a file of results, each with the machine that it was measured on."""
    kept = read(path) if path.exists() else {}
    for name, rows in tables.items():
        kept[name] = {"machine": machine(), "rows": rows}
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Read a file of results."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept


def machine() -> dict[str, Any]:
    """Say when and on what it was measured, and how busy that was."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
    }


def with_tables(page: str, kept: Mapping[str, Any]) -> str:
    """Return a page with the tables of these results in their place."""
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    shown = [_section(name, kept[name]) for name in TABLES if name in kept]
    return before + "\n\n".join([BEGIN, *shown, END]) + after


def _section(name: str, table: Mapping[str, Any]) -> str:
    rows, where = table["rows"], table["machine"]
    names = list(rows[0])
    lines = [
        f"**{TABLES[name]}.**",
        "",
        f"| {' | '.join(names)} |",
        "|---" * len(names) + "|",
        *(f"| {' | '.join(_text(row[name]) for name in names)} |" for row in rows),
        "",
        f"`python -m tests.benchmarks --only {name}`, {where['date']}, {where['cores']} cores at a "
        f"load of {where['load']}, Python {where['python']}, "
        + ", ".join(f"{package} {where[package]}" for package in PACKAGES)
        + ".",
    ]
    return "\n".join(lines)


def _text(value: object) -> str:
    """Return a figure to three digits, and text as it is."""
    if isinstance(value, float) and value:
        digits = max(0, min(2 - math.floor(math.log10(abs(value))), 5))
        return f"{value:,.{digits}f}"
    if isinstance(value, int | float):
        return f"{value:,}"
    return "" if value is None else str(value).replace("|", "\\|")
