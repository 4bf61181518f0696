"""Elements of every shape, and workers that die."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import grain
import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf
import torch
from torch.utils.data import DataLoader

from detloader import audit, open_run, record
from detloader.findings import Verdict
from tests.support.plain_loaders import dying

ELEMENTS: dict[str, list[Any]] = {
    "dicts": [{"x": 1.5}, {"x": 2.5}],
    "tuples": [(np.ones(2), 1), (np.zeros(2), 2)],
    "nested": [{"a": {"b": [1, (2, 3)]}}, {"a": {"b": [4, (5, 6)]}}],
    "ragged": [np.ones(1), np.ones(3)],
    "strings": ["a", "ü\0"],
    "bytes": [b"", b"\0"],
    "none": [None, None],
    "empty": [{}, []],
    "mixed": [1, "one"],
}


def deliver(loader: Any, run: Path, **options: Any) -> Any:
    with record(loader, run, **options) as recorded:
        elements = list(recorded)
    return elements, open_run(run).streams["main"]


def contents_of(run: Path) -> list[Any]:
    return open_run(run).streams["main"].table()["content"].to_pylist()


@pytest.mark.parametrize("name", ELEMENTS)
def test_an_iterable_may_yield_anything_that_has_bytes(name: str, tmp_path: Path) -> None:
    elements, stream = deliver(ELEMENTS[name], tmp_path / "run")

    assert all(one is other for one, other in zip(elements, ELEMENTS[name], strict=True))
    assert stream.complete
    assert stream.table()["content"].null_count == 0


def test_a_path_is_an_id_and_may_be_relative(tmp_path: Path) -> None:
    elements = [{"file": Path("/data/a/1.png")}, {"file": Path("/data/b.png")}]
    _, stream = deliver(elements, tmp_path / "run", ids="file", id_root="/data")

    assert stream.table()["record"].to_pylist() == ["a/1.png", "b.png"]


def test_objects_without_bytes_stop_a_run_that_has_no_other_id(tmp_path: Path) -> None:
    objects = [object(), object()]

    elements, stream = deliver(objects, tmp_path / "run")

    assert elements == objects
    assert (stream.rows, stream.lost, stream.complete) == (0, 2, False)


def test_objects_with_an_id_are_recorded_without_content(tmp_path: Path) -> None:
    _, stream = deliver([object(), object()], tmp_path / "run", ids=lambda _: 7)

    assert stream.complete
    assert stream.table()["record"].to_pylist() == [7, 7]
    assert "content" not in stream.columns


@pytest.mark.parametrize("name", [*ELEMENTS, "objects"])
def test_a_grain_source_may_hold_anything(name: str, tmp_path: Path) -> None:
    source = ELEMENTS.get(name, [object(), object()])
    elements, stream = deliver(grain.MapDataset.source(source), tmp_path / "run")
    kept = [element for element in source if element is not None]

    assert all(one is other for one, other in zip(elements, kept, strict=True))
    assert stream.complete
    assert stream.rows == len(kept)


def test_tensors_that_are_no_arrays_by_themselves_are_digested_as_those_that_are(
    tmp_path: Path,
) -> None:
    numbers = torch.arange(6.0).reshape(2, 3)
    kinds = [numbers, numbers.clone().requires_grad_(), numbers.numpy()]
    for kind, batch in enumerate(kinds):
        deliver([{"x": batch}], tmp_path / f"{kind}", batched=True)

    assert audit(*(tmp_path / f"{kind}" for kind in range(3))).verdict is Verdict.IDENTICAL


@pytest.mark.parametrize("batched", [True, False])
def test_bfloat16_is_digested_and_its_numbers_are_told_apart(tmp_path: Path, batched: bool) -> None:
    numbers = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.bfloat16)
    _, stream = deliver([numbers, numbers + 1], tmp_path / "run", batched=batched)

    assert stream.table()["content"].null_count == 0
    assert len({*stream.table()["content"].to_pylist()}) == (4 if batched else 2)


def test_ids_may_be_tensors_with_a_gradient(tmp_path: Path) -> None:
    batch = {"id": torch.tensor([3, 4]), "x": torch.ones(2, 1, requires_grad=True)}
    _, stream = deliver([batch], tmp_path / "run", ids="id", batched=True)

    assert stream.table()["record"].to_pylist() == [3, 4]
    assert stream.table()["content"].null_count == 0


def test_tensors_without_values_are_recorded_by_their_ids_alone(tmp_path: Path) -> None:
    # Of the device "meta", which every build of Torch has, and which has no memory.
    hollow = [torch.ones(3, device="meta") for _ in range(2)]
    _, lost = deliver(hollow, tmp_path / "lost")
    _, named = deliver(hollow, tmp_path / "named", ids=lambda _: 7)
    _, loaded = deliver(DataLoader(hollow), tmp_path / "loaded")  # type: ignore[arg-type]

    assert (lost.rows, lost.lost) == (0, 2)
    assert (named.rows, "content" in named.columns) == (2, False)
    assert loaded.table()["record"].to_pylist() == [0, 1]
    assert loaded.table()["content"].null_count == 2


def test_ragged_columns_of_a_dataset_are_read_row_by_row(tmp_path: Path) -> None:
    ragged = datasets.Dataset.from_dict({"x": [[1], [], [2, 3]], "t": ["a", None, ""]})
    with record(ragged, tmp_path / "run") as recorded:
        assert len(list(recorded.iter(2))) == 2
    table = open_run(tmp_path / "run").streams["main"].table()

    assert table["record"].to_pylist() == [0, 1, 2]
    assert table["content"].null_count == 0


def test_tables_are_batches_of_their_rows(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"], "x": [[1.0], [2.0, 3.0]]})
    tables = {"Arrow": table, "a piece": table.to_batches()[0], "pandas": table.to_pandas()}
    for name, batch in tables.items():
        (found,), stream = deliver([batch], tmp_path / name, batched=True, ids="id")
        assert found is batch
        assert stream.table()["record"].to_pylist() == ["a", "b"]
        assert stream.table()["content"].null_count == 0

    rows = audit(tmp_path / "Arrow", tmp_path / "a piece")
    assert rows.verdict is Verdict.IDENTICAL


def test_text_in_tensors_of_tensorflow_has_bytes(tmp_path: Path) -> None:
    elements = [{"t": tf.constant(["a", "b"])}, {"t": tf.constant(["c", "a"])}]
    for batched in (True, False):
        _, stream = deliver(elements, tmp_path / f"{batched}", batched=batched)
        assert stream.complete

    first, _, _, last = contents_of(tmp_path / "True")
    assert first == last


def test_a_batch_of_unlike_columns_is_lost_and_said(tmp_path: Path) -> None:
    batches = [{"x": np.ones(2)}, {"x": np.ones(2), "y": np.ones(3)}]

    elements, stream = deliver(batches, tmp_path / "run", batched=True)

    assert len(elements) == 2
    assert (stream.rows, stream.lost, stream.complete) == (2, 1, False)


def test_a_worker_that_dies_under_grain_ends_as_it_would_without_recording(tmp_path: Path) -> None:
    def loader() -> Any:
        stream = grain.MapDataset.range(8).map(dying).to_iter_dataset()
        return stream.mp_prefetch(grain.MultiprocessingOptions(1))

    with pytest.raises(Exception) as bare:  # noqa: PT011 - whatever Grain raises
        list(loader())
    with (
        pytest.raises(type(bare.value)) as within,
        record(loader(), tmp_path / "run") as recorded,
    ):
        list(recorded)
    run = open_run(tmp_path / "run")

    assert str(within.value) == str(bare.value)
    assert run.rows <= 3
    assert not run.complete
