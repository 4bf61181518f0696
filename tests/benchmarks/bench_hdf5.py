"""Time per frame of the HDF5 Dataloader, beside loops that read the same files.

    python -m tests.benchmarks.bench_hdf5
    python -m tests.benchmarks.bench_hdf5 --zea OLD/bin/python --zea NEW/bin/python

Two sets of twenty files: 100 frames of 256 x 256 float32, resized to 128 x 128 in batches
of 16; and 1,000 frames of 32 x 32 in batches of 32. Each pass takes as many frames in
shuffled order. The competitors: a bare loop over h5py, with its files open; the same
through Grain, with one read thread and a buffer of two; ours, with default threads and
reading ahead; ours, recorded; and the published package, a fifth of an epoch, each version
in a Python of its own. All take turns, so that other work on the machine falls on all, and
the ratios to the bare loop are those of the rounds. Then the time from the call of
Dataloader to the first batch, and the most memory that a process holds: with all imported,
and over one epoch.

With --chunked the files are stored frame by frame, with --compressed also by gzip; else, as
h5py does it, each dataset in one piece. Nothing is kept on disk.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from tests.support.memory import most_megabytes

FILES = 20
ROUNDS = 9
SHARE = 5
"""The published loader reads one in so many batches of an epoch: it takes its time."""


class Task(NamedTuple):
    """Files to read, and what to make of them."""

    frames: int
    side: int
    size: int | None
    batch: int

    @property
    def total(self) -> int:
        return FILES * self.frames

    @property
    def image_size(self) -> tuple[int, int] | None:
        return None if self.size is None else (self.size, self.size)


TASKS = (Task(100, 256, 128, 16), Task(1000, 32, None, 32))

Pass = Callable[[], int]
"""Reads some frames, and returns how many."""


def write(folder: Path, task: Task, storage: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    chunks = {"chunks": (1, task.side, task.side), **storage} if storage else {}
    for number in range(FILES):
        with h5py.File(folder / f"f_{number}.hdf5", "w") as file:
            frames = rng.random((task.frames, task.side, task.side), np.float32)
            file.create_dataset("data/image", data=frames, **chunks)


class Frames:
    """The frames of all files, one by one, as a source of Grain."""

    def __init__(self, folder: Path, task: Task) -> None:
        self.task = task
        self.datasets = [
            h5py.File(folder / f"f_{number}.hdf5", "r")["data/image"] for number in range(FILES)
        ]

    def __len__(self) -> int:
        return self.task.total

    def __getitem__(self, index: int) -> Any:
        file, frame = divmod(int(index), self.task.frames)
        image = self.datasets[file][frame]
        if self.task.image_size is not None:
            import cv2

            image = cv2.resize(image, self.task.image_size)
        return image[..., np.newaxis]


def bare(frames: Frames) -> Pass:
    task = frames.task
    order = np.random.default_rng(0).permutation(task.total)

    def run() -> int:
        for start in range(0, task.total, task.batch):
            np.stack([frames[index] for index in order[start : start + task.batch]])
        return task.total

    return run


def through_grain(frames: Frames) -> Pass:
    import grain

    options = grain.ReadOptions(num_threads=1, prefetch_buffer_size=2)
    dataset = grain.MapDataset.source(frames).shuffle(seed=0).batch(frames.task.batch)

    return lambda: count(dataset.to_iter_dataset(options))


def ours(folder: Path, task: Task) -> Any:
    from detloader.hdf5.loader import Dataloader

    return Dataloader(
        folder,
        batch_size=task.batch,
        seed=0,
        image_size=task.image_size,
        convert_to_tensor=False,
    )


def count(batches: Iterable[Any]) -> int:
    return sum(len(batch) for batch in batches)


def published(folder: Path, task: Task) -> Any:
    """Make the published loader; its versions do not take the same arguments."""
    from zea.data.dataloader import Dataloader  # type: ignore[import-not-found]

    arguments: dict[str, Any] = {
        "key": "data/image",
        "batch_size": task.batch,
        "seed": 0,
        "image_size": task.image_size,
        "convert_to_tensor": False,
        "validate": False,
    }
    version = tuple(map(int, importlib.metadata.version("zea").split(".")[:3]))
    if version >= (0, 1, 6):
        # A frame has no axis of its own there unless it is asked for.
        arguments["n_frames"] = 1
    return Dataloader(str(folder), **arguments)


def serve(folder: Path, task: Task) -> None:
    """Read a share of an epoch with the published loader for each line that comes."""
    with contextlib.redirect_stdout(sys.stderr):
        loader = published(folder, task)
    for _ in sys.stdin:
        with contextlib.redirect_stdout(sys.stderr):
            frames = count(itertools.islice(loader, len(loader) // SHARE))
        report(str(frames))


@contextlib.contextmanager
def serving(python: str, folder: Path, task: Task) -> Iterator[Pass]:
    """Give a pass of the published loader, in a process of the Python that has it."""
    number = str(TASKS.index(task))
    environment = {
        **os.environ,
        "KERAS_BACKEND": "jax",
        "ZEA_DISABLE_CACHE": "1",
        "ZEA_FIND_H5_SHAPES_PARALLEL": "0",
    }
    with subprocess.Popen(
        [python, "-m", __spec__.name, "--serve", str(folder), number],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, told = process.stdin, process.stdout

        def run() -> int:
            asked.write("\n")
            asked.flush()
            return int(told.readline())

        yield run
        asked.close()


def microseconds(run: Pass) -> float:
    start = time.perf_counter()
    frames = run()
    return (time.perf_counter() - start) / frames * 1e6


def version_of(python: str) -> str:
    program = "import importlib.metadata as m; print(m.version('zea'))"
    done = subprocess.run([python, "-c", program], capture_output=True, check=True, text=True)
    return f"zea {done.stdout.strip()}"


def compare(folder: Path, task: Task, pythons: list[str]) -> None:
    """Print a line for each competitor."""
    from detloader import record

    frames = Frames(folder, task)
    loader = ours(folder, task)
    with contextlib.ExitStack() as stack:
        run = stack.enter_context(tempfile.TemporaryDirectory())
        recorded = stack.enter_context(record(ours(folder, task), f"{run}/run"))
        passes: dict[str, Pass] = {
            "bare h5py loop": bare(frames),
            "h5py + Grain": through_grain(frames),
            "ours": lambda: count(loader),
            "ours, recorded": lambda: count(recorded),
        }
        for python in pythons:
            passes[version_of(python)] = stack.enter_context(serving(python, folder, task))
        for each in passes.values():
            each()
        rounds = [
            {name: microseconds(each) for name, each in passes.items()} for _ in range(ROUNDS)
        ]
    report(f"\n{task.side} x {task.side}, {task.total:,} frames, batches of {task.batch}")
    report(f"{'':<16} {'us a frame':>10} {'least':>8} {'to bare':>8}   quartiles")
    for name in passes:
        times = sorted(each[name] for each in rounds)
        ratios = sorted(each[name] / each["bare h5py loop"] for each in rounds)
        quarter = len(ratios) // 4
        report(
            f"{name:<16} {statistics.median(times):>10.1f} {times[0]:>8.1f} "
            f"{statistics.median(ratios):>8.2f}   "
            f"{ratios[quarter]:.2f} to {ratios[-1 - quarter]:.2f}"
        )


def first_batch(folder: Path, task: Task) -> None:
    """Print how long a new loader takes to its first batch, all modules being imported."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        steps = iter(ours(folder, task))
        next(steps)
        times.append((time.perf_counter() - start) * 1e3)
        steps.close()
    report(
        f"first batch after {statistics.median(times):.1f} ms, {min(times):.1f} to {max(times):.1f}"
    )


def memory(folder: Path, task: Task) -> None:
    """Print the most memory that this process held, before and after an epoch."""
    steps = iter(ours(folder, task))
    before = most_megabytes()
    for _ in steps:
        pass
    report(f"memory: {most_megabytes():.0f} MB at most, {before:.0f} MB before the first batch")


def report(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the script's output


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--zea", metavar="PYTHON", action="append", default=[])
    parser.add_argument("--chunked", action="store_true")
    parser.add_argument("--compressed", action="store_true")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    asked = arguments()
    for action, job in ((asked.serve, serve), (asked.memory, memory)):
        if action is not None:
            job(Path(action[0]), TASKS[int(action[1])])
            return
    storage: dict[str, Any] = {"compression": "gzip"} if asked.compressed else {}
    if asked.chunked:
        storage.setdefault("shuffle", False)
    for number, task in enumerate(TASKS):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, task, storage)
            compare(folder, task, asked.zea)
            first_batch(folder, task)
            subprocess.run(
                [sys.executable, "-m", __spec__.name, "--memory", name, str(number)], check=True
            )


if __name__ == "__main__":
    main()
