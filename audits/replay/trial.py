"""One replay, compared with the unvaried one: a pure task, that any executor may run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.engine import audit
from detloader.audits.replay.elsewhere import launch_elsewhere
from detloader.audits.replay.expectations import Asks, meets
from detloader.audits.replay.job import Job, Replayed
from detloader.audits.replay.launch import launch
from detloader.errors import DetloaderError
from detloader.findings import Result
from detloader.manifest.reader import Run, open_run

if TYPE_CHECKING:
    pass

__all__ = ["Answer", "Trial", "perform"]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A job, and what its run is compared with.

    Attributes:
        job: what to do.
        run: folder to record into.
        baseline: the run to compare with; None to record alone.
        asks: what must hold for the run.
        timeout: seconds after which a process is given up.
    """

    job: Job
    run: str
    baseline: str | None = None
    asks: Asks = Asks.SAME_ROWS
    timeout: float


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a trial.

    Attributes:
        replayed: how the replay ended.
        result: the audit of both runs; None where there was no run, or nothing to compare with.
        holds: whether the run is as it should be; None where that could not be told.
    """

    replayed: Replayed
    result: Result | None = None
    holds: bool | None = None


def perform(trial: Trial) -> Answer:
    """Do a job, and compare its run; a run that is there already is replaced."""
    run = Path(trial.run)
    shutil.rmtree(run, ignore_errors=True)
    try:
        start = launch if trial.job.versions is None else launch_elsewhere
        replayed = start(trial.job, run, trial.timeout)
    except DetloaderError as error:
        return Answer(replayed=Replayed(run=trial.run, died=str(error)))
    if replayed.died is None:
        replayed = _whole(trial, replayed)
    if replayed.died is not None or trial.baseline is None:
        return Answer(replayed=replayed)
    return _compared(trial, replayed)


def _whole(trial: Trial, replayed: Replayed) -> Replayed:
    """Make sure that every row was recorded: what lacks some must not pass for what it has."""
    stream = open_run(trial.run).streams[trial.job.stream]
    if stream.complete:
        return replayed
    return msgspec.structs.replace(
        replayed, died=f"rows were lost: {stream.lost} could not be recorded"
    )


def _compared(trial: Trial, replayed: Replayed) -> Answer:
    assert trial.baseline is not None
    stream = trial.job.stream
    a, b = only(open_run(trial.baseline), stream), only(open_run(trial.run), stream)
    result = audit(a, b)
    return Answer(replayed=replayed, result=result, holds=meets(trial.asks, result, a, b))


def only(run: Run, stream: str) -> Run:
    """Return a run with one of its streams alone."""
    return Run(run.path, {stream: run.streams[stream]})
