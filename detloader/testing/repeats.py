"""Runs that differ, made again: nothing is blamed for what a loader does by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from detloader.audits.replay.engine import REPEATS
from detloader.audits.replay.expectations import Asks
from detloader.testing.comparison import NotRepeatedError, difference, failure
from detloader.testing.context import Context
from detloader.testing.told import Made

__all__ = ["require_alike_again"]

Again: TypeAlias = Callable[[], Made]
"""Makes a run again."""


def require_alike_again(
    context: Context,
    a: Made,
    b: Made,
    again: tuple[Again, Again],
    *,
    called: str,
    title: str,
    asks: Asks = Asks.SAME_ROWS,
) -> None:
    """Fail where the second run is not what it should be, given the first, each time anew.

    Args:
        context: of the assertion.
        a: the baseline.
        b: the run that is compared with it.
        again: make each of them again; only a failure takes that.
        called: what to call the loader.
        title: the first line of the failure.
        asks: what must hold.

    Raises:
        AssertionError: it does not hold.
        NotRepeatedError: it does not hold, and neither does the loader repeat itself.
    """
    result = difference(context, a, b, asks)
    if result is None:
        return
    same = True
    for _ in range(REPEATS):
        _require_same(context, called, a, baseline := again[0]())
    for _ in range(REPEATS):
        other = again[1]()
        same = same and difference(context, b, other, Asks.SAME_ROWS) is None
        if (result := difference(context, baseline, other, asks)) is None:
            _require_same(context, called, b, other)
            return
    changes = "" if same else "; made again, it is another one each time"
    raise AssertionError(failure(f"{title}{changes}", result, baseline, other))


def _require_same(context: Context, called: str, first: Made, second: Made) -> None:
    second = Made(second.run, f"{second.name} again")
    if (result := difference(context, first, second, Asks.SAME_ROWS)) is not None:
        title = f"{called} does not repeat itself: made again ({first.name}), it is not the same"
        raise NotRepeatedError(failure(title, result, first, second))
