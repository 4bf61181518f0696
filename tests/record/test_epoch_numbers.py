"""Numbers of epochs, whatever a loader is told of them, and whenever."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from detloader import record
from tests.support.loaders import Loader, rows_of

STEPS = st.lists(st.integers(0, 3), max_size=4)
"""How much further the epoch is that is told before each pass; by 0, it is told again."""


def numbers(told: list[list[int]]) -> list[int]:
    """Number passes, before each of which some epochs are told."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        with record(Loader([7]), run, ids=int) as twin:
            for epochs in told:
                for epoch in epochs:
                    twin.set_epoch(epoch)
                list(twin)
        return list(rows_of(run, "epoch"))


@given(steps=STEPS, passes=st.lists(st.integers(1, 3), min_size=5, max_size=5))
def test_each_pass_has_a_number_of_its_own_while_epochs_go_on(
    steps: list[int], passes: list[int]
) -> None:
    epochs = list(itertools.accumulate([0, *steps]))
    told = [
        now
        for epoch, count in zip(epochs, passes, strict=False)
        for now in ([epoch], *[[]] * (count - 1))
    ]
    found = numbers(told)

    assert all(earlier < later for earlier, later in itertools.pairwise(found))
    assert all(number >= now[0] for number, now in zip(found, told, strict=True) if now)


@given(steps=st.lists(st.integers(1, 3), max_size=4))
def test_where_each_pass_is_told_another_epoch_that_is_its_number(steps: list[int]) -> None:
    epochs = list(itertools.accumulate(steps, initial=0))

    assert numbers([[epoch] for epoch in epochs]) == epochs


def test_an_epoch_that_is_told_once_more_is_the_next_pass() -> None:
    assert numbers([[0], [0], [1], [1]]) == [0, 1, 2, 3]


def test_an_epoch_that_the_loader_goes_back_to_keeps_its_number() -> None:
    assert numbers([[4], [5], [4], [5]]) == [4, 5, 4, 5]
