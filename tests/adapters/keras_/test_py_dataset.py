"""A `PyDataset` of Keras in a loop of the user's own."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch

from detloader import open_run, record
from detloader.errors import RunError


class Batches(keras.utils.PyDataset):  # type: ignore[misc]  # Keras has no types
    """Three batches of five samples, shuffled anew after each epoch, that counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.order = np.arange(15)

    def __len__(self) -> int:
        self.calls["len"] += 1
        return 3

    def __getitem__(self, index: int) -> Any:
        self.calls["getitem"] += 1
        if index >= 3:
            raise IndexError(index)
        rows = self.order[5 * index : 5 * index + 5]
        return {"id": rows, "x": np.ones((5, 2)) * rows[:, None]}

    def on_epoch_end(self) -> str:
        self.calls["on_epoch_end"] += 1
        self.order = np.roll(self.order, 1)
        return "told"


def column(run: Path, name: str) -> list[Any]:
    return open_run(run).streams["main"].table([name])[name].to_pylist()


def labels(run: Path) -> list[tuple[int, int]]:
    """Return (epoch, batch) of each batch, in the order in which they came."""
    pairs = zip(column(run, "epoch"), column(run, "batch"), strict=True)
    return [pair for pair, _ in itertools.groupby(pairs)]


def by_index(data: Any) -> list[Any]:
    taken = []
    for _ in range(2):
        taken += [data[index] for index in range(len(data))]
        assert data.on_epoch_end() == "told"
    return taken


def by_iterating(data: Any) -> list[Any]:
    taken = [*data]
    data.on_epoch_end()
    return [*taken, *data]


def by_both(data: Any) -> list[Any]:
    return [data[2], data[0], *data, data[1], data[1]]


@pytest.mark.parametrize("loop", [by_index, by_iterating, by_both])
def test_a_loop_takes_the_same_by_the_same_calls(
    loop: Callable[[Any], list[Any]], tmp_path: Path
) -> None:
    bare, recorded = Batches(), Batches()
    without = loop(bare)
    with record(recorded, tmp_path / "run", ids="id") as twin:
        taken = loop(twin)

    assert [batch["id"].tolist() for batch in taken] == [batch["id"].tolist() for batch in without]
    assert recorded.calls == bare.calls
    ids = sorted(id_ for batch in taken for id_ in batch["id"].tolist())
    assert sorted(column(tmp_path / "run", "record")) == ids
    assert open_run(tmp_path / "run").complete


def test_an_index_is_the_label_of_its_batch_and_one_asked_for_again_begins_an_epoch(
    tmp_path: Path,
) -> None:
    with record(Batches(), tmp_path / "run", ids="id") as twin:
        assert len([twin[index] for index in (2, np.int64(0), 2)]) == 3
        twin.on_epoch_end()
        assert len([twin[1], *twin, twin[0]]) == 5

    assert labels(tmp_path / "run") == [
        (0, 2), (0, 0), (1, 2), (2, 1), (3, 0), (3, 1), (3, 2), (4, 0),
    ]  # fmt: skip


def test_threads_read_one_epoch(tmp_path: Path) -> None:
    with record(Batches(), tmp_path / "run", ids="id") as twin, ThreadPoolExecutor(3) as threads:
        assert len([*threads.map(twin.__getitem__, range(3))]) == 3

    assert sorted(labels(tmp_path / "run")) == [(0, 0), (0, 1), (0, 2)]


def test_an_index_behind_the_end_breaks_nothing_off_and_any_other_error_does(
    tmp_path: Path,
) -> None:
    with record(Batches(), tmp_path / "run", ids="id") as twin, pytest.raises(IndexError):
        deque(map(twin.__getitem__, itertools.count()))
    with record(Broken(), tmp_path / "broken") as twin, pytest.raises(ZeroDivisionError):
        twin[0]

    assert open_run(tmp_path / "run").complete
    assert not open_run(tmp_path / "broken").complete


class Broken(keras.utils.PyDataset):  # type: ignore[misc]  # Keras has no types
    """Raises at each index."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Any:
        return 1 / 0


class Given(keras.utils.PyDataset):  # type: ignore[misc]  # Keras has no types
    """One element."""

    def __init__(self, element: Any) -> None:
        super().__init__()
        self.element = element

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: Any) -> Any:
        return self.element


def test_what_is_asked_for_by_no_number_is_lost_and_not_the_loop(tmp_path: Path) -> None:
    with record(Given(np.ones(2)), tmp_path / "run") as twin:
        assert twin[0:1].tolist() == [1, 1]
    with pytest.raises(RunError, match="index of a batch is an integer"):
        record(Given(np.ones(2)), tmp_path / "raising", on_loss="raise")["a"]

    assert open_run(tmp_path / "run").streams["main"].lost == 1


@pytest.mark.parametrize(
    ("element", "rows"),
    [
        ((np.ones((5, 2)), np.ones(5)), 5),
        ((np.ones((5, 2)), {"a": np.ones(5), "b": np.full(5, "t")}), 5),
        ((torch.ones(5, 2, requires_grad=True), torch.ones(5, dtype=torch.bfloat16)), 5),
        ((tf.ones((5, 2)), tf.constant(["a"] * 5)), 5),
        (np.ones((5, 2)), 5),
        ((np.ones((5, 2)), np.float32(1)), 1),
        ((np.ones((5, 2)), np.ones(4)), 1),
        ({"x": np.ones((5, 2)), "epoch": 3}, 1),
        ("text", 1),
    ],
)
def test_an_element_is_a_batch_where_its_rows_show_it(
    element: Any, rows: int, tmp_path: Path
) -> None:
    for batched in (None, False):
        with record(Given(element), tmp_path / f"{batched}", batched=batched) as twin:
            assert next(iter(twin)) is element
    runs = [open_run(tmp_path / run) for run in ("None", "False")]

    assert [run.rows for run in runs] == [rows, 1]
    assert all(run.complete for run in runs)
