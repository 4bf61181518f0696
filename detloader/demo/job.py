"""The demo's job: record three runs, compare them, say what came out."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detloader.audits import audit
from detloader.demo.digits import SUBJECTS, load_subjects
from detloader.demo.loading import (
    BATCH,
    PARTITIONS,
    RECORDS,
    SEED,
    WEIGHTS,
    OlderLoader,
    Scheduled,
    pick_image,
    schedule,
)
from detloader.errors import RunExistsError
from detloader.grain import to_grain
from detloader.manifest.layout import write_atomically
from detloader.recording import record
from detloader.reports import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.findings import Result

__all__ = ["Outcome", "run_demo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the demo made.

    Attributes:
        old: the run of the older loader.
        new: the run of `to_grain` in one process, the baseline.
        new_workers: the run of `to_grain` with two worker processes.
        result_file: the result, as JSON.
        page: the result, as HTML.
        result: `new` compared with `old` and with `new_workers`.
    """

    old: Path
    new: Path
    new_workers: Path
    result_file: Path
    page: Path
    result: Result


def run_demo(folder: Path) -> Outcome:
    """Record and audit in a new folder.

    Raises:
        RunExistsError: the folder exists.
    """
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise RunExistsError(
            f"{folder} exists: name another folder with -o, or remove it first"
        ) from error
    try:
        return _run(folder)
    except BaseException:
        shutil.rmtree(folder)
        raise


def _run(folder: Path) -> Outcome:
    old, new, new_workers = folder / "old", folder / "new", folder / "new-2-workers"
    subjects, order = load_subjects(), schedule()
    # Which image it picks, the older loader left to a generator that nobody recorded: so of
    # its run only the order is of use.
    _deliver(
        OlderLoader(subjects), old, ids="subject", batched=True, level="order", workers=PARTITIONS
    )
    for run, workers in ((new, 0), (new_workers, 2)):
        loader = to_grain(
            Scheduled(subjects, order),
            seed=SEED,
            transform=pick_image,
            batch_size=BATCH,
            workers=workers,
        )
        _deliver(loader, run, ids=order, workers=workers)
    result = audit(new, old, new_workers, pictures=True)
    result_file, page = folder / "result.json", folder / "report.html"
    for format_, file in (("json", result_file), ("html", page)):
        write_atomically(file, render(format_, result).encode())
    return Outcome(
        old=old,
        new=new,
        new_workers=new_workers,
        result_file=result_file,
        page=page,
        result=result,
    )


def _deliver(
    loader: Any,
    run: Path,
    *,
    ids: Sequence[int] | str,
    workers: int,
    batched: bool | None = None,
    level: str = "full",
) -> None:
    """Take all that a loader delivers, as a training loop would, and record it."""
    declared = {
        "purpose": "train",
        "shuffle": True,
        "source_size": SUBJECTS,
        "weights": WEIGHTS,
        "replacement": True,
        "num_samples": RECORDS,
        "batch_size": BATCH,
        "num_epochs": 1,
        "workers": workers,
    }
    with record(loader, run, ids=ids, batched=batched, level=level, declared=declared) as recorded:
        for _ in recorded:
            pass
