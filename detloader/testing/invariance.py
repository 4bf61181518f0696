"""The same run, whatever the number of workers and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from detloader.audits.replay.axis import Axis, find_axis
from detloader.audits.replay.expectations import Asks, loosest
from detloader.errors import UsageError
from detloader.manifest.reader import Run
from detloader.manifest.schema import Declared
from detloader.testing.comparison import require_alike
from detloader.testing.context import Context
from detloader.testing.factory import Conditions, Factory, label
from detloader.testing.runs import record_made, run_folder
from detloader.testing.told import Made

__all__ = ["Axes", "asks_of", "check_invariance", "made_under", "values_of"]

Axes = Mapping[str, Sequence[Any]]
"""The values of each axis; the first of them is what the others are compared with."""


def check_invariance(
    context: Context,
    factory: Factory,
    over: Axes,
    consume: Callable[[Any], None] | None = None,
) -> str:
    """Compare runs under other conditions with one under the first value of each axis.

    Args:
        context: of the assertion.
        factory: makes the loader.
        over: what is varied.
        consume: takes a loader's elements; by default they are taken to the end.

    Returns:
        What was compared.

    Raises:
        AssertionError: a run differs.
    """
    axes = values_of(over)
    baseline = {axis: values[0] for axis, values in axes.items()}
    others = [*_variations(axes)]
    with context.folder() as folder:

        def make(varied: Conditions) -> Made:
            conditions = {**baseline, **varied}
            return Made(made_under(factory, conditions, folder, consume), label(conditions))

        first = make({})
        for varied in others:
            before = label({axis: baseline[axis] for axis in varied})
            title = f"{factory.called()} is not the same with {label(varied)} as with {before}"
            require_alike(context, first, make(varied), title, asks_of(varied))
    return f"{1 + len(others)} runs of {first.run.rows:,} rows"


def values_of(over: Axes) -> dict[str, list[Any]]:
    """Return the values of each axis as lists.

    Raises:
        UsageError: there is nothing to compare, or the seed is among the axes.
    """
    axes = {axis: list(values) for axis, values in over.items()}
    few = next((axis for axis, values in axes.items() if len(values) < 2), None)  # noqa: PLR2004
    if not axes or few:
        raise UsageError(f'name two values or more of {few or "an axis"}, as {{"workers": [0, 2]}}')
    if asks_of(axes) is Asks.OTHER_ROWS:
        raise UsageError("another seed is meant to give another run: use assert_seed_sensitive")
    return axes


def asks_of(axes: Conditions) -> Asks:
    """Return what must hold for a varied run: the same rows, unless an axis asks for less."""
    return loosest([Asks.SAME_ROWS, *(axis.asks for axis in map(_axis, axes) if axis)])


def made_under(
    factory: Factory,
    conditions: Conditions,
    folder: Path,
    consume: Callable[[Any], None] | None = None,
) -> Run:
    """Make and record a loader: in this process, unless a condition is one of whole processes.

    Raises:
        UsageError: a test that takes a loader's elements cannot be in another process.
    """
    run = run_folder(folder, label(conditions))
    elsewhere = [axis for axis in conditions if factory.argument(axis) is None]
    if not elsewhere:
        declared = _declared({**factory.fixed, **conditions})
        return record_made(factory, conditions, run, declared=declared, consume=consume)
    if consume is not None:
        raise UsageError(
            f"{elsewhere[0]} is varied in fresh processes, where no test takes a loader: return it"
        )
    from detloader.testing.fresh import job_for, record_fresh

    return record_fresh(job_for(factory, conditions), run, factory.called(conditions))


def _declared(conditions: Conditions) -> dict[str, Any]:
    """Return what conditions say of a loader, so that rules know of it."""
    axes = {axis.name: value for name, value in conditions.items() if (axis := _axis(name))}
    return {name: value for name, value in axes.items() if _can_be_declared(name, value)}


def _can_be_declared(name: str, value: Any) -> bool:
    try:
        msgspec.convert({name: value}, Declared)
    except msgspec.ValidationError:
        return False
    return True


def _axis(name: str) -> Axis | None:
    """Return an axis; None of an argument that is none."""
    try:
        return find_axis(name)
    except UsageError:
        return None


def _variations(axes: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield what is varied: each axis alone, and at last all of them together."""
    for axis, values in axes.items():
        yield from ({axis: value} for value in values[1:])
    if len(axes) > 1:
        yield {axis: values[-1] for axis, values in axes.items()}
