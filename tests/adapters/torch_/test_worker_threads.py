"""Workers that are threads of the loop's process, as monai's `ThreadDataLoader` can make them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torch.utils.data._utils import worker

from detloader import open_run, record, record_all
from detloader.audits import check
from detloader.manifest.content import sample_digest

SIZE, BATCH, WORKERS = 16, 4, 2


@pytest.fixture(autouse=True)
def _no_worker() -> Iterator[None]:
    """Let this process be none of Torch's workers again, which its threads have made it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "_worker_info", None)
        yield


class Thread(threading.Thread):
    """A thread with what Torch asks of a process."""

    @property
    def pid(self) -> int:
        return id(self)


class Queue(queue.Queue[Any]):
    def close(self) -> None:
        pass

    def cancel_join_thread(self) -> None:
        pass


class ThreadContext(SpawnContext):
    Process: ClassVar[Any] = Thread
    Queue: ClassVar[Any] = Queue


class Together(Dataset[Any]):
    """Lets no worker read a sample before each of them reads one."""

    def __init__(self) -> None:
        self.meeting = threading.Barrier(WORKERS, timeout=60)

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        self.meeting.wait()
        torch.rand(1)
        return np.full(3, index)


class Halves(IterableDataset[Any]):
    """Each pass reads one half of the records, whichever worker makes it."""

    def __init__(self) -> None:
        self.parts = iter(np.arange(SIZE).reshape(WORKERS, -1))
        self.lock = threading.Lock()
        self.meeting = threading.Barrier(WORKERS, timeout=60)

    def __iter__(self) -> Iterator[Any]:
        with self.lock:
            part = next(self.parts)
        for number in part:
            self.meeting.wait()
            yield number


def threaded(dataset: Any, **options: Any) -> Any:
    return DataLoader(
        dataset,
        BATCH,
        num_workers=WORKERS,
        multiprocessing_context=ThreadContext(),
        **options,
    )


def as_lists(batches: Any) -> list[Any]:
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("collate", [None, torch.as_tensor], ids=["torch", "own"])
@pytest.mark.parametrize("epochs", [1, 2])
def test_threads_that_read_at_once_are_recorded_each_by_itself(
    epochs: int, collate: Any, tmp_path: Path
) -> None:
    options = {} if collate is None else {"collate_fn": lambda samples: collate(np.stack(samples))}
    bare = threaded(Together(), **options)
    expected = [as_lists(bare) for _ in range(epochs)]
    with record(threaded(Together(), **options), tmp_path / "run") as loader:
        given = [as_lists(loader) for _ in range(epochs)]
    rows = open_run(tmp_path / "run").streams["main"].table()

    assert given == expected
    assert rows["record"].to_pylist() == [*range(SIZE)] * epochs
    assert (
        rows["worker"].to_pylist() == [record // BATCH % WORKERS for record in range(SIZE)] * epochs
    )
    digests = [sample_digest(np.full(3, record)) for record in range(SIZE)]
    assert rows["content"].to_pylist() == digests * epochs


def test_what_threads_share_is_not_said_of_one(tmp_path: Path) -> None:
    with record_all(tmp_path / "run"):
        list(threaded(Together()))
    (stream,) = open_run(tmp_path / "run").streams.values()

    assert stream.declared.start_method == "thread"
    assert stream.declared.workers == WORKERS
    assert not {"draws", "draws_torch", "worker_seed"} & {*stream.columns}
    assert check(tmp_path / "run").findings == []


def test_each_thread_is_shown_the_data_set_of_the_user(tmp_path: Path) -> None:
    started: list[int] = []
    dataset = Together()

    def start(worker: int) -> None:
        started.append(worker)
        info = get_worker_info()
        assert info is not None
        assert info.dataset is dataset

    with record(threaded(dataset, worker_init_fn=start), tmp_path / "run") as loader:
        list(loader)

    assert sorted(started) == [*range(WORKERS)]


def test_iterables_are_read_in_threads(tmp_path: Path) -> None:
    with record(threaded(Halves()), tmp_path / "run", ids=int) as loader:
        given = [number for batch in loader for number in batch.tolist()]
    rows = open_run(tmp_path / "run").streams["main"].table()

    assert sorted(given) == [*range(SIZE)]
    assert rows["record"].to_pylist() == given
