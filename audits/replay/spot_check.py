"""A share of the records of a run, made again alone: what keeps something comes out otherwise.

A transform that keeps a state of its own, changes the source's records in place, or draws
from a generator of the whole program gives a record that cannot be made again.
"""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.adapters import find_alone
from detloader.audits.headers import tell_no_rows
from detloader.errors import UsageError
from detloader.manifest.rounding import Digester
from detloader.randomness import digest_draws

if TYPE_CHECKING:
    from detloader.findings import RecordId
    from detloader.grain.alone import Alone
    from detloader.manifest.reader import Run

__all__ = ["Otherwise", "sampled", "spot_check"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Otherwise:
    """A record that came out otherwise.

    Attributes:
        row: its row in the run.
        record: its ID.
        columns: what differs, "draws" or "content".
        cause: why, as far as it shows.
    """

    row: int
    record: RecordId
    columns: tuple[str, ...]
    cause: str


def sampled(rows: int, share: float) -> list[int]:
    """Choose rows by a hash of their number, at least one: the same ones of any run.

    Args:
        rows: rows to choose from.
        share: how many of them, 0 < share <= 1.
    """
    if not rows:
        return []
    numbers = np.arange(rows)
    hashes = digest_draws(np.zeros(2, np.uint64), numbers, np.zeros(rows, np.uint32))
    limit = min(int(share * 2**64), 2**64 - 1)
    chosen = numbers[hashes <= np.uint64(limit)]
    return [int(hashes.argmin())] if not len(chosen) else [int(number) for number in chosen]


def spot_check(loader: Any, run: Run, share: float) -> tuple[int, list[Otherwise]]:
    """Make a share of a run's records again, alone, and compare them with what was recorded.

    Args:
        loader: what was recorded, in one iteration; it makes any row alone.
        run: the run.
        share: share of its rows, 0 < share <= 1.

    Returns:
        How many were made again, and those that came out otherwise.

    Raises:
        UsageError: the loader makes no record alone, or delivered none.
    """
    (stream,) = run.streams.values()
    if (reason := tell_no_rows(run.path, stream)) is not None:
        raise UsageError(reason)
    names = [name for name in ("record", "draws", "content") if name in stream.columns]
    rows = stream.ranks[0].table(names)
    chosen = sampled(len(rows), share)
    digester = Digester.named(stream.ranks[0].header.digesting)
    make = functools.partial(find_alone(loader), loader, digester=digester)
    found = []
    for number in chosen:
        recorded = {name: rows[name][number].as_py() for name in names}
        before = _global_states()
        made = make(number)
        columns = _differing(recorded, made)
        if columns:
            moved = [name for name, state in _global_states().items() if state != before[name]]
            cause = _cause(make, made, moved)
            found.append(
                Otherwise(row=number, record=recorded["record"], columns=columns, cause=cause)
            )
    return len(chosen), found


def _differing(recorded: dict[str, Any], made: Alone) -> tuple[str, ...]:
    again = {"draws": made.draws_digest, "content": made.content}
    differing = [name for name in again if name in recorded and recorded[name] != again[name]]
    if differing == ["content"] and made.content_in_batch() == recorded["content"]:
        return ()
    return tuple(differing)


def _global_states() -> dict[str, Any]:
    """Return the states of the generators that a whole program shares."""
    states: dict[str, Any] = {
        "random": random.getstate(),
        "numpy.random": str(np.random.get_state()),  # noqa: NPY002 - the one that is asked for
    }
    if (torch := sys.modules.get("torch")) is not None:
        states["torch"] = torch.get_rng_state().numpy().tobytes()
    return states


def _cause(make: Callable[[int], Alone], made: Alone, moved: list[str]) -> str:
    if moved:
        return f"it draws from the global generator of {' and '.join(moved)}"
    if made.changed_in_place:
        return "what is made of it changes the source's own record in place"
    again = make(made.position)
    if (again.draws_digest, again.content) != (made.draws_digest, made.content):
        return "it comes out otherwise each time: the transform or the source keeps a state"
    return "the transform or the source kept something from the first time"
