"""What an axis is, and where axes are found.

An axis is a module of `detloader.audits.axes`. Its name is the axis's, its docstring is the
axis's page, and it has a `STAGE` (where in a loader its effect lies), an `ASKS` (what must
hold for a run that it varied) and a way to vary a job, of which there are three:

    NAMES               keyword arguments of the factory, by the names that factories give them
    vary(job, value)    gives the job under the other condition
    enter(value)        changes the child process before the factory is imported

and what it tries, `VALUES`, or `values(job)` where that depends on the job: it is offered
where that gives any. `current(job)` tells the unvaried value, where there is one.
`BY_DEFAULT = False` leaves it out unless it is named, `SHRINKS = True` says that smaller
values make a simpler case, and `TEXT = True` that values are text, such as 3.10.

The name of an installed package is an axis as well, that of its versions: the module `package`
defines them all, and is told the name by `vary(job, value, name)`.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from detloader.audits import axes
from detloader.audits.environments.interpreter import installed
from detloader.audits.replay.expectations import Asks
from detloader.audits.rule import Stage
from detloader.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType

    from detloader.audits.replay.job import Job
    from detloader.findings import JsonValue

__all__ = ["Axis", "all_axes", "find_axis", "in_order"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis, as its module defines it."""

    name: str
    page: str
    stage: Stage
    asks: Asks
    by_default: bool
    shrinks: bool
    text: bool
    names: tuple[str, ...]
    tried: Sequence[JsonValue]
    values_of: Callable[[Job], Sequence[JsonValue]] | None
    current_of: Callable[[Job], JsonValue] | None
    change: Callable[..., Job] | None
    enter: Callable[[Any], None] | None

    def current(self, job: Job) -> JsonValue:
        """Return the unvaried value; None where it has no name."""
        if self.current_of is not None:
            return self.current_of(job)
        name = job.argument(self.names)
        return None if name is None else job.value(name)

    def values(self, job: Job) -> list[JsonValue]:
        """Return what it tries where nobody names values; nothing where it is not offered."""
        if self.names and self.change is None and job.argument(self.names) is None:
            return []
        tried = self.tried if self.values_of is None else self.values_of(job)
        return [value for value in tried if value != self.current(job)]

    def vary(self, job: Job, value: JsonValue) -> Job:
        """Return the job under another condition.

        Raises:
            UsageError: the axis has no such value, or the factory takes no such argument.
        """
        if self.change is not None:
            return self.change(job, value)
        if self.enter is not None:
            return msgspec.structs.replace(job, hooks={**job.hooks, self.name: value})
        name = job.argument(self.names)
        if name is None:
            raise UsageError(
                f"{job.factory} takes no {self.name}: it has no argument {' or '.join(self.names)}"
            )
        return msgspec.structs.replace(job, arguments={**job.arguments, name: value})


@functools.cache
def all_axes() -> tuple[Axis, ...]:
    """Find all axes, in causal order."""
    found = (find_axis(module.name) for module in pkgutil.iter_modules(axes.__path__))
    return tuple(in_order(found))


def in_order(found: Iterable[Axis]) -> list[Axis]:
    """Return axes in causal order."""
    return sorted(found, key=lambda axis: (axis.stage, axis.name))


@functools.cache
def find_axis(name: str) -> Axis:
    """Load one axis, by its name or by a name that factories give to its argument.

    Raises:
        UsageError: there is none of that name.
    """
    names = [module.name for module in pkgutil.iter_modules(axes.__path__)]
    if name not in names:
        for axis in all_axes():
            if name in axis.names:
                return axis
        if name and installed(name) is not None:
            return _of_package(name)
        raise UsageError(
            f"there is no axis {name!r}: the axes are {', '.join(names)}, and installed packages"
        )
    return _as_axis(name, importlib.import_module(f"{axes.__name__}.{name}"))


def _of_package(name: str) -> Axis:
    versions = find_axis("package")
    assert versions.change is not None
    return replace(
        versions,
        name=name,
        current_of=lambda _: installed(name),
        change=functools.partial(versions.change, name=name),
    )


def _as_axis(name: str, module: ModuleType) -> Axis:
    return Axis(
        name=name,
        page=module.__doc__ or "",
        stage=module.STAGE,
        asks=module.ASKS,
        by_default=getattr(module, "BY_DEFAULT", True),
        shrinks=getattr(module, "SHRINKS", False),
        text=getattr(module, "TEXT", False),
        names=getattr(module, "NAMES", ()),
        tried=getattr(module, "VALUES", ()),
        values_of=getattr(module, "values", None),
        current_of=getattr(module, "current", None),
        change=getattr(module, "vary", None),
        enter=getattr(module, "enter", None),
    )
