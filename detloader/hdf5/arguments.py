"""What the Dataloader's arguments may be, asked before any file is opened."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np

from detloader.errors import UsageError

__all__ = [
    "Compatibility",
    "Remainder",
    "check_axes",
    "check_choice",
    "check_count",
    "check_flag",
    "check_integer",
    "take_extras",
]

Compatibility: TypeAlias = Literal["zea-0.1"] | None
Remainder: TypeAlias = Literal["keep", "pad", "drop"]

_TOO_MANY = 2**31
"""Of frames, samples or threads; products of two such numbers are no trouble."""

_EXTRAS = ("directory_splits", "file_handle_cache_capacity")


def check_integer(name: str, value: object, least: int, *, optional: bool = False) -> Any:
    """Return an integer argument as an int; None where that is allowed.

    Raises:
        UsageError: it is none, or below the least. True and 2.0 are refused: they are more
            often mistakes than counts.
    """
    if optional and value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        wanted = f"an integer of at least {least}{' or None' if optional else ''}"
        raise UsageError(f"{name} must be {wanted}, not {value!r}")
    return int(value)


def check_count(name: str, value: object, least: int, *, optional: bool = False) -> Any:
    """Return a count as an int; None where that is allowed.

    Raises:
        UsageError: it is no integer, or not in the range of counts.
    """
    count = check_integer(name, value, least, optional=optional)
    if count is not None and count >= _TOO_MANY:
        raise UsageError(f"{name} must be below 2**31, not {count}")
    return count


def check_flag(name: str, value: Any) -> bool:
    """Return a flag as a bool; 0 and 1 are flags, too.

    Raises:
        UsageError: it is none. Text, such as "False", would be true.
    """
    if not isinstance(value, bool | np.bool_ | Integral) or value not in (0, 1):
        raise UsageError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def check_axes(name: str, axes: Any) -> tuple[int, ...]:
    """Return axes as a tuple of integers.

    Raises:
        UsageError: they are none.
    """
    try:
        return tuple(operator.index(axis) for axis in axes)
    except TypeError as error:
        raise UsageError(f"{name} must be given as integers, not {axes!r}") from error


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse a value that is none of the choices.

    Raises:
        UsageError: it is none of them.
    """
    if not isinstance(value, str | None) or value not in choices:
        raise UsageError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def take_extras(extras: Mapping[str, Any]) -> tuple[Any, int]:
    """Return `directory_splits` and `file_handle_cache_capacity` of the published `**kwargs`.

    Raises:
        TypeError: there are others, which it names.
        UsageError: the capacity is no count.
    """
    if unknown := [name for name in extras if name not in _EXTRAS]:
        named = ", ".join(map(repr, unknown))
        known = " and ".join(_EXTRAS)
        raise TypeError(f"Dataloader has no argument {named}: beyond its own it takes {known}")
    capacity = extras.get("file_handle_cache_capacity", 128)
    return extras.get("directory_splits"), check_count("file_handle_cache_capacity", capacity, 1)
