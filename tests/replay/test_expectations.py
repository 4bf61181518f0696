"""What must hold for a varied run: nothing legitimate is called broken, and nothing else passes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.audits import audit
from detloader.audits.replay.expectations import Asks, loosest, meets
from detloader.manifest.reader import open_run
from tests.support.runs import write_run

SIZE = 24

# Each example writes two runs.
FEW = settings(max_examples=10)


def met(asks: Asks, a: dict[str, Any], b: dict[str, Any], **declared: Any) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        runs = [
            open_run(write_run(Path(folder) / name, rows, declared))
            for name, rows in (("a", a), ("b", b))
        ]
        return meets(asks, audit(*runs), *runs)


def batched(records: np.ndarray, batch_size: int, ranks: int = 1) -> dict[str, Any]:
    """Deal records to ranks in turn; each rank has batches of this size."""
    places = np.arange(len(records))
    rank, within = places % ranks, places // ranks
    return {"record": records, "batch": within // batch_size, "rank": rank}


ORDERS = st.permutations(range(SIZE)).map(np.array)


@FEW
@given(ORDERS, st.sampled_from([1, 2, 3, 4]), st.sampled_from([1, 2, 3]))
def test_ranks_that_share_out_global_batches_are_as_they_should_be(
    order: np.ndarray, batch_size: int, ranks: int
) -> None:
    one, several = batched(order, batch_size), batched(order, batch_size, ranks)

    assert met(Asks.SAME_GLOBAL_BATCHES, one, several)


@FEW
@given(ORDERS, st.integers(0, SIZE - 1), st.integers(1, SIZE - 1))
def test_a_record_in_another_global_batch_or_twice_is_not(
    order: np.ndarray, place: int, distance: int
) -> None:
    doubled, moved = order.copy(), order.copy()
    other = (place + distance) % SIZE
    doubled[place] = order[other]
    moved[[place, other]] = moved[[other, place]]
    same_batch = place // 4 == other // 4
    one = batched(order, 4)

    assert not met(Asks.SAME_GLOBAL_BATCHES, one, batched(doubled, 2, 2))
    assert met(Asks.SAME_GLOBAL_BATCHES, one, batched(moved, 2, 2)) == same_batch


@FEW
@given(ORDERS, st.integers(1, 6), st.integers(1, 6))
def test_other_batches_of_the_same_order_are_as_they_should_be(
    order: np.ndarray, first: int, second: int
) -> None:
    one, other = batched(order, first), batched(order, second)

    assert met(Asks.SAME_ORDER, one, other)
    assert met(Asks.SAME_ROWS, one, other) == (first == second)
    assert not met(Asks.OTHER_ROWS, one, other)


@pytest.mark.parametrize(
    ("dropped", "declared", "holds"), [(4, True, True), (8, True, False), (4, False, False)]
)
def test_a_tail_may_be_missing_where_it_is_declared_to_be_dropped(
    dropped: int, declared: bool, holds: bool
) -> None:
    order = np.arange(SIZE)
    one, other = batched(order, 4), batched(order[: SIZE - dropped], 8)

    assert (
        met(Asks.SAME_ORDER, one, other, drop_remainder=declared, batch_size=8, source_size=SIZE)
        is holds
    )


def test_without_batches_ranks_take_turns() -> None:
    records = np.arange(10)
    ranks = {"record": records, "rank": records % 2}

    assert met(Asks.SAME_GLOBAL_BATCHES, {"record": records}, ranks)
    assert met(Asks.SAME_SET, {"record": records}, {"record": records[::-1]})
    assert met(Asks.OTHER_ROWS, {"record": records}, {"record": records[::-1]})


def test_together_axes_may_ask_no_more_than_the_loosest() -> None:
    assert loosest([Asks.SAME_ROWS, Asks.SAME_ORDER]) is Asks.SAME_ORDER
    assert loosest([Asks.SAME_GLOBAL_BATCHES, Asks.SAME_ORDER]) is Asks.SAME_GLOBAL_BATCHES
