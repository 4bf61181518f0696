"""Recordings on disks that fill up or fail.

`python -m tests.support.disks PROGRAM RUN …` prints what the loop saw, as JSON.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from detloader import record, to_grain, to_tf_dataset, to_torch_loader
from detloader.errors import RunError
from tests.support.plain_loaders import IN_PROCESS

__all__ = ["PROGRAMS", "small_disk"]

PROGRAMS: dict[str, Callable[..., Any]] = {}


@contextlib.contextmanager
def small_disk(place: Path, size: int) -> Iterator[list[str]]:
    """Make a disk of so many bytes at a place, where this user may; give how to start a program.

    Where he may not, each of the program's files is limited to so many bytes instead.
    """
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode:
        yield ["prlimit", f"--fsize={size}", sys.executable]
        return
    try:
        yield [sys.executable]
    finally:
        subprocess.run(["umount", str(place)], check=True)


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[function.__name__] = function
    return function


@program
def filling(run: str, count: str) -> bool:
    """Deliver so many numbers, in bursts that the recorder writes one after the other."""
    delivered = []
    with record(range(int(count)), run, ids=int) as numbers:
        for number in numbers:
            delivered.append(number)
            if number % 2000 == 0:
                time.sleep(0.3)
    return delivered == list(range(int(count)))


@program
def failing(run: str) -> bool:
    """Deliver a hundred numbers on a disk that takes nothing for certain any more."""
    with record(range(100), run, ids=int) as numbers:
        vars(os)["fsync"] = cannot_sync
        return list(numbers) == list(range(100))


@program
def failing_loudly(run: str) -> str:
    """Do the same, and want to know it."""
    numbers = record(range(100), run, ids=int, on_loss="raise")
    vars(os)["fsync"] = cannot_sync
    assert list(numbers) == list(range(100))
    try:
        numbers.close()
    except RunError as error:
        return str(error)
    return "nothing was raised"


def cannot_sync(_: int) -> NoReturn:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@program
def protected(run: str) -> bool:
    """Deliver a hundred numbers into a folder that is made read-only meanwhile."""
    # The interpreter's own files may be out of that user's reach: they are loaded first.
    with (
        tempfile.TemporaryDirectory() as elsewhere,
        record(range(3), f"{elsewhere}/run", ids=int) as numbers,
    ):
        list(numbers)
    if os.geteuid() == 0:
        os.setuid(65_534)
    folder = Path(run, "main", "rank-00000")
    with record(range(100), run, ids=int) as numbers:
        steps = iter(numbers)
        first = next(steps)
        while not (folder / "journal.arrows").exists():
            time.sleep(0.01)
        folder.chmod(0o555)
        return [first, *steps] == list(range(100))


@program
def removed(run: str) -> bool:
    """Deliver a hundred numbers into a folder that is removed meanwhile."""
    with record(range(100), run, ids=int) as numbers:
        shutil.rmtree(run)
        return list(numbers) == list(range(100))


@program
def raising(folder: str) -> dict[str, str]:
    """Iterate each kind of loader until the recorder says that the disk is full."""
    made = {make.__name__: make(Path(folder)) for make in IN_PROCESS}
    made["to_grain"] = to_grain([1.0, 2.0], num_epochs=None)
    made |= frameworks()
    return {name: told(loader, f"{folder}/{name}") for name, loader in made.items()}


def frameworks() -> dict[str, Any]:
    import tensorflow as tf
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    tensors = TensorDataset(torch.arange(6))
    return {
        "torch": DataLoader(tensors, batch_size=2),
        "tf_data": tf.data.Dataset.range(6).batch(2),
        "to_torch_loader": to_torch_loader(to_grain([1.0, 2.0])),
        "to_tf_dataset": to_tf_dataset(to_grain([1.0, 2.0]), tf.TensorSpec((), tf.float64)),
    }


def told(loader: Any, run: str) -> str:
    twin = record(loader, run, on_loss="raise")
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, most))
    try:
        for _ in itertools.count():
            for _ in twin:
                time.sleep(0.01)
    except Exception as error:  # noqa: BLE001  # TensorFlow has errors of its own
        return str(error)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        with contextlib.suppress(RunError):
            twin.close()
    return "nothing was raised"


if __name__ == "__main__":
    answer = PROGRAMS[sys.argv[1]](*sys.argv[2:])
    sys.stdout.write(json.dumps(answer) + "\n")
