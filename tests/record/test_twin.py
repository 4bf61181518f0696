"""What `record` returns stands for the loader, and changes nothing in it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader import record
from tests.support.loaders import Loader, rows_of


def test_attributes_length_and_state_are_the_loaders(tmp_path: Path) -> None:
    loader = Loader([1, 2, 3])
    with record(loader, tmp_path / "run", ids=int) as twin:
        twin.load_state_dict({"started": 4})
        twin.sampler = None

        assert len(twin) == 3
        assert twin.elements is loader.elements
        assert twin.state_dict() == {"started": 4}
        assert loader.sampler is None
        assert not hasattr(twin, "no_such_attribute")
        assert not hasattr(Loader([]), "no_such_attribute")
    with record(Loader([]), tmp_path / "empty", ids=int) as twin:
        assert not twin


def test_an_iterator_stays_an_iterator(tmp_path: Path) -> None:
    numbers = (number for number in range(5))
    with record(numbers, tmp_path / "run", ids=int) as twin:
        assert next(twin) == 0
        assert iter(twin) is twin
        assert bool(twin)
        assert list(twin) == [1, 2, 3, 4]
        with pytest.raises(TypeError):
            len(twin)

    assert rows_of(tmp_path / "run", "record", "epoch") == [(n, 0) for n in range(5)]


class Restarting:
    """Its own iterator, which each `iter()` starts anew, as a combined loader is."""

    def __init__(self) -> None:
        self.left: list[int] = []

    def __iter__(self) -> Restarting:
        self.left = random.sample(range(4), 4)
        return self

    def __next__(self) -> int:
        if not self.left:
            raise StopIteration
        return self.left.pop()


@given(st.lists(st.integers(0, 6)))
def test_an_iterator_that_starts_anew_does_so_and_each_time_is_an_epoch(taken: list[int]) -> None:
    def passes(loader: Iterable[int]) -> list[list[int]]:
        random.seed(7)
        return [list(islice(loader, count)) for count in taken]

    bare = passes(Restarting())
    with TemporaryDirectory() as folder:
        with record(Restarting(), f"{folder}/run", ids=int) as twin:
            assert passes(twin) == bare
            moved = random.getstate()
        rows = rows_of(Path(folder, "run"), "record", "epoch") if any(taken) else []

    passes(Restarting())
    assert random.getstate() == moved
    told = enumerate(elements for elements in bare if elements)
    assert rows == [(element, epoch) for epoch, elements in told for element in elements]


def test_an_iterator_that_ended_and_goes_on_begins_an_epoch(tmp_path: Path) -> None:
    class Refilled:
        """What it starts anew with is in no attribute of its own."""

        def __init__(self, source: list[int]) -> None:
            self.source = source

        def __iter__(self) -> Refilled:
            self.source[:] = [1, 2]
            return self

        def __next__(self) -> int:
            if not self.source:
                raise StopIteration
            return self.source.pop()

    with record(Refilled([]), tmp_path / "run", ids=int) as twin:
        assert [list(twin) for _ in range(3)] == [[2, 1]] * 3

    assert rows_of(tmp_path / "run", "epoch") == [0, 0, 1, 1, 2, 2]


class Numbered:
    """A source of the old kind: no `__iter__`, but numbers from 0 on."""

    def __getitem__(self, index: int) -> int:
        if index == 3:
            raise IndexError(index)
        return index


def test_what_counts_its_elements_from_0_is_an_iterable_too(tmp_path: Path) -> None:
    with record(Numbered(), tmp_path / "run", ids=int) as twin:
        assert list(twin) == [0, 1, 2]

    assert rows_of(tmp_path / "run", "record") == [0, 1, 2]


class Stumbling:
    """Fails at its second element, and goes on with the third."""

    def __init__(self) -> None:
        self.number = 0

    def __iter__(self) -> Stumbling:
        return self

    def __next__(self) -> int:
        self.number += 1
        if self.number == 2:
            raise OSError("a worker died")
        if self.number > 3:
            raise StopIteration
        return self.number


def test_an_iterator_goes_on_after_an_error_as_it_would_alone(tmp_path: Path) -> None:
    class Loads:
        def __iter__(self) -> Stumbling:
            return Stumbling()

    with record(Loads(), tmp_path / "run", ids=int) as twin:
        steps = iter(twin)
        assert next(steps) == 1
        with pytest.raises(OSError, match="a worker died"):
            next(steps)
        assert list(steps) == [3]

    assert rows_of(tmp_path / "run", "record") == [1, 3]


def test_recording_moves_nothing(tmp_path: Path) -> None:
    elements: list[Any] = [{"x": np.arange(3)}, object(), [1, "a", None]]
    loader = Loader(elements)
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002 - the global generator is what must not move
    state = random.getstate(), str(np.random.get_state())  # noqa: NPY002

    with record(loader, tmp_path / "run", ids=lambda _: 1) as twin:
        first, second = iter(twin), iter(twin)
        assert loader.started == 2
        assert all(a is b for a, b in zip(first, elements, strict=True))
        assert all(a is b for a, b in zip(second, elements, strict=True))

    assert loader.started == 2
    assert (random.getstate(), str(np.random.get_state())) == state  # noqa: NPY002
    assert elements[0]["x"].tolist() == [0, 1, 2]
