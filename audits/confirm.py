"""The commands that a finding names to confirm its cause."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from detloader.findings import JsonValue, RecordId
    from detloader.manifest.reader import Stream

__all__ = ["replay_again", "show"]


def replay_again(path: str, stream: Stream, **varied: JsonValue) -> str | None:
    """Give the command that replays a run, and varies what is thought to be the cause.

    Args:
        path: where the run lies.
        stream: a stream of the run.
        **varied: a telling value of each axis; None where the axis knows some by itself.

    Returns:
        The command; None where the run does not say how its loader was built.
    """
    if stream.recipe is None:
        return None
    words = ["detloader", "replay", path]
    for axis, value in varied.items():
        words += ["--vary", axis if value is None else f"{axis}={_values(stream, axis, value)}"]
    return shlex.join(words)


def _values(stream: Stream, axis: str, value: JsonValue) -> str:
    """Give the value, and beside it the one that the run had, where that is known."""
    had: JsonValue | msgspec.UnsetType = getattr(stream.declared, axis, msgspec.UNSET)
    values = [value] if had in (msgspec.UNSET, value) else [value, had]
    return ",".join(each if isinstance(each, str) else json.dumps(each) for each in values)


def show(path: str, *, epoch: int | None = None, record: RecordId | None = None) -> str:
    """Give the command that shows a run, or its rows of one epoch or record."""
    words = ["detloader", "show", path]
    if epoch is not None:
        words += ["--epoch", str(epoch)]
    if record is not None:
        words += ["--record", str(record)]
    return shlex.join(words)
