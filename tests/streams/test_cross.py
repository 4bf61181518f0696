"""One schedule through every mode and both backends is one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from detloader import (
    create_interleaved_dataset_from_generator,
    record,
    to_grain,
    to_tf_dataset,
    to_torch_loader,
)
from detloader.audits import audit
from tests.support.loaders import rows_of
from tests.support.numbered import Records

SIZE = len(Records())
BATCH = 4

SAMPLE = {"x": tf.TensorSpec((2, 3), tf.float32), "y": tf.TensorSpec((), tf.int64)}
ELEMENT = {"x": tf.TensorSpec((None, 2, 3), tf.float32), "y": tf.TensorSpec((None,), tf.int64)}


def read(ids: Iterable[int]) -> Iterator[dict[str, Any]]:
    return (Records()[number] for number in ids)


def interleaved(spec: Any = SAMPLE, **options: Any) -> Any:
    dataset = create_interleaved_dataset_from_generator(read, iter, range(SIZE), spec, **options)
    return dataset.batch(BATCH).prefetch(1)


def grain(**options: Any) -> Any:
    return to_grain(Records(), batch_size=BATCH, **options)


LOADERS: dict[str, Callable[[], Any]] = {
    "global": interleaved,
    "finite": lambda: interleaved(stream_mode="finite", num_workers=4),
    "grain": grain,
    "grain with workers": lambda: grain(workers=2),
    "torch": lambda: to_torch_loader(grain()),
    "tensorflow": lambda: to_tf_dataset(grain(), ELEMENT),
}


def traverse(loader: Any, run: Path) -> Path:
    with record(loader, run) as twin:
        for _ in range(2):
            for _ in twin:
                pass
    return run


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return traverse(LOADERS["global"](), tmp_path_factory.mktemp("baseline") / "run")


@pytest.mark.parametrize("name", LOADERS)
def test_every_way_is_identical_in_record_epoch_and_content(
    name: str, baseline: Path, tmp_path: Path
) -> None:
    run = traverse(LOADERS[name](), tmp_path / "run")

    result = audit(baseline, run)

    assert result.verdict == "identical"
    columns = ["record", "epoch", "batch", "content"]
    assert rows_of(run, *columns) == rows_of(baseline, *columns)
    assert isinstance(result.not_compared, list)
    assert not {*columns} & {*result.not_compared}


def test_a_shuffled_schedule_is_the_same_wherever_it_is_made(tmp_path: Path) -> None:
    shuffled: dict[str, Any] = {"seed": 3, "shuffle": True, "num_epochs": 2}
    schedule = [int(number) for number in to_grain(range(SIZE), **shuffled)]
    passes = iter([schedule[:SIZE], schedule[SIZE:]])
    dataset = create_interleaved_dataset_from_generator(
        read, lambda _: next(passes), range(SIZE), SAMPLE
    )
    for name, loader in {
        "grain": grain(**shuffled),
        "tensorflow": to_tf_dataset(grain(**shuffled), ELEMENT),
        "torch": to_torch_loader(grain(**shuffled)),
        "global": dataset.repeat(2).batch(BATCH),
    }.items():
        with record(loader, tmp_path / name) as twin:
            for _ in twin:
                pass

    for name in ("tensorflow", "torch", "global"):
        assert audit(tmp_path / "grain", tmp_path / name).verdict == "identical"


def test_another_type_of_tensor_is_other_content_of_the_same_records(
    baseline: Path, tmp_path: Path
) -> None:
    narrow = SAMPLE | {"x": tf.TensorSpec((2, 3), tf.float16)}

    run = traverse(interleaved(narrow), tmp_path / "run")

    columns = ["record", "epoch", "batch"]
    assert rows_of(run, *columns) == rows_of(baseline, *columns)
    assert audit(baseline, run).verdict == "changed"
