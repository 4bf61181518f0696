"""Tests that are marked `seed_invariant`: they return a loader, or are given one.

A test that takes the axes is a factory: it is called with each value, and what it returns is
recorded. A test that takes `loader` is called with a loader of each kind, recorded while the
test consumes it; the fixture `loader` gives the factory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from detloader.errors import UsageError
from detloader.testing.context import Context
from detloader.testing.factory import Factory
from detloader.testing.invariance import check_invariance
from detloader.testing.options import Options, Recording

__all__ = ["LOADER", "check_marked", "own_axes"]

LOADER = "loader"
"""Argument of a test that is given a loader."""


def own_axes(function: Callable[..., Any], asked: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a test that the mark gives, and no fixture.

    Args:
        function: the test.
        asked: what the mark says.

    Raises:
        UsageError: the mark names nothing to vary, or the test takes nothing of it.
    """
    axes, _, _ = _read(asked)
    test = Factory.of(function, {})
    if LOADER in test.parameters:
        return []
    named = {axis: test.argument(axis) for axis in [*axes, "seed"]}
    return [name for name in named.values() if name is not None]


def check_marked(
    context: Context,
    function: Callable[..., Any],
    fixtures: Mapping[str, Any],
    asked: Mapping[str, Any],
) -> str:
    """Do what a mark asks for.

    Args:
        context: of the test.
        function: the test.
        fixtures: its other arguments.
        asked: what the mark says.

    Raises:
        AssertionError: loaders differ, or the test itself failed.
    """
    axes, seeds, options = _read(asked)
    consume = None
    if LOADER in fixtures:
        factory = Factory.of(fixtures[LOADER], cast("Options", options), context.fixture)

        def consume(loader: Any) -> None:
            function(**{**fixtures, LOADER: loader})

    else:
        made = cast("Options", {**options, "arguments": fixtures})
        factory = Factory.of(function, made, context.fixture)
    if seeds is not None and factory.argument("seed") is None:
        raise UsageError(f"{factory.name} takes no seed: leave seeds out, or let it take one")
    if factory.argument("seed") is None:
        return check_invariance(context, factory, axes, consume)
    factories = [replace(factory, fixed={"seed": seed}) for seed in seeds or [0]]
    told = [check_invariance(context, each, axes, consume) for each in factories]
    return "; ".join(told)


def _read(
    asked: Mapping[str, Any],
) -> tuple[dict[str, Sequence[Any]], Sequence[int] | None, Recording]:
    """Return the axes that a mark names, its seeds, and how it records."""
    said = {**asked}
    seeds = said.pop("seeds", None)
    options = {name: said.pop(name) for name in Recording.__annotations__ if name in said}
    if not said:
        raise UsageError("seed_invariant varies nothing: write seed_invariant(workers=[0, 2])")
    return said, seeds, cast("Recording", options)
