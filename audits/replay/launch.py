"""Starts the processes of one replay, and says how they ended."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.replay.job import ELSEWHERE, Part, Replayed, Report
from detloader.audits.replay.process import Process, how_it_ended
from detloader.audits.replay.resume import join_parts

if TYPE_CHECKING:
    from detloader.audits.replay.job import Job
    from detloader.findings import JsonValue

__all__ = ["arguments_of", "environment_of", "inspect_factory", "launch"]


def launch(job: Job, run: Path, timeout: float) -> Replayed:
    """Do a job: a process for each rank, and for a resumed run two, one after the other.

    Args:
        job: what to do.
        run: folder to record into; it must not exist.
        timeout: seconds after which a process is given up.

    Returns:
        How it ended; a job whose process died is an answer, not an error.
    """
    with tempfile.TemporaryDirectory(prefix="detloader-") as folder:
        parts = [
            Part(job=job, run=str(run), rank=rank, arguments=arguments_of(job, rank))
            for rank in range(job.world_size)
        ]
        if job.resume_at is not None:
            return _interrupted(parts, job.resume_at, Path(folder), timeout)
        return _together(parts, Path(folder), timeout)


def inspect_factory(job: Job, timeout: float) -> Replayed:
    """Import a factory in a process of its own, and learn which arguments it takes."""
    with tempfile.TemporaryDirectory(prefix="detloader-") as folder:
        return _together([Part(job=job, run="", only_import=True)], Path(folder), timeout)


def _interrupted(parts: list[Part], stop: int, folder: Path, timeout: float) -> Replayed:
    """Run all ranks up to the stop, then others that go on from the states that these saved."""
    before, after, run = folder / "before", folder / "after", Path(parts[0].run)
    states = [folder / f"state-{part.rank}" for part in parts]
    first = [
        msgspec.structs.replace(part, run=str(before), stop_at=stop, save=str(state))
        for part, state in zip(parts, states, strict=True)
    ]
    replayed = _together(first, folder, timeout)
    if replayed.died is not None:
        return replayed
    if not all(state.exists() for state in states):
        return _dead(replayed, "the loader has no state to save: leave resume_at out")
    second = [
        msgspec.structs.replace(part, run=str(after), restore=str(state), skipped=stop)
        for part, state in zip(parts, states, strict=True)
    ]
    replayed = _together(second, folder, timeout)
    if replayed.died is not None:
        return _dead(replayed, f"after the restart: {replayed.died}")
    join_parts(before, after, run, stop)
    return msgspec.structs.replace(replayed, run=str(run))


def _dead(replayed: Replayed, why: str) -> Replayed:
    return msgspec.structs.replace(replayed, died=why)


def arguments_of(job: Job, rank: int) -> dict[str, JsonValue]:
    """Return the keyword arguments of the factory in the process of one rank."""
    if job.rank_arguments is None:
        return job.arguments
    own_rank, world = job.rank_arguments
    return {**job.arguments, own_rank: rank, world: job.world_size}


def _together(parts: list[Part], folder: Path, timeout: float) -> Replayed:
    """Run the ranks of a job side by side; the first that died speaks for all."""
    deadline = time.monotonic() + timeout
    run_id = uuid.uuid4().hex
    with contextlib.ExitStack() as stack:
        children = [
            stack.enter_context(_Child(part, folder / f"{len(parts)}-{part.rank}", run_id))
            for part in parts
        ]
        reports = [child.report(deadline, timeout) for child in children]
    dead = next((at for at, report in enumerate(reports) if report.died is not None), None)
    lines = children[dead or 0].last_lines
    report = reports[dead or 0]
    return Replayed(
        run=parts[0].run,
        died=_of_rank(report.died, dead, len(parts)),
        last_lines=lines if dead is not None else [],
        learnt=report.learnt,
    )


def _of_rank(died: str | None, rank: int | None, ranks: int) -> str | None:
    return died if died is None or ranks == 1 else f"rank {rank}: {died}"


class _Child(Process):
    """A process that does one part of a job, and reports."""

    def __init__(self, part: Part, folder: Path, run_id: str) -> None:
        folder.mkdir(exist_ok=True)
        path = folder / "job.json"
        path.write_bytes(msgspec.json.encode(part))
        self._report = path.with_suffix(".report")
        self._report.unlink(missing_ok=True)
        super().__init__(
            # Without the working folder before the standard library: a factory's is imported later.
            [sys.executable, "-P", "-m", "detloader.audits.replay", str(path)],
            folder=_folder(part.job, folder),
            variables=environment_of(part, run_id),
        )

    def report(self, deadline: float, timeout: float) -> Report:
        """Wait for the end, and say how it was."""
        status = self.wait(max(deadline - time.monotonic(), 0.01))
        if status is None:
            return Report(died=f"it did not end within {timeout:g} seconds")
        if self._report.exists():
            return msgspec.json.decode(self._report.read_bytes(), type=Report)
        return Report(died=f"its process ended {how_it_ended(status)} before its loader did")


def _folder(job: Job, folder: Path) -> str:
    if job.folder != ELSEWHERE:
        return job.folder
    assert job.home is not None
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    for entry in Path(job.home).iterdir():
        link = elsewhere / entry.name
        if not link.is_symlink():
            link.symlink_to(entry)
    return str(elsewhere)


def environment_of(part: Part, run_id: str) -> dict[str, str]:
    """Return the environment variables of a process that does this part of a job."""
    changes: dict[str, str | None] = {
        "DETLOADER_RUN_ID": run_id,
        **_launcher(part),
        **part.job.variables,
    }
    kept = {name: value for name, value in os.environ.items() if name not in changes}
    return kept | {name: value for name, value in changes.items() if value is not None}


def _launcher(part: Part) -> dict[str, str | None]:
    """Set what launchers set; one rank alone sees nothing of a launcher."""
    if part.job.world_size == 1:
        return dict.fromkeys(("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    rank = str(part.rank)
    return {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": str(part.job.world_size)}
