"""A loader that breaks off, without a `with` block: its run is a part, whatever reads it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detloader import open_run, record, to_grain
from tests.support.late_closing import LATE_CLOSING, collect
from tests.support.plain_loaders import write_shard

__all__ = ["collect"]

pytestmark = LATE_CLOSING


class BadFileError(Exception):
    """What the loaders here raise, at their fourth record."""


def read(number: Any) -> Any:
    if int(number) == 3:
        raise BadFileError(number)
    return number


class Bad:
    """Numbers, of which one cannot be read."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        if index >= len(self):
            raise IndexError
        return read(index)


class Killed(Bad):
    """Numbers, of which one ends the process that reads it."""

    def __getitem__(self, index: int) -> Any:
        if index == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


def an_iterator(_: Path) -> Iterator[Any]:
    return map(read, range(6))


def torch_loader(_: Path) -> Any:
    from torch.utils.data import DataLoader

    return DataLoader(Bad(), batch_size=2)  # type: ignore[arg-type]  # as Torch in truth allows


def torch_workers(_: Path) -> Any:
    from torch.utils.data import DataLoader

    return DataLoader(Bad(), batch_size=2, num_workers=1)  # type: ignore[arg-type]


def grain_dataset(_: Path) -> Any:
    import grain

    return grain.MapDataset.source(Bad())


def grain_loader(_: Path) -> Any:
    import grain

    sampler = grain.samplers.IndexSampler(6, num_epochs=1)
    return grain.DataLoader(data_source=Bad(), sampler=sampler, worker_count=0)


def grain_stream(_: Path) -> Any:
    return to_grain(Bad(), num_epochs=1)


def tensorflow(_: Path) -> Any:
    import tensorflow as tf

    return tf.data.Dataset.range(6).map(lambda n: tf.numpy_function(read, [n], tf.int64))


def hub_rows(_: Path) -> Any:
    import datasets

    def transform(rows: dict[str, Any]) -> dict[str, Any]:
        return {"n": [read(number) for number in rows["n"]]}

    return datasets.Dataset.from_dict({"n": list(range(6))}).with_transform(transform)


def hub_stream(_: Path) -> Any:
    import datasets

    rows = datasets.Dataset.from_dict({"n": list(range(6))}).to_iterable_dataset()
    return rows.map(lambda row: {"n": read(row["n"])})


def web_pipeline(folder: Path) -> Any:
    import webdataset

    shards = webdataset.WebDataset(str(write_shard(folder / "s.tar")), shardshuffle=False)
    return shards.map(lambda sample: (read(sample["__key__"][1:]), sample)[1])


def py_dataset(_: Path) -> Any:
    import keras

    class Batches(keras.utils.PyDataset):  # type: ignore[misc]  # Keras has no types
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            return np.full((2, 2), read(index)), np.zeros(2)

    return Batches()


LOADERS: list[Callable[[Path], Any]] = [
    an_iterator,
    lambda _: Bad(),
    torch_loader,
    torch_workers,
    grain_dataset,
    grain_loader,
    grain_stream,
    tensorflow,
    hub_rows,
    hub_stream,
    web_pipeline,
    py_dataset,
]


@pytest.mark.parametrize("make", LOADERS)
def test_a_loader_that_broke_off_leaves_a_part(make: Callable[[Path], Any], tmp_path: Path) -> None:
    with pytest.raises(Exception) as bare:  # noqa: PT011 - whatever the loader makes of it
        list(make(tmp_path))
    twin = record(make(tmp_path), tmp_path / "run")
    with pytest.raises(type(bare.value)):
        list(twin)
    twin.close()
    run = open_run(tmp_path / "run")

    assert run.rows >= 2
    assert run.streams["main"].lost == 0
    assert run.streams["main"].declared.complete is False
    assert not run.complete


def test_a_worker_that_was_killed_leaves_a_part(tmp_path: Path) -> None:
    from torch.utils.data import DataLoader

    # Not collated: the memory of a tensor would be asked for, and not had from the dead.
    loader: Any = DataLoader(Killed(), 2, num_workers=1, collate_fn=list)  # type: ignore[arg-type]
    twin = record(loader, tmp_path / "run")
    with pytest.raises(RuntimeError, match="DataLoader worker"):
        list(twin)
    twin.close()

    assert open_run(tmp_path / "run").streams["main"].declared.complete is False


class Once:
    """Numbers that can be read, but for the first time."""

    def __init__(self) -> None:
        self.readings = 0

    def __iter__(self) -> Iterator[int]:
        self.readings += 1
        return iter(Bad()) if self.readings == 1 else iter(range(6))


def test_an_iteration_that_ends_well_makes_nothing_whole(tmp_path: Path) -> None:
    twin = record(Once(), tmp_path / "run")
    with pytest.raises(BadFileError):
        list(twin)
    assert list(twin) == list(range(6))
    twin.close()

    assert open_run(tmp_path / "run").rows == 9
    assert not open_run(tmp_path / "run").complete


def test_an_error_of_the_loop_is_none_of_the_loader(tmp_path: Path) -> None:
    twin = record(range(6), tmp_path / "run")

    def loop() -> None:
        for _ in twin:
            raise BadFileError

    with pytest.raises(BadFileError):
        loop()
    twin.close()

    assert open_run(tmp_path / "run").complete


def test_a_program_that_a_loader_ended_leaves_a_part(tmp_path: Path) -> None:
    program = f"""
from detloader import record
from tests.record.test_broken_off import torch_loader
for batch in record(torch_loader(None), {str(tmp_path / "run")!r}):
    pass
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=250, check=False
    )

    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("BadFileError: 3")
    assert open_run(tmp_path / "run").rows == 2
    assert not open_run(tmp_path / "run").complete


ENDS = {
    "an error": ("raise OSError", True),
    "Ctrl-C": ("os.kill(os.getpid(), signal.SIGINT)", True),
    "a status": ("sys.exit(3)", False),
    "no further batch": ("break", False),
}
STATUS = {"an error": 1, "Ctrl-C": -signal.SIGINT, "a status": 3, "no further batch": 0}
WAYS = {
    "record": "loader = record([*range(12)], 'run')",
    "record_all": "from grain import MapDataset; loader = MapDataset.range(12); "
    "record_all('run').__enter__()",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ENDS)
def test_a_program_that_dies_of_an_error_leaves_a_part(end: str, way: str, tmp_path: Path) -> None:
    statement, dies = ENDS[end]
    program = f"""
        import os, signal, sys
        from detloader import record, record_all
        {WAYS[way]}
        for number, batch in enumerate(loader):
            if number == 2:
                {statement}
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=250,
    )
    (stream,) = open_run(tmp_path / "run").streams.values()

    assert stream.rows == 3
    assert (stream.declared.complete is False) is dies
    # A shell stops at an interrupt if what it ran died of it.
    assert done.returncode == STATUS[end]
