"""JSON for machines, in the form of `docs/result.schema.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from detloader.findings import Result

__all__ = ["render"]


def render(result: Result, *, limit: int = 10, color: bool = False) -> str:  # noqa: ARG001 - JSON is whole and plain
    """Return the whole result; a field that is unset is left out."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n"
