"""Rows computed again over ranges: equal digests, wherever and in whatever order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from detloader.audits.replay import recompute
from detloader.audits.replay.recompute import recompute_order, recompute_records
from detloader.audits.replay.spot_check import spot_check
from detloader.errors import UsageError
from detloader.findings import Verdict
from detloader.grain import to_grain
from detloader.manifest.reader import open_run
from detloader.recipe import build_loader
from detloader.recording import record
from tests.support.runs import write_run

Recorded = Callable[..., Path]


class Backwards(Executor):
    """Runs what was submitted when the first result is asked for, last first."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: _Lazy = _Lazy(self)
        self.waiting.append((future, lambda: fn(*args, **kwargs)))
        return future

    def run(self) -> None:
        while self.waiting:
            future, call = self.waiting.pop()
            future.set_result(call())


class _Lazy(Future[Any]):
    def __init__(self, executor: Backwards) -> None:
        super().__init__()
        self._executor = executor

    def result(self, timeout: float | None = None) -> Any:
        self._executor.run()
        return super().result(timeout)


@pytest.fixture
def run(folder: Path) -> Path:
    """A stream over two blocks and a bit, across the border of two passes."""
    loader, recipe = build_loader(
        "tests.support.replay_streams:stream", {"size": 35_000, "batch_size": 96, "num_epochs": 4}
    )
    with record(loader, folder / "run", recipe=recipe) as twin:
        for _ in twin:
            pass
    return folder / "run"


def test_order_and_records_have_the_recorded_digests_in_any_order_of_ranges(run: Path) -> None:
    order = recompute_order(run)
    backwards = recompute_order(run, executor=Backwards())
    records = recompute_records(run, executor=Backwards())

    assert order == backwards
    assert order.verdict is records.verdict is Verdict.IDENTICAL
    assert order.reason == "record, epoch, batch of 140,000 rows have the recorded digests"
    assert order.not_compared == ["draws", "content", "resumed"]
    assert records.not_compared == ["resumed"]


def test_another_stream_differs_and_the_first_block_is_told(folder: Path) -> None:
    arguments: dict[str, Any] = {"batch_size": 100}
    for name, size in (("a", 70_000), ("b", 70_000)):
        loader = to_grain(range(size), seed=4, shuffle=name == "a", **arguments)
        declared = {"shuffle": False}
        with record(loader, folder / name, declared=declared, level="order") as twin:
            for _ in itertools.islice(twin, 660):
                pass

    assert recompute_order(folder / "b").verdict is Verdict.IDENTICAL
    result = recompute_order(folder / "a")
    assert result.verdict is Verdict.CHANGED
    assert result.reason == "record computed again differs first between rows 0 and 65,535"


def test_ids_of_their_own_are_left_out_and_the_places_compared(folder: Path) -> None:
    loader = to_grain(range(30), seed=1, shuffle=True, batch_size=4, workers=0)
    with record(loader, folder / "run", ids=[f"file-{n}" for n in range(30)]) as twin:
        for _ in twin:
            pass
    result = recompute_order(folder / "run")

    assert result.verdict is Verdict.IDENTICAL
    assert result.reason == "epoch, batch, index of 30 rows have the recorded digests"


def test_what_cannot_be_computed_is_refused(folder: Path, recorded: Recorded) -> None:
    imported = write_run(folder / "imported", {"record": [1, 2]})
    with pytest.raises(UsageError, match="was not recorded from to_grain"):
        recompute_order(imported)
    with pytest.raises(UsageError, match="does not say how its loader was made"):
        recompute_records(imported)
    with pytest.raises(UsageError, match="only streams of to_grain and the HDF5 Dataloader make"):
        recompute_records(recorded("workers"))
    twice = to_grain(range(5), seed=0, batch_size=2)
    with record(twice, folder / "twice") as twin:
        for _ in [*twin, *twin]:
            pass
    with pytest.raises(UsageError, match="several iterations"):
        recompute_order(folder / "twice")
    with record(twice, folder / "resumed") as twin:
        steps = iter(twin)
        steps.set_state({"next_index": 1})
        assert len([*steps]) == 2
    with pytest.raises(UsageError, match="was resumed"):
        recompute_order(folder / "resumed")
    with pytest.raises(UsageError, match="is not one sealed rank"):
        recompute_order(write_run(folder / "open", {"record": [1]}, seal=False))


def test_a_run_without_a_row_has_nothing_to_compute(folder: Path) -> None:
    loader, recipe = build_loader("tests.support.replay_streams:stream", {"size": 3})
    with record(loader, folder / "empty", recipe=recipe):
        pass

    for result in (recompute_order("empty"), recompute_records("empty")):
        assert result.verdict is Verdict.INCONCLUSIVE
        assert result.reason == (
            "empty has no row in stream 'main': nothing was taken from its loader; "
            "see that it is iterated, and that there are data"
        )
    with pytest.raises(UsageError, match="empty has no row in stream 'main': nothing was taken"):
        spot_check(loader, open_run("empty"), 1.0)


def test_computing_the_order_imports_nothing_that_the_run_names(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Iterator[None]:
        raise AssertionError

    monkeypatch.setattr(recompute, "build_loader", refuse)

    assert recompute_order(run).verdict is Verdict.IDENTICAL
