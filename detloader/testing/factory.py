"""A factory of loaders: what it takes, what it is given, and how its loaders are recorded."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from types import ModuleType
from typing import Any, cast

from detloader.audits.axes import world_size
from detloader.audits.replay.axis import find_axis
from detloader.audits.replay.job import known_as
from detloader.errors import FactoryError, UsageError
from detloader.testing.options import Options, Recording

__all__ = ["Conditions", "Factory", "label", "module_of", "no_fixture"]

Conditions = Mapping[str, Any]
"""The value of each axis that a run is made under."""


def no_fixture(name: str) -> Any:
    """Give no argument.

    Raises:
        LookupError: always.
    """
    raise LookupError(name)


@dataclass(frozen=True, slots=True)
class Factory:
    """A function that makes a loader.

    Attributes:
        function: what is called.
        given: keyword arguments of every call.
        fixture: gives an argument that nobody else gives, by its name, or raises LookupError.
        parameters: the keyword arguments that it takes, by name.
        takes_any: whether it takes any others.
        recording: how its loaders are recorded.
        fixed: what holds for all of them; the seed, where it takes one.
    """

    function: Callable[..., Any]
    given: Mapping[str, Any]
    fixture: Callable[[str], Any]
    parameters: Mapping[str, inspect.Parameter]
    takes_any: bool
    recording: Recording
    fixed: Conditions = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        function: Any,
        options: Options,
        fixture: Callable[[str], Any] = no_fixture,
        seed: int | None = None,
    ) -> Factory:
        """Look at what a factory takes.

        Args:
            function: what the user gave.
            options: how loaders are made and recorded.
            fixture: gives an argument that nobody else gives.
            seed: given where it takes one.

        Raises:
            UsageError: it cannot be called.
        """
        if not callable(function):
            kind = type(function).__name__
            raise UsageError(f"give the function that makes the loader, and not the {kind} itself")
        recording = cast("dict[str, Any]", {**options})
        given: Mapping[str, Any] = recording.pop("arguments", {})
        if isinstance(function, functools.partial) and not function.args:
            function, given = function.func, {**function.keywords, **given}
        parameters = _parameters(function)
        named = {
            each.name: each
            for each in parameters
            if each.kind in {each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY}
        }
        takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
        made = cls(function, given, fixture, named, takes_any, cast("Recording", recording))
        if seed is None or made.argument("seed") is None:
            return made
        return replace(made, fixed={"seed": seed})

    @property
    def name(self) -> str:
        """Its name, without that of a function around it."""
        name: str = getattr(self.function, "__qualname__", type(self.function).__name__)
        return name.rpartition("<locals>.")[2]

    def argument(self, axis: str) -> str | None:
        """Return the name under which it takes an axis; None where it does not.

        Raises:
            UsageError: it takes no such argument, and there is no such axis.
        """
        if axis in world_size.NAMES:
            # Each rank is a process of its own, whatever it is told by.
            return None
        if axis in self.parameters or axis in self.given:
            return axis
        try:
            known = known_as(find_axis(axis).names, self.parameters)
        except UsageError as error:
            if self.takes_any:
                return axis
            raise UsageError(f"{self.name} takes no {axis}, and {error}") from None
        return axis if known is None and self.takes_any else known

    def arguments(self, conditions: Conditions) -> dict[str, Any]:
        """Return all arguments of a call under these conditions, as far as they are arguments.

        Raises:
            FactoryError: one is lacking.
        """
        held = {**self.fixed, **conditions}
        named = {self.argument(axis): value for axis, value in held.items()}
        found = {**self.given, **{name: value for name, value in named.items() if name}}
        for name, parameter in self.parameters.items():
            if parameter.default is parameter.empty and name not in found:
                found[name] = self._from_fixture(name)
        return found

    def _from_fixture(self, name: str) -> Any:
        try:
            return self.fixture(name)
        except LookupError:
            raise FactoryError(
                f"{self.name} needs {name}, which nobody gives: pass "
                f"arguments={{{name!r}: …}}, or write a fixture of that name"
            ) from None

    def call(self, conditions: Conditions) -> Any:
        """Make a loader.

        Raises:
            FactoryError: an argument is lacking, the factory failed, or it returned nothing.
        """
        arguments = self.arguments(conditions)
        try:
            loader = self.function(**arguments)
        except Exception as error:
            raise FactoryError(
                f"{self.called(conditions)} failed: {type(error).__name__}: {error}"
            ) from error
        if loader is None:
            raise FactoryError(f"{self.called(conditions)} gave None: let it return the loader")
        return loader

    def called(self, conditions: Conditions | None = None) -> str:
        """Return the call that conditions make, such as `make_loader(seed=0, workers=2)`."""
        return f"{self.name}({label({**self.fixed, **(conditions or {})})})"


def label(conditions: Conditions) -> str:
    """Return conditions as a call has them.

    >>> label({"workers": 2, "seed": 0})
    'workers=2, seed=0'
    """
    return ", ".join(f"{name}={value!r}" for name, value in conditions.items())


def module_of(function: Callable[..., Any]) -> ModuleType | None:
    """Return the module in which a function is found by its name; None where it is in none."""
    module = inspect.getmodule(function)
    try:
        found = attrgetter(getattr(function, "__qualname__", ""))(module)
    except AttributeError:
        return None
    return module if found == function else None


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        # Of some that are written in C nothing is known; they say themselves what they lack.
        return [inspect.Parameter("arguments", inspect.Parameter.VAR_KEYWORD)]
