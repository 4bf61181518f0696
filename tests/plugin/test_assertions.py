"""Each assertion: it passes a sound loader, fails a faulty one, and says why."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from detloader import open_run
from detloader.testing import Assertions
from detloader.testing.comparison import NotRepeatedError
from detloader.testing.context import Context
from tests.support import axes_factories as axes
from tests.support import plugin_loaders as loaders


@pytest.fixture
def told(tmp_path: Path) -> list[tuple[str, str]]:
    return []


@pytest.fixture
def assertions(tmp_path: Path, told: list[tuple[str, str]]) -> Assertions:
    def new_folder() -> Path:
        folder = tmp_path / "kept"
        folder.mkdir(exist_ok=True)
        return folder

    return Assertions(
        Context(new_folder=new_folder, note=lambda name, value: told.append((name, value)))
    )


def test_a_loader_that_follows_no_worker_is_invariant_and_leaves_no_runs(
    assertions: Assertions, told: list[tuple[str, str]], tmp_path: Path
) -> None:
    assertions.assert_invariant(loaders.grain, over={"workers": [0, 1, 2]})

    assert told == [("detloader.assert_invariant", "3 runs of 1,000 rows")]
    assert list(tmp_path.iterdir()) == []


def test_a_failure_shows_verdict_cause_first_difference_rows_and_the_next_command(
    assertions: Assertions, told: list[tuple[str, str]], tmp_path: Path
) -> None:
    with pytest.raises(AssertionError) as failure:
        assertions.assert_invariant(loaders.partitioned, over={"workers": [0, 1, 3]}, ids=int)

    kept = tmp_path / "kept"
    runs = kept / "5-workers=0", kept / "8-workers=3"
    assert (
        str(failure.value)
        == f"""\
partitioned(seed=0) is not the same with workers=3 as with workers=0

changed: workers=3 has 39 of the 40 records of workers=0, in another order
  implicit-partitioning (fail): Record 36 never comes. The order is a merge of 3
  contiguous parts of 13 records (39 parts would fit as well).
  Implicit partitioning: the loader split its IDs over workers into contiguous
  parts of equal length, left out the remainder, and merged the parts as they
  came.
  first difference   row 1, epoch 0: record 11 became 24
    row  workers=0  workers=3
      0          0          0
      1         11         24
      2         22         12
      3         33         11
      4          8         35
  look further       detloader audit {runs[0]} {runs[1]}"""
    )
    assert failure.value.__notes__ == [f"runs are kept in {kept}"]
    assert [open_run(run).rows for run in runs] == [40, 39]
    assert told[-1] == ("detloader.assert_invariant", str(failure.value).splitlines()[0])


@pytest.mark.parametrize(
    ("factory", "over"),
    [
        (axes.workers, {"num_workers": [0, 2]}),
        (axes.workers, {"workers": [0, 2]}),
        (axes.prefetch, {"prefetch": [1, 4]}),
        (axes.hash_seed, {"hash_seed": [0, 1]}),
        (axes.world_size, {"world_size": [1, 2]}),
        (axes.stream_mode, {"stream_mode": ["global", "finite"]}),
        (loaders.split, {"workers": [0, 2], "prefetch": [1, 4]}),
    ],
)
def test_what_follows_a_condition_fails_over_it_and_its_mended_twin_passes(
    factory: object, over: dict[str, list[object]], assertions: Assertions
) -> None:
    with pytest.raises(AssertionError, match="is not the same with"):
        assertions.assert_invariant(factory, over=over)  # type: ignore[arg-type]
    if factory is not loaders.split:
        assertions.assert_invariant(
            factory,  # type: ignore[arg-type]
            over=over,
            arguments={"mended": True},
        )


def test_axes_that_break_a_loader_only_together_are_found(assertions: Assertions) -> None:
    over = {"workers": [0, 2], "prefetch": [1, 4]}
    assertions.assert_invariant(loaders.split, over={"workers": [0, 2]}, ids=int)

    with pytest.raises(AssertionError, match="with workers=2, prefetch=4 as with workers=0, "):
        assertions.assert_invariant(loaders.split, over=over, ids=int)


def test_axes_that_no_field_has_are_declared_so_that_none_of_several_is_blamed_alone(
    assertions: Assertions,
) -> None:
    over = {"workers": [0, 2], "prefetch": [1, 4]}
    with pytest.raises(AssertionError) as failure:
        assertions.assert_invariant(loaders.split, over=over, ids=int)

    assert "all else equal" not in str(failure.value)


def test_what_is_varied_stays_declared_beside_a_configuration_of_the_test(
    assertions: Assertions,
) -> None:
    over = {"workers": [0, 2], "prefetch": [1, 4]}
    mine = {"config": {"mine": 1}}
    with pytest.raises(AssertionError) as failure:
        assertions.assert_invariant(loaders.split, over=over, ids=int, declared=mine)
    run = str(failure.value).split()[-1]

    declared = open_run(run).streams["main"].declared
    assert declared.config == {"mine": 1, "over": {"prefetch": 4}}


@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("otherwise", [[1], [1, 2, 3, 4], [1, 5], [1, 5, 6]])
def test_a_loader_that_does_not_repeat_itself_is_told_so_and_no_axis_is_blamed(
    otherwise: list[int], search: bool, assertions: Assertions
) -> None:
    """Calls 0 and 2 to 4 have no workers; calls 1 and 5 to 7 have some."""
    calls = iter(range(1000))
    noise = iter(range(1000))

    def make_loader(workers: int = 0, size: int = 3) -> list[int]:
        this = next(calls)
        return [100 + next(noise), 1] if this in otherwise or this > 7 else [0, 1]

    with pytest.raises(NotRepeatedError, match=r"does not repeat itself: made again \(workers="):
        assertions.assert_invariant(
            make_loader, over={"workers": [0, 2]}, ids=int, seed=None, search=search
        )


def test_another_order_each_time_with_workers_alone_is_their_doing(assertions: Assertions) -> None:
    numbers = iter(range(100))

    def racing(workers: int = 0) -> list[int]:
        return [1, 2, 100 + next(numbers)] if workers else [1, 2, 3]

    with pytest.raises(AssertionError, match="workers=0; made again, it is another one each time"):
        assertions.assert_invariant(racing, over={"workers": [0, 2]}, ids=int)


def test_a_loader_that_does_not_repeat_itself_is_not_blamed_on_its_restart(
    assertions: Assertions,
) -> None:
    with pytest.raises(NotRepeatedError, match="made again \\(uninterrupted"):
        assertions.assert_resumable(loaders.Uncertain, at=[1], ids=int)


class Maker:
    def make(self, workers: int = 0, *, size: int = 9) -> list[int]:
        return list(range(size))[:: -1 if workers else 1]


@pytest.mark.parametrize(
    ("factory", "arguments", "why"),
    [
        (lambda workers=0: [1, 2][:: -1 if workers else 1], {}, "<lambda> is made while"),
        (Maker().make, {}, "make is made while the tests run"),
        (loaders.turned, {"root": Path("here")}, "a Posix"),
        (loaders.turned, {"root": [float("inf")]}, "a float has no literal"),
    ],
)
def test_a_case_that_cannot_be_pasted_is_told_with_the_reason(
    factory: Callable[..., Any], arguments: dict[str, Any], why: str, assertions: Assertions
) -> None:
    with pytest.raises(AssertionError, match=f"it is no test to paste, for .*{why}") as failure:
        assertions.assert_invariant(
            factory, over={"workers": [0, 2]}, arguments=arguments, ids=int, search=True
        )

    assert "def test" not in str(failure.value)
    assert 'over={"workers": [0, 2]}' in str(failure.value)


def test_another_seed_must_give_another_order(assertions: Assertions) -> None:
    assertions.assert_seed_sensitive(functools.partial(loaders.reseeded, mended=True), [0, 1, 7])

    with pytest.raises(AssertionError, match="one order with seed=0 and with seed=1: it has no"):
        assertions.assert_seed_sensitive(loaders.reseeded)


def test_fresh_processes_must_give_the_same(assertions: Assertions) -> None:
    assertions.assert_reproducible(axes.hash_seed, 2, arguments={"mended": True})

    with pytest.raises(AssertionError, match="hash_seed=1 has the same records as hash_seed=0"):
        assertions.assert_reproducible(axes.hash_seed, 2)


def test_a_restored_loader_must_go_on_as_before(assertions: Assertions) -> None:
    assertions.assert_resumable(loaders.grain, at=[1, 5])
    assertions.assert_resumable(axes.resume_at, at=[1, 5], arguments={"mended": True})

    with pytest.raises(AssertionError, match="goes on otherwise when it is resumed at 5"):
        assertions.assert_resumable(axes.resume_at, at=[5])


def test_each_epoch_must_have_each_record_once(assertions: Assertions) -> None:
    assertions.assert_covers(loaders.grain, epochs=2)
    assertions.assert_covers(loaders.grain, epochs=2, arguments={"num_epochs": 2})
    assertions.assert_covers(loaders.covering, records=10, ids=int)
    assertions.assert_covers(loaders.covering, records=10)
    assertions.assert_covers(loaders.covering, records=10, ids=str)
    assertions.assert_covers(loaders.covering, records="0123456789", ids=str)
    assertions.assert_covers(loaders.covering, epochs=2, records=iter(range(10)), ids=int)

    with pytest.raises(AssertionError, match="epoch 0: 8 of 10 records come; never 2 of them"):
        assertions.assert_covers(loaders.covering, records=10, arguments={"lost": 2})
    with pytest.raises(AssertionError, match="epoch 0: 8 of 10 records come; never 8, 9; more"):
        assertions.assert_covers(
            loaders.covering, records=10, ids=int, arguments={"lost": 2, "doubled": 1}
        )
    with pytest.raises(AssertionError, match="5 of 5 records come; unknown 5, 6, 7, 8, 9"):
        assertions.assert_covers(loaders.covering, records=5, ids=int)


@pytest.mark.parametrize("weights", [[1.0, 1.0, 4.0], {0: 1.0, 1: 1.0, 2: 4.0}])
def test_records_must_come_as_often_as_weights_say(
    weights: list[float] | dict[int, float], assertions: Assertions
) -> None:
    drawn = functools.partial(loaders.drawn, [1.0, 1.0, 4.0])
    assertions.assert_weights(drawn, weights, ids=int)

    with pytest.raises(AssertionError, match="ignored-weights"):
        assertions.assert_weights(drawn, weights, ids=int, arguments={"ignored": True})


def test_no_rule_may_find_fault_with_a_clean_loader(assertions: Assertions) -> None:
    assertions.assert_clean(loaders.grain(num_epochs=2))

    order, shuffled = loaders.partitioned(), {"shuffle": True}
    assertions.assert_clean(order, ids=int, declared=shuffled)
    with pytest.raises(AssertionError, match="epoch-order-repeat"):
        assertions.assert_clean(order, 2, ids=int, declared=shuffled)
