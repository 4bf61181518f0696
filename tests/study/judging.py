"""Recording what was drawn, and asking for the verdict."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits import audit, check
from detloader.findings import Severity
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

    from detloader.findings import Finding, Result
    from tests.study.loaders import Log
    from tests.study.planting import Planted

__all__ = ["Tally", "judge", "loud", "outcome_of"]


@dataclass
class Tally:
    """Outcomes of one kind, and the cases behind those that are not as they ought to be."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def judge(folder: Path, log: Log, baseline: Log | None = None) -> Result:
    """Record runs on disk and ask the rules about them."""
    run = _write(folder / "b", log)
    result = check(run) if baseline is None else audit(_write(folder / "a", baseline), run)
    shutil.rmtree(folder)
    return result


def _write(path: Path, log: Log) -> Path:
    rows = {name: _plain(values) for name, values in log.columns.items()}
    return write_run(path, rows, log.declared)


def _plain(values: np.ndarray) -> np.ndarray:
    return values.astype(object) if values.dtype.kind == "U" else values


def loud(result: Result) -> list[Finding]:
    """Give the findings above a note."""
    return [finding for finding in result.findings if finding.severity is not Severity.NOTE]


def outcome_of(result: Result, planted: Planted) -> str:
    """Tell whether the right rule came first: "right", "other" or "none"."""
    named = [finding.rule for finding in loud(result)]
    if not named:
        return "none"
    return "right" if named[0] == planted.rules[0] else "other"
