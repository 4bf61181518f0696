"""Records per second of the streams for TensorFlow and Torch, beside plain loaders of each.

    python tests/benchmarks/bench_streams.py [ROUNDS]

The shape is the published one: 1,025 examples of 4 x 5 floats and a label, read from a
memory-mapped file, in batches of 32, with 4 workers. Plain are
`tf.data.Dataset.from_generator` with `batch` and `prefetch(1)`, and Torch's `DataLoader`.

Loaders without worker processes are timed by the epoch, from `iter` to its end, and so is
Torch's with four workers that it starts anew each time, its default. Those with workers are
timed on one stream without end, 33 batches at a time, for a training job starts
its workers once: ours with `num_epochs=None`, Torch's with `persistent_workers=True`. What
the start costs stands apart.

All take turns within a round. A figure is the median of the rounds, a ratio the median of
the rounds' own ratios, with its quartiles: how many times as fast as the plain loader. The
first epoch, or 33 batches, of each is not timed. Recorded runs go to a folder that is removed
at the end; sealing is not timed.
"""

from __future__ import annotations

import collections
import functools
import itertools
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np

EXAMPLES = 1025
BATCH = 32
WORKERS = 4

PLAIN_TF = "plain tf.data"
PLAIN_TORCH = "plain torch"
PLAIN_WORKERS = "plain torch, 4 workers"
PLAIN_ANEW = "plain torch, 4 anew"


class Features:
    """The examples in a file; each process that reads them maps it for itself."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._mapped: Any = None

    def __len__(self) -> int:
        return EXAMPLES

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if self._mapped is None:
            self._mapped = np.load(self._path, mmap_mode="r")
        # As the others do: the example, and not a view of the file.
        return np.asarray(self._mapped[index]), np.float32(index % 2)

    def __getstate__(self) -> dict[str, Any]:
        return {"_path": self._path, "_mapped": None}


def read(features: Features, ids: Iterable[int]) -> Iterator[tuple[Any, Any]]:
    for index in ids:
        yield features[index]


def tensorflow_loaders(features: Features, runs: Path) -> dict[str, Iterable[Any]]:
    import tensorflow as tf

    from detloader import create_interleaved_dataset_from_generator, record, to_grain, to_tf_dataset

    example = tf.TensorSpec((4, 5), tf.float32), tf.TensorSpec((), tf.float32)
    batch = tf.TensorSpec((None, 4, 5), tf.float32), tf.TensorSpec((None,), tf.float32)
    reader = functools.partial(read, features)

    def finished(dataset: Any) -> Any:
        options = tf.data.Options()
        options.threading.private_threadpool_size = 2
        return dataset.batch(BATCH).prefetch(1).with_options(options)

    def interleaved(mode: str) -> Any:
        return finished(
            create_interleaved_dataset_from_generator(
                reader, iter, range(EXAMPLES), example, num_workers=WORKERS, stream_mode=mode
            )
        )

    def grain(**options: Any) -> Any:
        stream = to_grain(features, batch_size=BATCH, **options)
        return to_tf_dataset(stream, batch).prefetch(1)

    makers: dict[str, Callable[[], Any]] = {
        "tf global": lambda: interleaved("global"),
        "tf finite": lambda: interleaved("finite"),
        "tf Grain": grain,
        "tf Grain, 4 workers": lambda: grain(workers=WORKERS, num_epochs=None),
    }
    plain = tf.data.Dataset.from_generator(
        lambda: reader(range(EXAMPLES)), output_signature=example
    )
    return {PLAIN_TF: finished(plain)} | with_twins(makers, record, runs)


def torch_loaders(features: Any, runs: Path) -> dict[str, Iterable[Any]]:
    from torch.utils.data import DataLoader

    from detloader import record, to_grain, to_torch_loader

    def grain(**options: Any) -> Any:
        return to_torch_loader(to_grain(features, batch_size=BATCH, **options))

    makers: dict[str, Callable[[], Any]] = {
        "torch Grain": grain,
        "torch Grain, 4 workers": lambda: grain(workers=WORKERS, num_epochs=None),
    }
    return {
        PLAIN_TORCH: DataLoader(features, batch_size=BATCH),
        PLAIN_ANEW: DataLoader(features, batch_size=BATCH, num_workers=WORKERS),
        PLAIN_WORKERS: DataLoader(
            features, batch_size=BATCH, num_workers=WORKERS, persistent_workers=True
        ),
    } | with_twins(makers, record, runs)


def with_twins(
    makers: dict[str, Callable[[], Any]], record: Callable[..., Any], runs: Path
) -> dict[str, Iterable[Any]]:
    loaders: dict[str, Iterable[Any]] = {}
    for name, make in makers.items():
        loaders[name] = make()
        loaders[f"{name}, recorded"] = record(make(), runs / name)
    return loaders


def epoch(loader: Iterable[Any]) -> None:
    rows = sum(len(labels) for _, labels in loader)
    assert rows == EXAMPLES


def without_end(loader: Iterable[Any]) -> Iterator[Any]:
    while True:
        yield from loader


def step_of(name: str, loader: Iterable[Any]) -> Callable[[], None]:
    """Return what is timed: an epoch, or as many batches of a stream without end."""
    if "workers" not in name:
        return functools.partial(epoch, loader)
    batches = without_end(loader)
    number = -(-EXAMPLES // BATCH)
    return lambda: collections.deque(itertools.islice(batches, number), maxlen=0)  # type: ignore[return-value]


def seconds(step: Callable[[], None]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def report(taken: dict[str, list[float]], starts: dict[str, float]) -> None:
    yardsticks = [PLAIN_TF, PLAIN_TORCH, PLAIN_ANEW, PLAIN_WORKERS]
    say(f"{'':<34}{'records/s':>10}{'start':>9}" + "".join(f"{name:>26}" for name in yardsticks))
    for name, times in taken.items():
        line = f"{name:<34}{EXAMPLES / statistics.median(times):>10,.0f}{starts[name]:>8.2f}s"
        for yardstick in yardsticks:
            ratios = [other / own for own, other in zip(times, taken[yardstick], strict=True)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            line += f"{middle:>10.2f} ({low:.2f} to {high:.2f})".rjust(26)
        say(line)


def say(line: str) -> None:
    print(line)  # noqa: T201 - the script's output


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    warnings.filterwarnings("ignore", message="This DataLoader will create 4 worker processes")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/features.npy"
        values = np.arange(EXAMPLES * 20, dtype=np.float32).reshape(EXAMPLES, 4, 5) / 1000
        np.save(path, values)
        features = Features(path)
        runs = Path(folder)
        loaders = torch_loaders(features, runs) | tensorflow_loaders(features, runs)
        steps = {name: step_of(name, loader) for name, loader in loaders.items()}
        starts = {name: seconds(step) for name, step in steps.items()}
        taken: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(rounds):
            for name, step in steps.items():
                taken[name].append(seconds(step))
        report(taken, starts)
        for name, loader in loaders.items():
            if name.endswith("recorded"):
                loader.close()  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
