"""Loaders that follow exactly one condition, or two together; `mended=True` follows none.

A replay imports and calls them in processes of its own.
"""

from __future__ import annotations

import locale
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["FOLLOWS", "HANGS"]

SIZE = 12
HANGS = Path("hangs")
"""Is there when a factory hangs."""


def order(*follows: object) -> list[int]:
    """Return an order of the records that is a function of these values."""
    seed = [ord(letter) for letter in repr(follows)]
    return [int(record) for record in np.random.default_rng(seed).permutation(SIZE)]


class Stateful:
    """A loader whose iterator has a state; one that forgets begins again at a wrong place."""

    def __init__(self, *, forgets: int) -> None:
        self._next = 0
        self._forgets = forgets

    def __iter__(self) -> Stateful:
        return self

    def __next__(self) -> int:
        if self._next >= SIZE:
            raise StopIteration
        self._next += 1
        return self._next - 1

    def get_state(self) -> dict[str, int]:
        return {"next": self._next}

    def set_state(self, state: dict[str, int]) -> None:
        self._next = state["next"] - self._forgets


def workers(num_workers: int = 0, *, mended: bool = False) -> list[int]:
    return order(0 if mended else num_workers)


def threads(num_threads: int = 2, *, mended: bool = False) -> list[int]:
    return order(0 if mended else num_threads)


def start_method(start_method: str = "fork", *, mended: bool = False) -> list[int]:
    return order(0 if mended else start_method)


def default_start_method(*, mended: bool = False) -> list[int]:
    return order(0 if mended else multiprocessing.get_start_method())


def stream_mode(stream_mode: str = "global", *, mended: bool = False) -> list[int]:
    """Deliver in another order where each worker has a finite part, and lose a record, too."""
    if stream_mode == "global":
        return order()
    return order(stream_mode) if mended else order(stream_mode)[1:]


def deterministic(*, deterministic: bool = True, mended: bool = False) -> list[int]:
    return order() if mended or deterministic else order(deterministic)


def prefetch(prefetch: int = 2, *, mended: bool = False) -> list[int]:
    return order(0 if mended else prefetch)


def batch_size(batch_size: int = 3, *, mended: bool = False) -> list[Any]:
    records = np.array(order(0 if mended else batch_size))
    return [records[at : at + batch_size] for at in range(0, SIZE, batch_size)]


def seed(seed: int = 0, *, mended: bool = False) -> list[int]:
    """Ignore the seed, where it is not mended."""
    return order(seed if mended else 0)


def resume_at(*, mended: bool = False) -> Stateful:
    return Stateful(forgets=0 if mended else 1)


def world_size(rank: int = 0, world_size: int = 1, *, mended: bool = False) -> list[int]:
    """Give every rank all records, where it is not mended."""
    return order()[rank::world_size] if mended else order()


def hash_seed(*, mended: bool = False) -> list[int]:
    return order(0 if mended else hash("a text"))


def file_order(*, mended: bool = False) -> list[str]:
    names = [entry.name for entry in Path("files").iterdir()]
    return sorted(names) if mended else names


def cwd(*, mended: bool = False) -> list[int]:
    """Follow the name of the folder; what lies in it is read in any case."""
    assert Path("files").is_dir()
    return order(0 if mended else str(Path.cwd()))


def language(*, mended: bool = False) -> list[int]:
    return order(0 if mended else locale.setlocale(locale.LC_ALL, ""))


def timezone(*, mended: bool = False) -> list[int]:
    return order(0 if mended else time.localtime(0).tm_hour)


def cpu_count(*, mended: bool = False) -> list[int]:
    return order(0 if mended else os.cpu_count())


def pair(num_workers: int = 0, prefetch: int = 2, *, mended: bool = False) -> list[int]:
    """Follow workers and the hash seed together, and neither alone."""
    both = num_workers > 0 and hash("a text") != HASH_OF_ZERO
    return order(both and not mended)


def sound(
    *,
    num_workers: int = 0,
    num_threads: int = 2,
    prefetch: int = 2,
    start_method: str = "fork",
    deterministic: bool = True,
) -> list[int]:
    """Follow nothing that may be varied, though all is read that the others follow."""
    conditions = (hash("a text"), [*Path("files").iterdir()], Path.cwd(), time.localtime(0).tm_hour)
    assert None not in (*conditions, os.cpu_count(), locale.setlocale(locale.LC_ALL, ""))
    return order()


HASH_OF_ZERO = 899791465164311052
"""The hash of "a text" under hash seed 0, on 64-bit machines."""


def noisy() -> list[int]:
    return order(time.time_ns())


def noisy_the_third_time(prefetch: int = 2) -> list[int]:
    """Deliver the same the first two times; a file counts."""
    with Path("counter").open("a") as counter:
        counter.write("x")
    return order(Path("counter").stat().st_size > 2 and time.time_ns())


def nothing() -> list[int]:
    return []


def now_and_then(prefetch: int = 2, *, otherwise: tuple[int, ...] = ()) -> list[int]:
    """Deliver something else in those calls that are named, by their numbers from 0."""
    with Path("counter").open("a") as counter:
        counter.write("x")
    return order(Path("counter").stat().st_size - 1 in otherwise)


def racing(num_workers: int = 0) -> list[int]:
    """Deliver another order each time, where there are workers."""
    return order(num_workers and time.time_ns())


def counted(num_workers: int = 0) -> list[int]:
    """Write down each call."""
    with Path("counter").open("a") as counter:
        counter.write("x")
    return order()


def endless() -> Iterator[dict[str, int]]:
    number = 0
    while True:
        yield {"id": number, "value": number**2}
        number += 1


def shrinkable(num_workers: int = 0, size: int = 40) -> list[int]:
    """Deliver the records from number 5 on backwards, where there are three workers or more."""
    records = list(range(size))
    return records if num_workers < 3 else records[:5] + records[5:][::-1]


def dies_with_workers(num_workers: int = 0) -> Any:
    return dies({1: "hangs", 2: "vanishes"}.get(num_workers, "not"))


def leaves_a_process(*, leave: bool = True) -> list[int]:
    if leave:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with Path("left").open("a") as left:
            left.write(f"{child.pid}\n")
        child.returncode = 0  # nobody waits for it
    return order()


def dies(how: str = "not") -> Any:
    match how:
        case "raises":
            raise OSError("no disk")
        case "exits":
            sys.exit(3)
        case "vanishes":
            sys.stdout.write("the last word\n")
            sys.stdout.flush()
            os._exit(7)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hangs":
            HANGS.touch()
            time.sleep(600)
        case "none":
            return None
        case "number":
            return 7
        case "loses":
            return [1, object()]
        case "later":
            return failing_later()
    return order()


def prints(size: int = 1) -> Iterator[int]:
    for number in range(3):
        sys.stdout.write("x" * (size // 3))
        sys.stderr.write("y" * (size // 3))
        yield number


def failing_later() -> Iterator[int]:
    yield 1
    raise ValueError("a bad record")


FOLLOWS = {
    "workers": "workers",
    "threads": "threads",
    "start_method": "start_method",
    "stream_mode": "stream_mode",
    "deterministic": "deterministic",
    "prefetch": "prefetch",
    "batch_size": "batch_size",
    "seed": "seed",
    "resume_at": "resume_at",
    "world_size": "world_size",
    "hash_seed": "hash_seed",
    "file_order": "file_order",
    "cwd": "cwd",
    "locale": "language",
    "timezone": "timezone",
    "cpu_count": "cpu_count",
}
"""The factory that follows each axis."""
