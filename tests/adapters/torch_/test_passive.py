"""Recording a Torch loader changes nothing: batches, checkpoints and generators are the same."""

from __future__ import annotations

import functools
import random
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from detloader import record
from tests.support.torch_datasets import (
    Augmented,
    Counting,
    Fetching,
    Finished,
    GlobalDraws,
    Own,
    as_it_is,
    distributed_sampler,
    note_start,
    pad_together,
    torch_loader,
)
from tests.support.trees import assert_equal

SIZE = 13

Build = Callable[[], Any]


def generator_or_none(seed: int | None) -> torch.Generator | None:
    return None if seed is None else torch.Generator().manual_seed(seed)


def shuffling(seed: int | None) -> dict[str, Any]:
    return {"shuffle": True, "generator": generator_or_none(seed)}


SAMPLERS: dict[str, Callable[[int | None], dict[str, Any]]] = {
    "in order": lambda _: {"drop_last": True},
    "shuffled": shuffling,
    "a list": lambda _: {"sampler": [3, 1, 4, 1, 5]},
    "random": lambda seed: {
        "sampler": RandomSampler(
            range(SIZE), replacement=True, num_samples=20, generator=generator_or_none(seed)
        )
    },
    "weighted": lambda seed: {
        "sampler": WeightedRandomSampler([1.0] * SIZE, 7, generator=generator_or_none(seed))
    },
    "subset": lambda seed: {"sampler": SubsetRandomSampler([1, 2, 3], generator_or_none(seed))},
    "distributed": lambda _: {"sampler": distributed_sampler(range(SIZE), 2, 1, seed=3)},
    "a batch sampler": lambda _: {
        "batch_sampler": BatchSampler(RandomSampler(range(SIZE)), 3, drop_last=False),
        "batch_size": 1,
    },
    "a list of lists": lambda _: {"batch_sampler": [[0], [1, 2], [3, 3, 3]], "batch_size": 1},
    "no batches": lambda _: {"batch_size": None},
    "lists of indices": lambda _: {
        "sampler": BatchSampler(SequentialSampler(range(SIZE)), 4, drop_last=False),
        "batch_size": None,
    },
}

DATASETS: dict[str, Build] = {
    "global draws": lambda: GlobalDraws(SIZE),
    "own generators": lambda: Augmented(SIZE),
    "all at once": lambda: Fetching(SIZE),
    "a subset": lambda: Subset(Subset(GlobalDraws(20), range(2, 18)), range(SIZE)),
    "a subset of what is read at once": lambda: Subset(Fetching(20), range(SIZE)),
    "a stack": lambda: StackDataset(Subset(GlobalDraws(20), range(SIZE)), Augmented(SIZE)),
    "a stack of all": lambda: StackDataset(a=GlobalDraws(SIZE), b=Fetching(SIZE)),
}

ITERABLES: dict[str, Build] = {
    "generator": lambda: Counting(SIZE),
    "own iterator": lambda: Own(SIZE),
}


def states(loader: Any) -> list[Any]:
    own = loader.generator
    legacy: Any = np.random.get_state()  # noqa: NPY002 - the one that must not move
    return [
        random.getstate(),
        legacy[1].tolist(),
        legacy[2:],
        torch.get_rng_state().tolist(),
        None if own is None else own.get_state().tolist(),
    ]


def run(loader: Any, seed: int, twin: Any = None) -> tuple[list[Any], list[Any]]:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - as above
    torch.manual_seed(seed)
    used = loader if twin is None else twin
    epochs = [list(used), list(used)]
    return epochs, states(loader)


def assert_passive(build: Build, seed: int = 7, **how: Any) -> None:
    expected, after = run(build(), seed)
    loader = build()
    with tempfile.TemporaryDirectory() as folder, record(loader, f"{folder}/run", **how) as twin:
        found, after_recording = run(loader, seed, twin)

    assert_equal(found, expected)
    assert after_recording == after


@given(
    dataset=st.sampled_from(sorted(DATASETS)),
    sampler=st.sampled_from(sorted(SAMPLERS)),
    batch_size=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
    own_seed=st.none() | st.integers(0, 2**63 - 1),
    draws=st.booleans(),
    level=st.sampled_from(["digest", "order", "full"]),
)
@settings(max_examples=60)
def test_batches_and_generators_are_the_same(  # noqa: PLR0917 - Hypothesis' own
    dataset: str,
    sampler: str,
    batch_size: int,
    seed: int,
    own_seed: int | None,
    draws: bool,
    level: str,
) -> None:
    def build() -> Any:
        options = {"batch_size": batch_size, **SAMPLERS[sampler](own_seed)}
        if sampler == "lists of indices":
            return torch_loader(torch.arange(SIZE), **options)
        return torch_loader(DATASETS[dataset](), **options)

    assert_passive(build, seed, draws=draws, level=level)


@given(
    dataset=st.sampled_from(sorted(ITERABLES)),
    batch_size=st.none() | st.integers(1, 5),
    drop_last=st.booleans(),
    padded=st.booleans(),
)
@settings(max_examples=25)
def test_batches_of_an_iterable_data_set_are_the_same(
    dataset: str, batch_size: int | None, drop_last: bool, padded: bool
) -> None:
    collate = pad_together if padded and batch_size is not None else None

    def build() -> Any:
        return torch_loader(
            ITERABLES[dataset](),
            batch_size=batch_size,
            drop_last=drop_last and batch_size is not None,
            collate_fn=collate,
        )

    assert_passive(build)


@pytest.mark.parametrize("dataset", ["global draws", "generator"])
@pytest.mark.parametrize(
    "options",
    [{"multiprocessing_context": "fork"}, {"persistent_workers": True, "prefetch_factor": 4}],
    ids=["fork", "persistent"],
)
def test_batches_from_workers_are_the_same(dataset: str, options: dict[str, Any]) -> None:
    made = {**DATASETS, **ITERABLES}[dataset]
    shuffle = dataset in DATASETS

    def build() -> Any:
        return torch_loader(made(), batch_size=3, shuffle=shuffle, num_workers=2, **options)

    assert_passive(build)


def test_batches_from_a_spawned_worker_are_the_same() -> None:
    assert_passive(
        lambda: torch_loader(
            GlobalDraws(SIZE),
            batch_size=3,
            shuffle=True,
            num_workers=1,
            persistent_workers=True,
            multiprocessing_context="spawn",
            worker_init_fn=note_start,
        )
    )


@pytest.mark.parametrize("form", ["pair", "dict", "array"])
def test_batches_that_the_data_set_makes_are_the_same(form: str) -> None:
    def build() -> Any:
        data = Finished(SIZE, form)
        return torch_loader(data, batch_size=3, shuffle=True, collate_fn=as_it_is)

    assert_passive(build)


def test_batches_out_of_order_are_all_there(tmp_path: Any) -> None:
    loader = torch_loader(GlobalDraws(SIZE), batch_size=2, num_workers=2, in_order=False)

    with record(loader, tmp_path / "run") as twin:
        numbers = sorted(int(x) for batch in twin for x in batch[0][:, 2])

    assert numbers == sorted(numbers)
    assert len(numbers) == SIZE


@pytest.mark.filterwarnings("ignore:'pin_memory' argument is set as true")
def test_batches_that_are_to_be_pinned_are_the_same() -> None:
    assert_passive(lambda: torch_loader(GlobalDraws(SIZE), batch_size=3, pin_memory=True))


def test_the_worker_sees_its_own_data_set() -> None:
    # `note_start` marks the data set that the worker is shown, and samples show the mark.
    build = functools.partial(
        DataLoader, Fetching(SIZE), batch_size=3, num_workers=2, worker_init_fn=note_start
    )

    assert_passive(build)
