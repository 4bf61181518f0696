"""Recordings that are killed at random moments.

`python -m tests.support.killed PROGRAM FOLDER TRIALS AT_ONCE STEPS` forks a recorder for each
trial, so that none of them pays for an import, and kills it a moment after a random one of its
first so many steps. It prints a line of JSON for each: the run's folder, and how far it had come.
"""

from __future__ import annotations

import itertools
import json
import mmap
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader import record
from detloader.manifest.schema import Declared, Environment
from detloader.manifest.writer import RankWriter
from tests.support.recording import grain_stream

__all__ = ["PROGRAMS"]

MOMENT = 0.03
"""Seconds; it takes less to seal a part."""

Progress = NDArray[np.int64]
"""Shape (2,), shared with the process that kills: rows delivered, steps taken."""

PROGRAMS: dict[str, Callable[[Path, Progress], None]] = {}


def program(function: Callable[[Path, Progress], None]) -> Callable[[Path, Progress], None]:
    PROGRAMS[function.__name__] = function
    return function


@program
def iterable(run: Path, progress: Progress) -> None:
    """Deliver a number each millisecond, or more seldom."""
    for number in record(itertools.count(), run, ids=int):
        progress[:] = number + 1
        time.sleep(0.001)


@program
def stream(run: Path, progress: Progress) -> None:
    """Deliver a batch of four each four milliseconds, or more seldom."""
    for number, _ in enumerate(record(grain_stream(), run)):
        progress[:] = 4 * (number + 1), number
        time.sleep(0.004)


@program
def sealing(run: Path, progress: Progress) -> None:
    """Append as fast as it goes, so that a part is sealed nearly all the time."""
    writer = begin(run)
    for step in itertools.count():
        writer.append(pa.table({"record": np.arange(writer.rows, writer.rows + 100_000)}))
        progress[:] = writer.rows, step


@program
def closing(run: Path, progress: Progress) -> None:
    """Begin, record three numbers, and seal; one run after the other."""
    for step in itertools.count():
        progress[:] = 0, step
        writer = begin(run / f"{step}")
        writer.append(pa.table({"record": [0, 1, 2]}))
        progress[0] = 3
        writer.close()


def begin(run: Path) -> RankWriter:
    return RankWriter(run, declared=Declared(), environment=Environment())


@dataclass
class Trial:
    """One recorder; it is killed a moment after a step of its."""

    process: int
    run: Path
    progress: Progress
    last_step: int
    moment: float
    ends: float | None = None

    def is_over(self) -> bool:
        if self.ends is None and self.progress[1] >= self.last_step:
            self.ends = time.monotonic() + self.moment
        return self.ends is not None and time.monotonic() > self.ends

    def kill(self) -> dict[str, Any]:
        os.kill(self.process, signal.SIGKILL)
        _, status = os.waitpid(self.process, 0)
        rows, step = self.progress.tolist()
        killed = os.WTERMSIG(status) == signal.SIGKILL
        return {"run": str(self.run), "rows": rows, "step": step, "killed": killed}


def start(name: str, run: Path, last_step: int, moment: float) -> Trial:
    progress: Progress = np.frombuffer(mmap.mmap(-1, 16), np.int64)
    process = os.fork()
    if process == 0:
        become(name, run, progress)
    return Trial(process, run, progress, last_step, moment)


def become(name: str, run: Path, progress: Progress) -> NoReturn:
    PROGRAMS[name](run, progress)
    os._exit(1)


def main(name: str, folder: str, trials: str, at_once: str, steps: str) -> None:
    record(range(3), f"{folder}/warm", ids=int).close()
    chance = random.Random(0)
    waiting = [Path(folder, f"{number}") for number in range(int(trials))]
    running: list[Trial] = []
    while waiting or running:
        while waiting and len(running) < int(at_once):
            last_step, moment = chance.randrange(int(steps)), chance.uniform(0, MOMENT)
            running.append(start(name, waiting.pop(), last_step, moment))
        for trial in [trial for trial in running if trial.is_over()]:
            running.remove(trial)
            sys.stdout.write(json.dumps(trial.kill()) + "\n")
        time.sleep(0.001)


if __name__ == "__main__":
    main(*sys.argv[1:])
