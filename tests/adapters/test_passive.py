"""Recording changes nothing that a program could notice, whatever it records."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

from detloader import open_run, record
from detloader.manifest.content import sample_digest
from tests.support.late_closing import LATE_CLOSING, collect
from tests.support.plain_loaders import IN_PROCESS, LOADERS, STATEFUL

Make = Callable[[Path], Any]

__all__ = ["collect"]

pytestmark = LATE_CLOSING


def seed_all() -> None:
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the one that a program shares
    torch.manual_seed(1)
    tf.random.set_seed(1)


def all_states() -> list[Any]:
    """Return the states of the generators that a whole program shares."""
    return [
        random.getstate(),
        repr(np.random.get_state()),  # noqa: NPY002
        torch.get_rng_state().tolist(),
        tf.random.get_global_generator().state.numpy().tolist(),
    ]


def stateful(iterable: Any) -> tuple[Any, Callable[[], Any]]:
    """Return an iterator, and how its place is saved."""
    iterator = iter(iterable)
    return iterator, getattr(iterator, "get_state", None) or iterable.state_dict


def resumed(iterable: Any, state: Any) -> list[int]:
    """Return what comes after a saved place."""
    if hasattr(iterable, "load_state_dict"):
        iterable.load_state_dict(state)
        return [sample_digest(element) for element in iterable]
    iterator = iter(iterable)
    iterator.set_state(state)
    return [sample_digest(element) for element in iterator]


@pytest.mark.parametrize("make", LOADERS)
def test_elements_and_all_global_generators_are_as_without_recording(
    make: Make, tmp_path: Path
) -> None:
    seed_all()
    bare = [sample_digest(element) for element in make(tmp_path)]
    states = all_states()

    seed_all()
    with record(make(tmp_path), tmp_path / "run") as recorded:
        told = [sample_digest(element) for element in recorded]
        assert all_states() == states

    assert told == bare
    assert open_run(tmp_path / "run").complete


@pytest.mark.parametrize("make", STATEFUL)
def test_checkpoints_are_as_without_recording(make: Make, tmp_path: Path) -> None:
    bare, save = stateful(make(tmp_path))
    next(bare)
    state = save()
    rest = resumed(make(tmp_path), state)

    with record(make(tmp_path), tmp_path / "run") as recorded:
        iterator, save = stateful(recorded)
        next(iterator)
        assert save() == state
        assert resumed(recorded, state) == rest


@pytest.mark.parametrize("make", IN_PROCESS)
def test_a_loader_may_be_recorded_twice_at_once(make: Make, tmp_path: Path) -> None:
    loader = make(tmp_path)
    with record(loader, tmp_path / "a") as a, record(loader, tmp_path / "b") as b:
        for _ in zip(a, b, strict=True):
            pass
    first, second = (open_run(tmp_path / name) for name in "ab")

    assert first.rows > 0
    assert first.fingerprint == second.fingerprint or make.__name__ == "web_pipeline"
    assert sorted(map(str, rows(first))) == sorted(map(str, rows(second)))


def rows(run: Any) -> list[Any]:
    found: list[Any] = run.streams["main"].table()["record"].to_pylist()
    return found


@pytest.mark.parametrize("make", IN_PROCESS)
def test_the_same_loader_and_path_are_one_run(make: Make, tmp_path: Path) -> None:
    loader = make(tmp_path)

    with record(loader, tmp_path / "run") as twin:
        assert record(loader, tmp_path / "run") is twin
