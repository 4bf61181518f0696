"""The commands that a finding names to confirm its cause."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detloader.findings import JsonValue, RecordId
    from detloader.manifest.reader import Stream

__all__ = ["record_again", "show"]

ALIASES = {
    "workers": ("num_workers", "worker_count"),
    "threads": ("num_threads", "read_threads", "num_parallel_calls"),
}
"""Other names that factories give to what is varied."""


def record_again(path: str, stream: Stream, **changes: JsonValue) -> str | None:
    """Give the command that records a loader again, with other arguments where any are given.

    Args:
        path: where the run lies; the new one is to lie beside it.
        stream: a stream of the run.
        **changes: arguments of its factory that take other values.

    Returns:
        The command; None where the run does not say how its loader was built.
    """
    recipe = stream.recipe
    if recipe is None:
        return None
    changed = {_as_the_factory_names(name, recipe.arguments): of for name, of in changes.items()}
    words = ["detloader", "record", recipe.factory]
    for name, value in (recipe.arguments | changed).items():
        words += ["-p", f"{name}={json.dumps(value)}"]
    suffix = "".join(f"-{name}-{value}" for name, value in changes.items()) or "-again"
    return shlex.join([*words, "-o", f"{path.rstrip('/')}{suffix}"])


def _as_the_factory_names(name: str, arguments: dict[str, JsonValue]) -> str:
    names = (name, *ALIASES.get(name, ()))
    return next((known for known in names if known in arguments), name)


def show(path: str, *, epoch: int | None = None, record: RecordId | None = None) -> str:
    """Give the command that shows a run, or its rows of one epoch or record."""
    words = ["detloader", "show", path]
    if epoch is not None:
        words += ["--epoch", str(epoch)]
    if record is not None:
        words += ["--record", str(record)]
    return shlex.join(words)
