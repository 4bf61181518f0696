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
    from detloader.findings import JsonValue

__all__ = ["control_elsewhere", "launch_elsewhere"]


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
    return replace(control, job=job, run=replayed.run, reason=reason, repeated=False)


def launch_elsewhere(job: Job, run: Path, timeout: float) -> Replayed:
    """Do a job in an environment of the versions that it names, a process for each rank.

    Raises:
        InstallError: there is no such environment.
        FactoryError: a rank's process died.
    """
    interpreter = _interpreter(job)
    run_id = uuid.uuid4().hex

    def record(rank: int) -> None:
        arguments = arguments_of(job, rank)
        recorded(
            interpreter,
            _recipe(job, arguments),
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
    return Replayed(run=str(run), learnt=job.learnt or Learnt())


def _interpreter(job: Job) -> Interpreter:
    if not job.versions:
        return here()
    packages = {**job.packages, **job.versions}
    python = packages.pop("python", None)
    return environment(packages, python=python)


def _recipe(job: Job, arguments: dict[str, JsonValue]) -> Recipe:
    return Recipe(
        factory=job.factory,
        arguments=arguments,
        ids=job.ids or msgspec.UNSET,
        batched=msgspec.UNSET if job.batched is None else job.batched,
        id_root=job.id_root or msgspec.UNSET,
        elements=job.elements or msgspec.UNSET,
    )
