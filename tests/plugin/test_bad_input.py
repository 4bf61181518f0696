"""Factories and arguments that make no sense: one line that says what to mend."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from detloader.errors import DetloaderError, FactoryError, LoaderError, UsageError
from detloader.testing import Assertions
from detloader.testing.context import Context
from detloader.testing.left_behind import LeftBehindWarning
from tests.support import axes_factories as axes
from tests.support import plugin_loaders as loaders

WORKERS = {"workers": [0, 1]}


@pytest.fixture
def assertions(tmp_path: Path) -> Assertions:
    folder = tmp_path / "runs"

    def new_folder() -> Path:
        folder.mkdir()
        return folder

    return Assertions(Context(new_folder=new_folder))


@pytest.mark.parametrize(
    ("factory", "error", "told"),
    [
        (loaders.needy, FactoryError, "needy needs root, which nobody gives: pass arguments="),
        (lambda workers: [], LoaderError, "delivered nothing: of an empty loader"),
        (lambda workers: None, FactoryError, "gave None: let it return the loader"),
        (lambda workers: 7, UsageError, "cannot record a int"),
        (lambda workers: [object()], LoaderError, "could not be recorded: 1 rows were lost"),
        (lambda workers: 1 / workers, FactoryError, "failed: ZeroDivisionError: division by zero"),
        (loaders.failing, LoaderError, r"failing\(workers=1\) failed after 3 elements: OSError"),
        ([1, 2], UsageError, "give the function that makes the loader, and not the list"),
        (lambda: [1], UsageError, "takes no workers: it has no argument"),
    ],
)
def test_a_factory_that_cannot_be_used_is_told_in_one_line(
    factory: Any, error: type[DetloaderError], told: str, assertions: Assertions
) -> None:
    with pytest.raises(error, match=told) as failure:
        assertions.assert_invariant(factory, over=WORKERS)

    assert "\n" not in str(failure.value)


def test_the_error_of_a_loader_is_kept_and_so_is_what_came_before_it(
    assertions: Assertions, tmp_path: Path
) -> None:
    with pytest.raises(LoaderError) as failure:
        assertions.assert_invariant(loaders.failing, over=WORKERS, ids=int)

    assert isinstance(failure.value.__cause__, OSError)
    assert failure.value.__notes__ == [f"runs are kept in {tmp_path / 'runs'}"]


def test_a_loader_without_an_end_is_refused_unless_it_is_told_where_to_stop(
    assertions: Assertions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detloader.testing.runs.MOST", 100)
    assertions.assert_invariant(loaders.endless, over=WORKERS, elements=101, ids=int)

    with pytest.raises(UsageError, match="has no end, or one beyond 100 elements: give elements="):
        assertions.assert_invariant(loaders.endless, over=WORKERS, ids=int)


def test_processes_that_a_loader_leaves_behind_are_ended_and_told(
    assertions: Assertions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detloader.testing.left_behind._PATIENCE_SECONDS", 0.1)
    before = {*multiprocessing.active_children()}  # what earlier tests left to be collected
    with pytest.warns(LeftBehindWarning, match=r"leaving\(workers=1\) left a worker process"):
        assertions.assert_invariant(loaders.leaving, over=WORKERS)

    assert {*multiprocessing.active_children()} <= before


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("assert_invariant", {"over": {}}, "name two values or more of an axis"),
        ("assert_invariant", {"over": {"size": [3]}}, "name two values or more of size"),
        ("assert_invariant", {"over": {"flavour": [1, 2]}}, "takes no flavour, and there is no"),
        ("assert_invariant", {"over": {"threads": [1, 2]}}, "takes no threads"),
        ("assert_invariant", {"over": {"cpu_count": [0, 1]}}, "give a positive integer"),
        ("assert_seed_sensitive", {"seeds": [1]}, "name two seeds or more, all of them different"),
        ("assert_seed_sensitive", {"seeds": [1, 1]}, "name two seeds or more"),
        ("assert_reproducible", {"times": 1}, "times=1 compares nothing: give 2 or more"),
        ("assert_reproducible", {"level": "order"}, "leave out level="),
        ("assert_resumable", {"at": []}, "name the elements after which to stop"),
        ("assert_resumable", {"at": [1]}, "has no state to save, nor has its iterator"),
        ("assert_resumable", {"at": [41]}, "ends after 40 elements: stop before that"),
        ("assert_covers", {"epochs": 0}, "epochs=0 makes no sense"),
        ("assert_covers", {}, "does not say how many records there are: pass records=N"),
        ("assert_covers", {"records": "abc"}, r"of partitioned\(seed=0\) are not known.*pass ids="),
        ("assert_weights", {"weights": [1, 2]}, "cannot be told from 40 rows: .*; pass ids="),
        ("assert_invariant", {"over": {"timezone": ["UTC", "Mars/X"]}}, "timezone=Mars/X is none"),
        ("assert_invariant", {"over": {"locale": ["C", "xx_YY"]}}, "locale=xx_YY is none here"),
    ],
)
def test_an_assertion_that_makes_no_sense_is_told_so(
    name: str, arguments: dict[str, Any], told: str, assertions: Assertions
) -> None:
    with pytest.raises(UsageError, match=told):
        getattr(assertions, name)(loaders.partitioned, **arguments)


def test_a_loader_that_can_be_iterated_once_is_told_how_many_epochs_it_has(
    assertions: Assertions,
) -> None:
    once = iter([0, 1, 2])

    with pytest.raises(UsageError, match=r"nothing after 1 of 2 epochs, .* pass epochs=1"):
        assertions.assert_covers(lambda: once, records=3, ids=int)


def test_a_factory_without_a_seed_cannot_be_sensitive_to_it(assertions: Assertions) -> None:
    with pytest.raises(UsageError, match="takes no seed, which could not matter then"):
        assertions.assert_seed_sensitive(loaders.covering)


def test_a_stop_beyond_the_elements_to_take_is_told_so(assertions: Assertions) -> None:
    with pytest.raises(UsageError, match="at=9 lies beyond elements=5: stop before that"):
        assertions.assert_resumable(loaders.grain, at=[1, 9], elements=5)


def test_a_state_that_cannot_be_saved_is_told_so(assertions: Assertions) -> None:
    with pytest.raises(LoaderError, match=r"the state of Forgetful\(\) cannot be saved"):
        assertions.assert_resumable(loaders.Forgetful, at=[1])


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("raises", r"dies\(\) died in a fresh process: .*no disk"),
        ("vanishes", r"ended with status 7 .*; it printed: the last word"),
    ],
)
def test_what_dies_in_a_fresh_process_is_told_with_its_last_line(
    how: str, told: str, assertions: Assertions
) -> None:
    with pytest.raises(LoaderError, match=told):
        assertions.assert_reproducible(axes.dies, 2, arguments={"how": how})
