"""Runs that were recorded in different ways, and what of them can be compared.

In an environment that was made, a loader is recorded as any iterable is: its own IDs, draws
and count of epochs and batches are not known there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from detloader.audits.preflight.places import HERE
from detloader.errors import RunError

if TYPE_CHECKING:
    from detloader.audits.frozen import Frozen
    from detloader.audits.frozen.form import FrozenRank
    from detloader.audits.preflight.places import Place
    from detloader.manifest.reader import Run

__all__ = ["comparable"]


def comparable(frozen: Frozen, run: Run, place: Place) -> Frozen:
    """Return what is frozen of the columns that mean the same in a run of that place.

    Raises:
        RunError: there are none.
    """
    ((name, stream),) = frozen.streams.items()
    assert stream.recipe is not None
    before, now = stream.columns, run.streams[name].columns
    if place is HERE and before.get("record") == now.get("record"):
        return frozen
    alike = {"content", "record"} if stream.recipe.ids else {"content"}
    shared = {column for column in alike & before.keys() if before[column] == now.get(column)}
    if before and not shared:
        raise RunError(
            "neither IDs nor content of the frozen run can be compared with what is recorded "
            "in another environment: record it with --ids, or at level full, and freeze it again"
        )
    ranks = {number: _only(rank, shared) for number, rank in stream.ranks.items()}
    narrowed = msgspec.structs.replace(stream, ranks=ranks)
    return msgspec.structs.replace(frozen, streams={name: narrowed})


def _only(rank: FrozenRank, names: set[str]) -> FrozenRank:
    kept = {name: column for name, column in rank.columns.items() if name in names}
    return msgspec.structs.replace(rank, columns=kept)
