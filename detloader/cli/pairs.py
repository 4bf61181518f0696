"""Options of the form NAME=VALUE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["split_pairs"]


def split_pairs(pairs: Iterable[str], option: str) -> dict[str, str]:
    """Return names and values.

    Args:
        pairs: what the option was given, each time.
        option: its name, for messages.

    Raises:
        UsageError: if one has no "=" or no name, or a name comes twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not name or not separator:
            raise UsageError(f"{option} {pair} is no pair: write {option} NAME=VALUE")
        if name in found:
            raise UsageError(f"{option} names {name} twice: leave one out")
        found[name] = value
    return found
