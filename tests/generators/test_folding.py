"""Draws one after another have one digest, whichever adapter tells of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from detloader.generators.folding import fold_draws

DIGESTS = st.integers(0, 2**64 - 1)
DRAWN = st.integers(1, 2**62 - 1)


def folded(*digests: int) -> int:
    found = np.zeros(1, np.uint64)
    for digest in digests:
        found = fold_draws(found, np.array([digest], np.uint64))
    return int(found[0])


def test_known_vectors_hold() -> None:
    assert folded(1, 1) == 0x9E3779B97F4A7C16
    assert folded(3, 5, 7) == 13033953917229955483


@given(DIGESTS)
def test_one_draw_keeps_its_digest(digest: int) -> None:
    assert folded(digest) == folded(0, digest) == folded(digest, 0) == digest


@given(DRAWN, DRAWN)
def test_the_order_of_two_draws_is_told(one: int, other: int) -> None:
    assert (folded(one, other) == folded(other, one)) == (one == other)


@given(DIGESTS, DRAWN, DRAWN)
def test_another_second_draw_is_another_digest(first: int, one: int, other: int) -> None:
    assert (folded(first, one) == folded(first, other)) == (one == other)
