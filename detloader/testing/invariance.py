"""The same run, whatever the number of workers and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from detloader.audits.replay.axis import Axis, find_axis
from detloader.audits.replay.expectations import Asks, loosest
from detloader.errors import UsageError
from detloader.manifest.reader import Run
from detloader.manifest.schema import Declared
from detloader.testing.context import Context
from detloader.testing.factory import Conditions, Factory, label
from detloader.testing.repeats import require_alike_again
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

        def make(varied: Conditions, like: Run | None = None) -> Made:
            conditions = {**baseline, **varied}
            return Made(made_under(factory, conditions, folder, consume, like), label(conditions))

        first, called = make({}), factory.called()
        for varied in others:
            before = label({axis: baseline[axis] for axis in varied})
            require_alike_again(
                context,
                first,
                make(varied),
                (partial(make, {}, first.run), partial(make, varied, first.run)),
                called=called,
                title=f"{called} is not the same with {label(varied)} as with {before}",
                asks=asks_of(varied),
            )
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
    like: Run | None = None,
) -> Run:
    """Make and record a loader: in this process, unless a condition is one of whole processes.

    Args:
        factory: makes the loader.
        conditions: those that it is made under.
        folder: where runs are recorded.
        consume: takes the loader's elements; by default they are taken to the end.
        like: a run of the loader. Where it is given, its configuration is declared, and in it
            the conditions that no field has, so that rules know all that differs.

    Raises:
        UsageError: a test that takes a loader's elements cannot be in another process.
    """
    run = run_folder(folder, label(conditions))
    elsewhere = [axis for axis in conditions if factory.argument(axis) is None]
    if not elsewhere:
        declared = _declared({**factory.fixed, **conditions})
        if like is not None:
            declared |= _configured(conditions, like)
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


def _configured(conditions: Conditions, like: Run) -> dict[str, Any]:
    fields = _declared(conditions)
    others = {
        name: value if isinstance(value, str | int | float | bool | None) else repr(value)
        for name, value in conditions.items()
        if getattr(_axis(name), "name", name) not in fields
    }
    (stream,) = like.streams.values()
    # Together and under a name of their own: single entries may be known to change no sample.
    return {"config": {**(stream.declared.config or {}), "over": others}} if others else {}


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
