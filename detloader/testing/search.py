"""The smallest case in which a loader is not invariant, as Hypothesis finds it."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from detloader.audits.replay.job import known_as
from detloader.audits.replay.shrink import SIZES
from detloader.errors import DetloaderError
from detloader.extras import require
from detloader.testing.comparison import NotRepeatedError, difference
from detloader.testing.context import Context
from detloader.testing.factory import Conditions, Factory
from detloader.testing.invariance import (
    Axes,
    asks_of,
    check_invariance,
    made_under,
    values_of,
)
from detloader.testing.options import Recording
from detloader.testing.pasted import pasted
from detloader.testing.told import Made

__all__ = ["check_by_search"]


def check_by_search(context: Context, factory: Factory, over: Axes) -> str:
    """Look through sets of axes and numbers of records for the smallest that fails.

    Records are counted by the factory's own argument, such as `size`, where it has one, and
    else by the elements that are taken.

    Raises:
        AssertionError: a case fails; its text ends with a test that shows it.
        NotRepeatedError: the loader does not repeat itself.
        MissingExtraError: Hypothesis is not installed.
    """
    require("hypothesis", extra="hypothesis")
    failure, told = _tried(context, factory, over)
    case = _Cases(context, factory, over).smallest()
    if case is None:
        if failure is not None:
            raise failure
        return told
    axes, smaller = case
    failure = failure or _tried(context, smaller, axes)[0]
    if failure is None:
        raise AssertionError(f"{factory.name} differs from itself now and then")
    test = pasted(smaller, axes, context.module)
    failure.args = (f"{failure}\n\n{test}",)
    raise failure


def _tried(context: Context, factory: Factory, over: Axes) -> tuple[AssertionError | None, str]:
    try:
        return None, check_invariance(context, factory, over)
    except NotRepeatedError:
        raise
    except AssertionError as error:
        return error, ""


class _Cases:
    """Tries cases, each once."""

    def __init__(self, context: Context, factory: Factory, over: Axes) -> None:
        self._context = context
        self._factory = factory
        self._axes = values_of(over)
        self._tried: dict[str, bool] = {}

    def smallest(self) -> tuple[dict[str, list[Any]], Factory] | None:
        """Return the axes, and the factory with the fewest records."""
        from hypothesis import HealthCheck, Phase, find, settings, strategies
        from hypothesis.errors import NoSuchExample

        from detloader.strategies import axes

        cases = strategies.tuples(axes(self._axes), strategies.integers(1, self._most()))
        try:
            values, records = find(
                cases,
                lambda case: self._fails(*case),
                settings=settings(
                    database=None,
                    deadline=None,
                    phases=(Phase.generate, Phase.shrink),
                    suppress_health_check=list(HealthCheck),
                ),
                random=random.Random(0),  # noqa: S311 - the same cases each time
            )
        except NoSuchExample:
            return None
        varied = self._varied(values)
        found = {axis: [self._axes[axis][0], value] for axis, value in varied.items()}
        return found, self._with(records)

    def _fails(self, values: Conditions, records: int) -> bool:
        varied = self._varied(values)
        key = repr((sorted(varied.items()), records))
        if key not in self._tried:
            self._tried[key] = bool(varied) and self._differs(varied, records)
        return self._tried[key]

    def _differs(self, varied: Conditions, records: int) -> bool:
        baseline = {axis: values[0] for axis, values in self._axes.items()}
        factory = self._with(records)
        with tempfile.TemporaryDirectory(prefix="detloader-") as folder:
            try:
                a, b = (
                    Made(made_under(factory, each, Path(folder)), name)
                    for name, each in (("a", baseline), ("b", {**baseline, **varied}))
                )
            except DetloaderError:
                # So few records may be too few for a loader; it failed not when it had all.
                return False
            return difference(self._context, a, b, asks_of(varied)) is not None

    def _varied(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {axis: value for axis, value in values.items() if value != self._axes[axis][0]}

    def _size(self) -> str | None:
        """Return the argument that says how many records there are."""
        name = known_as(SIZES, self._factory.parameters)
        return name if name and isinstance(self._value(name), int) else None

    def _value(self, name: str) -> Any:
        return self._factory.given.get(name, self._factory.parameters[name].default)

    def _most(self) -> int:
        if name := self._size():
            return max(int(self._value(name)), 1)
        if "elements" in self._factory.recording:
            return self._factory.recording["elements"]
        with tempfile.TemporaryDirectory(prefix="detloader-") as folder:
            baseline = {axis: values[0] for axis, values in self._axes.items()}
            return made_under(self._factory, baseline, Path(folder)).rows

    def _with(self, records: int) -> Factory:
        """Return the factory, so that it makes so many records."""
        if name := self._size():
            return replace(self._factory, given={**self._factory.given, name: records})
        recording = cast("Recording", {**self._factory.recording, "elements": records})
        return replace(self._factory, recording=recording)
