"""The demo, told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.demo.digits import SUBJECTS
from detloader.demo.loading import PARTITIONS, RECORDS, WEIGHTS
from detloader.manifest.reader import open_run
from detloader.reports import render
from detloader.reports.plain import listed, wrap

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from detloader.demo.job import Outcome

__all__ = ["tell"]


def tell(outcome: Outcome, *, color: bool = False) -> str:
    """Return what the demo shows: what changed, why, and where everything lies."""
    old, new = _deliveries(outcome.old), _deliveries(outcome.new)
    against_old, against_workers = outcome.result.comparisons or []
    return "\n".join(
        [
            _setting(outcome),
            "",
            f"$ detloader audit {outcome.new} {outcome.old}",
            render("text", against_old, limit=3, color=color),
            *_dropped(old),
            "",
            *_weights(old, new),
            "",
            f"$ detloader audit {outcome.new} {outcome.new_workers}",
            render("text", against_workers, color=color),
            wrap(f"The runs lie in {outcome.old.parent}, the result in {outcome.result_file}."),
            wrap(f"The same with pictures: {outcome.page}"),
            f"Next: detloader show {outcome.old}",
        ]
    )


def _setting(outcome: Outcome) -> str:
    return "\n".join(
        [
            wrap(
                f"1,797 handwritten digits of {SUBJECTS} subjects. Subjects are drawn by weight, "
                f"{RECORDS:,} times, and each time one of the subject's images:"
            ),
            wrap(f"by to_grain in this process: {outcome.new}", indent="  "),
            wrap(f"by to_grain with 2 worker processes: {outcome.new_workers}", indent="  "),
            wrap(
                f"by a model of the older loader, with {PARTITIONS} workers: {outcome.old}",
                indent="  ",
            ),
        ]
    )


def _deliveries(run: Path) -> NDArray[np.int64]:
    """Return how often each subject came: int64, shape (SUBJECTS,)."""
    records = open_run(run).streams["main"].table(["record"])["record"].to_numpy()
    return np.bincount(records, minlength=SUBJECTS)


def _dropped(old: NDArray[np.int64]) -> list[str]:
    dropped = [str(subject) for subject in np.flatnonzero(old == 0)]
    return [wrap(f"The older loader never delivered these subjects: {listed(dropped, SUBJECTS)}.")]


def _weights(old: NDArray[np.int64], new: NDArray[np.int64]) -> list[str]:
    """Return what each weight asked for, and what came of it."""
    weights = np.array(WEIGHTS)
    lines = [
        "What the weights became, as shares of all records:",
        "  weight  subjects  asked for  to_grain  older loader",
    ]
    for weight in np.unique(weights):
        chosen = weights == weight
        asked = weights[chosen].sum() / weights.sum()
        lines.append(
            f"  {weight:6g}  {chosen.sum():8}  {asked:9.1%}  {_share(new, chosen):8.1%}"
            f"  {_share(old, chosen):12.1%}"
        )
    return lines


def _share(counts: NDArray[np.int64], chosen: NDArray[np.bool_]) -> float:
    return float(counts[chosen].sum() / counts.sum())
