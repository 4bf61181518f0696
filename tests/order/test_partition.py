from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.errors import UsageError
from detloader.order.partition import contiguous, contiguous_floor

if TYPE_CHECKING:
    from collections.abc import Callable

sizes = st.integers(0, 300)
counts = st.integers(1, 40)


@given(size=sizes, parts=counts)
def test_contiguous_parts_hold_every_position_once_in_order(size: int, parts: int) -> None:
    assert list(chain(*contiguous(size, parts))) == list(range(size))


@given(size=sizes, parts=counts)
def test_contiguous_parts_differ_by_one_and_the_longer_come_first(size: int, parts: int) -> None:
    lengths = [len(part) for part in contiguous(size, parts)]

    assert len(lengths) == min(parts, size)
    assert lengths.count(max(lengths, default=0)) in {size % max(len(lengths), 1), len(lengths)}
    assert all(0 <= a - b <= 1 for a, b in pairwise(lengths))


@given(size=sizes, parts=counts)
def test_floored_parts_are_equal_and_drop_exactly_the_tail(size: int, parts: int) -> None:
    ranges = contiguous_floor(size, parts)

    kept = size - size % min(parts, size) if size else 0
    assert list(chain(*ranges)) == list(range(kept))
    assert len({len(part) for part in ranges}) <= 1
    assert len(ranges) == min(parts, size)


@pytest.mark.parametrize(
    ("size", "parts", "expected"),
    [
        (10, 4, [range(3), range(3, 6), range(6, 8), range(8, 10)]),
        (2, 4, [range(1), range(1, 2)]),
        (0, 4, []),
    ],
)
def test_known_contiguous_parts_hold(size: int, parts: int, expected: list[range]) -> None:
    assert contiguous(size, parts) == expected


@pytest.mark.parametrize(
    ("size", "parts", "dropped"),
    [(10, 4, {8, 9}), (10, 3, {9}), (7, 4, {4, 5, 6}), (9, 2, {8}), (4, 8, set()), (8, 4, set())],
)
def test_known_dropped_tails_hold(size: int, parts: int, dropped: set[int]) -> None:
    assert set(range(size)).difference(*contiguous_floor(size, parts)) == dropped


@pytest.mark.parametrize("cut", [contiguous, contiguous_floor])
@pytest.mark.parametrize(("size", "parts"), [(-1, 2), (5, 0), (5, -3)])
def test_impossible_parts_are_refused(
    cut: Callable[[int, int], list[range]], size: int, parts: int
) -> None:
    with pytest.raises(UsageError, match=r"size is -1|parts is"):
        cut(size, parts)
