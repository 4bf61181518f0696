"""Starts the processes of one replay, and says how they ended.

A process may hang, print without end, leave others behind or vanish without a word: none of
that harms the replays beside it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import deque
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

import msgspec

from detloader.audits.replay.job import ELSEWHERE, Part, Replayed, Report
from detloader.audits.replay.resume import join_parts

if TYPE_CHECKING:
    from detloader.audits.replay.job import Job
    from detloader.findings import JsonValue

__all__ = ["inspect_factory", "launch"]

_TAIL_BYTES = 4096
_TAIL_LINES = 5
_AT_ONCE = 1 << 16
_PATIENCE_SECONDS = 1.0


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
            Part(job=job, run=str(run), rank=rank, arguments=_arguments(job, rank))
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


def _arguments(job: Job, rank: int) -> dict[str, JsonValue]:
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
        reports = [child.wait(deadline, timeout) for child in children]
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


class _Child:
    """One process, in a session of its own, so that whatever it leaves behind can be ended."""

    def __init__(self, part: Part, folder: Path, run_id: str) -> None:
        folder.mkdir(exist_ok=True)
        self._part = part
        self._path = folder / "job.json"
        self._path.write_bytes(msgspec.json.encode(part))
        self._report = self._path.with_suffix(".report")
        self._report.unlink(missing_ok=True)
        self._tail: deque[bytes] = deque(maxlen=2)
        self._process = subprocess.Popen(  # noqa: S603 - ourselves
            # Without the working folder before the standard library: a factory's is imported later.
            [sys.executable, "-P", "-m", "detloader.audits.replay", str(self._path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=_folder(part.job, folder),
            env=_environment(part, run_id),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End what is left of the process's session; first as it may still tidy up after itself."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            self._signal(number)
            patience = time.monotonic() + _PATIENCE_SECONDS
            while self._signal(0) and time.monotonic() < patience:
                self._process.poll()
                time.sleep(0.01)
        # A process that made a session of its own may hold the pipe open for ever.
        self._reader.join(_PATIENCE_SECONDS)

    def wait(self, deadline: float, timeout: float) -> Report:
        """Wait for the end, and say how it was."""
        try:
            status = self._process.wait(max(deadline - time.monotonic(), 0.01))
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
            return Report(died=f"it did not end within {timeout:g} seconds")
        if self._report.exists():
            return msgspec.json.decode(self._report.read_bytes(), type=Report)
        return Report(died=f"its process ended {_how(status)} before its loader did")

    @property
    def last_lines(self) -> list[str]:
        """What it printed last."""
        text = b"".join(self._tail)[-_TAIL_BYTES:].decode(errors="replace")
        return [line.rstrip() for line in text.splitlines() if line.strip()][-_TAIL_LINES:]

    def _signal(self, number: int) -> bool:
        """Signal the whole session; tell whether there still is one."""
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _read(self, output: IO[bytes]) -> None:
        with output:
            while chunk := os.read(output.fileno(), _AT_ONCE):
                self._tail.append(chunk)


def _how(status: int) -> str:
    if status < 0:
        return f"by {signal.Signals(-status).name}"
    return f"with status {status}"


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


def _environment(part: Part, run_id: str) -> dict[str, str]:
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
