"""Samples and batches compared, leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["assert_all_equal", "assert_equal"]


def assert_equal(found: Any, expected: Any) -> None:
    """Ask for equal containers, equal types of numbers, and equal bits."""
    if isinstance(expected, Mapping):
        assert isinstance(found, Mapping)
        assert list(found) == list(expected)
        for key in expected:
            assert_equal(found[key], expected[key])
    elif isinstance(expected, tuple | list):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other)
    else:
        one, other = np.asarray(found), np.asarray(expected)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()


def assert_all_equal(found: Iterable[Any], expected: Iterable[Any]) -> None:
    """Ask for as many elements, each equal."""
    for one, other in zip(found, expected, strict=True):
        assert_equal(one, other)
