"""Replays with other versions: in environments of their own, recorded by the small recorder.

What that records has other columns than what is recorded here, so such replays are compared
with an unvaried one that the small recorder makes, too.
"""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.environments import Interpreter, environment, recorded
from detloader.audits.environments.interpreter import here
from detloader.audits.replay.job import Learnt, Part, Replayed
from detloader.audits.replay.launch import arguments_of, environment_of
from detloader.manifest.reader import open_run
from detloader.manifest.schema import Recipe

if TYPE_CHECKING:
    from pathlib import Path

    from detloader.audits.replay.control import Control
    from detloader.audits.replay.job import Job
    from detloader.audits.replay.session import Session

__all__ = ["control_elsewhere", "launch_elsewhere", "record_ranks"]


def control_elsewhere(session: Session, control: Control) -> Control:
    """Replay a job unvaried by the small recorder, for replays elsewhere to be compared with.

    Args:
        session: where to.
        control: the unvaried replay.
    """
    columns = open_run(control.run).streams[control.job.stream].columns
    job = msgspec.structs.replace(control.job, versions={}, batched="batch" in columns)
    replayed = session.answer(session.trial(job, "control-elsewhere", baseline=None)).replayed
    reason = replayed.died and f"the unvaried replay by the small recorder died: {replayed.died}"
    return replace(control, job=job, run=replayed.run, reason=reason, repeats=0)


def launch_elsewhere(job: Job, run: Path, timeout: float) -> Replayed:
    """Do a job in an environment of the versions that it names.

    Raises:
        InstallError: there is no such environment.
        FactoryError: a rank's process died.
    """
    record_ranks(_interpreter(job), job, _recipe(job), run, timeout)
    return Replayed(run=str(run), learnt=job.learnt or Learnt())


def record_ranks(
    interpreter: Interpreter, job: Job, recipe: Recipe, run: Path, timeout: float
) -> None:
    """Record a job by the small recorder, all ranks at once, each in a process of its own.

    Args:
        interpreter: the environment's.
        job: what to do.
        recipe: what the run says of how it was made, but for the arguments of each rank.
        run: folder of the run.
        timeout: seconds after which a process is given up.

    Raises:
        FactoryError: a rank's process died.
    """
    run_id = uuid.uuid4().hex

    def record(rank: int) -> None:
        recorded(
            interpreter,
            msgspec.structs.replace(recipe, arguments=arguments_of(job, rank)),
            run,
            seconds=timeout,
            stream=job.stream,
            rank=rank,
            ranks=job.world_size,
            rounding=job.rounding,
            folder=job.folder,
            variables=environment_of(Part(job=job, run=str(run), rank=rank), run_id),
        )

    with ThreadPoolExecutor(job.world_size) as ranks:
        list(ranks.map(record, range(job.world_size)))


def _interpreter(job: Job) -> Interpreter:
    if not job.versions:
        return here()
    packages = {**job.packages, **job.versions}
    python = packages.pop("python", None)
    return environment(packages, python=python)


def _recipe(job: Job) -> Recipe:
    return Recipe(
        factory=job.factory,
        arguments=job.arguments,
        ids=job.ids or msgspec.UNSET,
        batched=msgspec.UNSET if job.batched is None else job.batched,
        id_root=job.id_root or msgspec.UNSET,
        elements=job.elements or msgspec.UNSET,
    )
