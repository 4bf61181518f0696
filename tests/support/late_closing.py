"""For tests of loaders that leave the shards they read to the garbage collector, who complains."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import pytest

__all__ = ["LATE_CLOSING", "collect"]

LATE_CLOSING = pytest.mark.filterwarnings(
    "ignore:unclosed file:ResourceWarning",
    "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning",
)


@pytest.fixture(autouse=True)
def collect() -> Iterator[None]:
    """Let it complain here, and not in whatever test comes next."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
