"""Programs that record and are killed, forked, crowded or starved: run as child processes.

`python tests/support/recording.py PROGRAM RUN …` prints a line for each element delivered
(an acknowledgement), at once.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from detloader import open_run, record, to_grain
from detloader.errors import DetloaderError
from detloader.manifest.schema import Declared, Environment
from detloader.manifest.writer import RankWriter

__all__ = ["PROGRAMS", "grain_stream"]

PROGRAMS: dict[str, Callable[..., None]] = {}


def program(function: Callable[..., None]) -> Callable[..., None]:
    PROGRAMS[function.__name__] = function
    return function


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def noisy(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {"x": sample["x"] + rng.normal()}


def grain_stream(size: int = 500) -> Any:
    """Build the stream that the child records, and the parent computes again."""
    source = [{"x": float(index)} for index in range(size)]
    return to_grain(source, seed=5, shuffle=True, transform=noisy, batch_size=4, num_epochs=None)


@program
def iterable(run: str) -> None:
    """Deliver whole numbers without end."""
    for number in record(counting(), run, ids=int):
        say(number + 1)
        time.sleep(0.0002)


def counting() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


@program
def standing_still(run: str, count: str) -> None:
    """Deliver so many numbers, then stand in the middle of a step."""
    for number in record(counting(), run, ids=int):
        say(number + 1)
        if number + 1 == int(count):
            time.sleep(600)


@program
def ending(run: str, how: str) -> None:
    """Deliver ten numbers and end without a word to the recorder."""
    for _ in record(range(10), run, ids=int):
        pass
    if how == "error":
        raise RuntimeError(how)
    if how == "abrupt":
        os._exit(0)


@program
def ending_stream(run: str) -> None:
    """Deliver two batches of `to_grain` and end without a word to the recorder."""
    steps = iter(record(grain_stream(), run))
    next(steps)
    next(steps)


@program
def in_forked_worker(run: str) -> None:
    """Record in a process that multiprocessing forked."""
    worker = multiprocessing.get_context("fork").Process(target=ending, args=(run, "worker"))
    worker.start()
    worker.join()


@program
def forking(run: str, how: str) -> None:
    """Fork in the middle of an epoch; the child delivers, too, and ends in its own way."""
    twin = record(range(1000), run, ids=int)
    for number in twin:
        if number == 500:
            child = os.fork()
            if child == 0:
                for _ in twin:
                    pass
                twin.close()
                if how == "exit":
                    sys.exit()
                os._exit(0)
            os.waitpid(child, 0)
            so_far = open_run(run)
            say(so_far.complete, so_far.rows <= number + 1)
            if how == "again":
                try:
                    record(range(3), run)
                except DetloaderError as error:
                    say(type(error).__name__)


@program
def forking_while_rows_are_written(run: str) -> None:
    """Fork while the recorder's thread writes; the child closes, and has no such thread."""
    writing, go_on = threading.Event(), threading.Event()
    append = RankWriter.append

    def append_late(writer: RankWriter, rows: pa.Table) -> None:
        writing.set()
        go_on.wait()
        append(writer, rows)

    setattr(RankWriter, "append", append_late)  # noqa: B010
    twin = record(range(10), run, ids=int)
    list(twin)
    writing.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        twin.close()
        os._exit(0)
    go_on.set()
    say(os.waitpid(child, 0)[1])


@program
def one_rank(run: str) -> None:
    """Record three numbers as the rank that the environment names."""
    rank = int(os.environ.get("RANK", "0"))
    try:
        with record(range(10 * rank, 10 * rank + 3), run, ids=int) as numbers:
            for _ in numbers:
                pass
            say("recorded")
            sys.stdin.read()
    except DetloaderError as error:
        say(type(error).__name__, error)


@program
def starving(run: str, limit: str, count: str) -> None:
    """Record with files limited to so many bytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    try:
        delivered = list(record(range(int(count)), run, ids=int))
    except DetloaderError as error:
        say(type(error).__name__, error)
        return
    say(delivered == list(range(int(count))))


@program
def starving_writer(run: str, limit: str) -> None:
    """Append until the disk is full, and once more when there is room again."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = RankWriter(run, declared=Declared(), environment=Environment())
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), most))
    try:
        while True:
            rows = np.arange(writer.rows, writer.rows + 100)
            writer.append(pa.table({"record": rows}))
    except OSError:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        writer.append(pa.table({"record": [-1]}))
    except DetloaderError:
        say(writer.rows)
    os._exit(0)


@program
def without_permission(folder: str) -> None:
    """Record below a folder that this user cannot write."""
    # The interpreter's own files may be out of that user's reach: what it needs is loaded first.
    with tempfile.TemporaryDirectory() as elsewhere:
        record(range(3), f"{elsewhere}/run").close()
    if os.geteuid() == 0:
        os.setuid(65_534)
    try:
        record(range(3), f"{folder}/run")
    except DetloaderError as error:
        say(type(error).__name__, error)


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
