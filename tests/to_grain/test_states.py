"""Checkpoints: a stream goes on from any state as if it had never stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from detloader import record, to_grain
from tests.support import transforms
from tests.support.trees import assert_all_equal

ARGUMENTS: dict[str, Any] = {
    "seed": 6,
    "shuffle": True,
    "transform": transforms.every_structure,
    "batch_size": 3,
    "num_epochs": 2,
}


@pytest.mark.parametrize("batch_size", [None, 3])
@pytest.mark.parametrize("recorded", [False, True])
def test_resuming_at_any_step_gives_the_uninterrupted_rest(
    tmp_path: Path, batch_size: int | None, recorded: bool
) -> None:
    dataset = to_grain(range(7), **ARGUMENTS | {"batch_size": batch_size})
    if recorded:
        dataset = record(dataset, tmp_path / "run")
    stream = iter(dataset)
    states, elements = [stream.get_state()], []
    for element in stream:
        elements.append(element)
        states.append(stream.get_state())

    for step, state in enumerate(states):
        resumed = iter(dataset)
        resumed.set_state(json.loads(json.dumps(state)))
        assert resumed.get_state() == state
        assert_all_equal(resumed, elements[step:])
    if recorded:
        dataset.close()


def test_resuming_with_workers_gives_the_uninterrupted_rest() -> None:
    dataset = to_grain(range(7), workers=2, **ARGUMENTS)
    stream = iter(dataset)
    states, elements = [stream.get_state()], []
    for element in stream:
        elements.append(element)
        states.append(stream.get_state())

    for step in (0, 1, 4, len(elements)):
        resumed = iter(dataset)
        resumed.set_state(json.loads(json.dumps(states[step])))
        assert_all_equal(resumed, elements[step:])
        resumed.close()


def test_an_iterator_can_be_set_back_and_forth() -> None:
    stream = iter(to_grain(range(10)))

    taken = []
    for index in (4, 0, 9, 9, 2):
        stream.set_state({"next_index": index})
        taken.append(next(stream))

    assert taken == [4, 0, 9, 9, 2]


@pytest.mark.parametrize("index", [-1, 5])
def test_a_state_beyond_the_stream_is_refused(index: int) -> None:
    stream = iter(to_grain(range(4)))

    with pytest.raises(IndexError, match=f"next_index {index}"):
        stream.set_state({"next_index": index})


@pytest.mark.parametrize("workers", [0, 2])
def test_states_of_recorded_and_unrecorded_streams_are_interchangeable(
    tmp_path: Path, workers: int
) -> None:
    plain = to_grain(range(7), workers=workers, **ARGUMENTS)
    recorded = record(plain, tmp_path / "run")
    stream, twin = iter(plain), iter(recorded)

    for _ in range(3):
        next(stream), next(twin)
    assert stream.get_state() == twin.get_state()
    state = stream.get_state()
    rest = list(stream)

    resumed, resumed_twin = iter(plain), iter(recorded)
    resumed.set_state(twin_state := state)
    resumed_twin.set_state(twin_state)
    assert_all_equal(resumed, rest)
    assert_all_equal(resumed_twin, rest)
    recorded.close()
