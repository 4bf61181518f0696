"""The state of an iterator: saved, restored, refused where it does not belong."""

from __future__ import annotations

import functools
import itertools
import json
from pathlib import Path
from typing import Any

import grain
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.errors import UsageError
from tests.support.hdf5_files import add_noise, first_values, load, numbered, write, write_file

ARGUMENTS: dict[str, Any] = {
    "image_size": (1, 1),
    "resize_type": "random_crop",
    "augmentation": add_noise,
    "dataset_repetitions": 2,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("states"), 7, 7, 7)


def assert_equal(found: list[Any], wanted: list[Any]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("threads", [0, 4])
@pytest.mark.parametrize("taken", range(12))
def test_an_iterator_goes_on_from_any_state_in_another_process(
    folder: Path, taken: int, threads: int
) -> None:
    loader = load(folder, num_threads=threads, **ARGUMENTS)
    list(loader)
    steps = iter(loader)
    for _ in range(min(taken, 11)):
        next(steps)
    # As it would be read from a file by the other process.
    state = json.loads(json.dumps(steps.get_state()))
    rest, following = list(steps), list(loader)

    other = load(folder, **ARGUMENTS)
    taken_up = iter(other)
    taken_up.set_state(state)

    assert_equal(list(taken_up), rest)
    assert_equal(list(other), following)


def test_a_state_before_the_first_element_is_that_of_the_next_epoch(folder: Path) -> None:
    loader = load(folder)
    list(loader)
    state = iter(loader).get_state()
    wanted = first_values(loader)

    steps = iter(load(folder))
    steps.set_state(state)

    assert first_values(steps) == wanted


def test_an_iterator_can_go_back(folder: Path) -> None:
    steps = iter(load(folder))
    first = next(steps)
    state = steps.get_state()
    rest = list(steps)

    steps.set_state(state)

    assert_equal(list(steps), rest)
    assert len(first) == 4


def test_a_shuffled_order_is_restored(folder: Path) -> None:
    loader = load(folder, reshuffle_each_epoch=False)
    loader.shuffle(77)
    steps = iter(loader)
    next(steps)

    other = load(folder, reshuffle_each_epoch=False)
    taken_up = iter(other)
    taken_up.set_state(steps.get_state())

    assert first_values(taken_up) == first_values(steps)
    assert first_values(other) == first_values(loader)


MODES = st.fixed_dictionaries(
    {
        "reshuffle_each_epoch": st.booleans(),
        "compatibility": st.sampled_from([None, "zea-0.1"]),
    }
)
# Iterate an epoch; shuffle; shuffle with a seed.
ACTIONS = st.lists(st.sampled_from(["iterate", None]) | st.integers(0, 3), max_size=6)


def act(loader: Any, actions: list[Any]) -> list[list[int]]:
    """Act, and give the order of each epoch, and that which each shuffle shows."""
    found = []
    for action in actions:
        if action == "iterate":
            found.append(first_values(loader))
        else:
            loader.shuffle(action)
            found.append(first_values(loader.to_iter_dataset()))
    return found


@settings(max_examples=40, deadline=None)
@given(mode=MODES, before=ACTIONS, taken=st.integers(0, 6), after=ACTIONS)
def test_orders_after_a_restart_are_those_of_a_run_that_was_never_interrupted(
    folder: Path, mode: dict[str, Any], before: list[Any], taken: int, after: list[Any]
) -> None:
    whole, other = load(folder, **mode), load(folder, **mode)
    act(whole, before)
    steps = iter(whole)
    first_values(itertools.islice(steps, taken))
    taken_up = iter(other)
    taken_up.set_state(json.loads(json.dumps(steps.get_state())))

    assert first_values(taken_up) == first_values(steps)
    assert act(other, after) == act(whole, after)


@settings(max_examples=20, deadline=None)
@given(mode=MODES, epochs=st.integers(0, 4), after=ACTIONS)
def test_orders_after_set_epoch_are_those_of_a_run_that_came_there(
    folder: Path, mode: dict[str, Any], epochs: int, after: list[Any]
) -> None:
    whole, other = load(folder, **mode), load(folder, **mode)
    for _ in range(epochs):
        list(whole)
    other.set_epoch(epochs)

    assert act(other, after) == act(whole, after)


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 1},
        {"batch_size": 5},
        {"drop_remainder": True},
        {"n_frames": 2},
        {"shuffle": False},
        {"dataset_repetitions": 2},
        {"num_shards": 2, "shard_index": 0},
        {"image_size": (1, 1)},
        {"limit_n_samples": 20},
        {"compatibility": "zea-0.1"},
    ],
)
def test_the_state_of_another_pipeline_is_refused(folder: Path, other: dict[str, Any]) -> None:
    steps = iter(load(folder))
    next(steps)

    for refusing in (iter(load(folder, **other)), iter(load(folder, **other).to_iter_dataset())):
        with pytest.raises(UsageError, match="saved by a Dataloader with other files or arguments"):
            refusing.set_state(steps.get_state())


def test_the_state_of_another_shard_or_other_files_is_refused(folder: Path, tmp_path: Path) -> None:
    shards = [load(folder, num_shards=2, shard_index=index) for index in range(2)]
    state = iter(shards[0]).get_state()
    with pytest.raises(UsageError, match="other files or arguments"):
        iter(shards[1]).set_state(state)

    write(tmp_path, 7, 7)
    write_file(tmp_path / "f_2.hdf5", numbered(8))
    with pytest.raises(UsageError, match="other files or arguments"):
        iter(load(tmp_path)).set_state(iter(load(folder)).get_state())


def test_a_state_fits_wherever_the_data_lie_and_however_they_are_read(
    folder: Path, tmp_path: Path
) -> None:
    steps = iter(load(folder))
    next(steps)

    moved = iter(load(write(tmp_path, 7, 7, 7), num_threads=4, prefetch_buffer_size=3, cache=True))
    moved.set_state(steps.get_state())

    assert first_values(moved) == first_values(steps)


def test_a_stream_refuses_the_state_of_another_epoch(folder: Path) -> None:
    loader = load(folder)
    stream = loader.to_iter_dataset()
    steps = iter(loader)
    next(steps)

    with pytest.raises(UsageError, match=r"of epoch 0.*set it on iter\(\) of the Dataloader"):
        iter(stream).set_state(steps.get_state())
    own = iter(loader.to_iter_dataset())
    own.set_state(steps.get_state())
    assert first_values(own) == first_values(steps)


@pytest.mark.parametrize("state", [{}, {"next_index": 3}, None, "state", []])
def test_what_is_no_state_is_refused(folder: Path, state: Any) -> None:
    with pytest.raises(UsageError, match="no state of a Dataloader's iterator"):
        iter(load(folder)).set_state(state)


DAMAGED = [
    {"steps": None},
    {"steps": {}},
    {"steps": {"next_index": "1"}},
    {"steps": {"next_index": 1.5}},
    {"epoch": "1"},
    {"epoch": None},
    {"epoch": -1},
    {"epoch": True},
    {"seed": "7"},
    {"seed": 1.5},
]


@pytest.mark.parametrize("damage", DAMAGED, ids=str)
def test_a_damaged_state_is_refused_and_leaves_all_as_it_was(
    folder: Path, damage: dict[str, Any]
) -> None:
    loader = load(folder)
    loader.set_epoch(3)
    state = iter(loader).get_state() | damage
    other = load(folder)
    steps = iter(other)

    with pytest.raises(UsageError, match="a damaged one: give what its get_state gave"):
        steps.set_state(state)
    assert first_values(steps) == first_values(load(folder))
    assert first_values(other) == first_values(load_at(folder, 1))


def load_at(folder: Path, epoch: int) -> Any:
    loader = load(folder)
    loader.set_epoch(epoch)
    return loader


@pytest.mark.parametrize("damage", [{"steps": None}, {"steps": {}}, {"steps": {"next_index": 1}}])
def test_a_damaged_state_of_a_stream_in_workers_is_refused(
    folder: Path, damage: dict[str, Any]
) -> None:
    stream = load(folder).to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(1))

    with pytest.raises(UsageError, match="a damaged one"):
        iter(stream).set_state(iter(stream).get_state() | damage)


@pytest.mark.parametrize("number", [np.int64, np.uint32])
def test_numbers_of_numpy_are_those_of_a_state(folder: Path, number: Any) -> None:
    steps = iter(load(folder))
    next(steps)
    state = steps.get_state()
    state = {**state, "epoch": number(0), "steps": {"next_index": number(1)}}

    taken_up = iter(load(folder))
    taken_up.set_state(state)

    assert first_values(taken_up) == first_values(steps)


class Scaling:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, batch: Any) -> Any:
        return batch * self.factor

    def other(self, batch: Any) -> Any:
        return batch


@pytest.mark.parametrize(
    "augmentation",
    [add_noise, functools.partial(add_noise), Scaling(2), Scaling(2).other, lambda batch: batch],
    ids=["function", "partial", "object", "method", "lambda"],
)
def test_the_state_of_another_augmentation_is_refused(folder: Path, augmentation: Any) -> None:
    state = iter(load(folder, augmentation=augmentation)).get_state()

    iter(load(folder, augmentation=augmentation)).set_state(json.loads(json.dumps(state)))
    for other in (None, np.negative):
        with pytest.raises(UsageError, match="other files or arguments"):
            iter(load(folder, augmentation=other)).set_state(state)


def test_what_an_augmentation_was_made_with_is_not_told(folder: Path) -> None:
    state = iter(load(folder, augmentation=Scaling(2))).get_state()

    taken_up = iter(load(folder, augmentation=Scaling(0)))
    taken_up.set_state(state)

    assert set(first_values(taken_up)) == {0}


def test_the_state_of_data_of_another_type_is_refused(folder: Path, tmp_path: Path) -> None:
    for number in range(3):
        write_file(tmp_path / f"f_{number}.hdf5", numbered(7, 100 * number).astype(np.int16))

    with pytest.raises(UsageError, match="other files or arguments"):
        iter(load(tmp_path)).set_state(iter(load(folder)).get_state())


def test_a_closed_iterator_gives_nothing(folder: Path) -> None:
    steps = iter(load(folder, num_threads=2))
    next(steps)
    steps.close()

    with pytest.raises(ValueError, match="closed"):
        next(steps)


def test_a_stream_in_workers_goes_on_from_its_state(folder: Path) -> None:
    options = grain.MultiprocessingOptions(num_workers=2)
    stream = load(folder, **ARGUMENTS).to_iter_dataset().mp_prefetch(options)
    steps = iter(stream)
    for _ in range(3):
        next(steps)
    state = json.loads(json.dumps(steps.get_state()))
    rest = list(steps)

    taken_up = iter(stream)
    taken_up.set_state(state)

    assert_equal(list(taken_up), rest)
