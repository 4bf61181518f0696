"""The frozen form of a run."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, cast

import msgspec

from detloader.audits.frozen.form import Frozen, FrozenColumn, FrozenRank, FrozenStream
from detloader.audits.headers import tell_unfinished
from detloader.errors import RunError
from detloader.manifest.canonical import canonical_bytes
from detloader.manifest.reader import Run, open_run
from detloader.manifest.schema import is_compared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.findings import JsonValue
    from detloader.manifest.reader import Rank, Stream
    from detloader.manifest.schema import Declared

__all__ = ["freeze", "grouped_blocks"]

_GROUPS = 16
"""Groups of blocks of one column, over all ranks and beside one for each."""

_LONG = 1000
"""Bytes of a declared value from which on only its digest is kept."""

_DIGITS = 16


def freeze(run: str | os.PathLike[str] | Run) -> Frozen:
    """Return the frozen form of a run; only its headers are read.

    Raises:
        RunNotFoundError: the path holds no run.
        DamageError: the bytes of the run are not those that were recorded.
        RunError: the run is not complete, so that no other could be held against it.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    for stream in opened.streams.values():
        if unfinished := tell_unfinished(opened.path, stream):
            raise RunError(f"{unfinished}: freeze a complete run")
    assert opened.fingerprint is not None
    ranks = [rank for stream in opened.streams.values() for rank in stream.ranks]
    grouped = _grouping(ranks)
    return Frozen(
        fingerprint=opened.fingerprint,
        grouped=grouped,
        streams={name: _stream(stream, grouped) for name, stream in opened.streams.items()},
    )


def grouped_blocks(blocks: Sequence[str], grouped: int) -> list[str]:
    """Return a short digest for each group of blocks.

    It is the beginning of the block's own digest where a group is one block, else of the
    SHA-256 over the digests of the group's blocks, 32 bytes each, in order.

    Args:
        blocks: digests of a column's blocks, in hex.
        grouped: blocks of a group.
    """
    if grouped == 1:
        return [block[:_DIGITS] for block in blocks]
    groups = (blocks[start : start + grouped] for start in range(0, len(blocks), grouped))
    return [
        hashlib.sha256(b"".join(map(bytes.fromhex, group))).hexdigest()[:_DIGITS]
        for group in groups
    ]


def _grouping(ranks: Sequence[Rank]) -> int:
    """Choose the smallest power of two that leaves few enough groups, however long the run is."""
    blocks = [
        max((len(column.blocks) for column in rank.header.columns), default=0) for rank in ranks
    ]
    grouped = 1
    while sum(-(-count // grouped) for count in blocks) > _GROUPS + len(ranks):
        grouped *= 2
    return grouped


def _stream(stream: Stream, grouped: int) -> FrozenStream:
    header = stream.ranks[0].header
    declared, long_values = _shortened(stream.declared)
    return FrozenStream(
        recipe=stream.recipe,
        declared=declared,
        long_values=long_values,
        environment=stream.environment,
        digesting=header.digesting,
        relative_ids=header.relative_ids or False,
        id_hash=header.id_hash or None,
        sampling=header.sampling or None,
        ranks={rank.header.rank: _rank(rank, grouped) for rank in stream.ranks},
    )


def _rank(rank: Rank, grouped: int) -> FrozenRank:
    columns = {
        column.name: FrozenColumn(
            type=column.type,
            digest=column.digest,
            blocks=grouped_blocks(column.blocks, grouped),
        )
        for column in rank.header.columns
        if is_compared(column.name)
    }
    return FrozenRank(rows=rank.rows, columns=columns)


def _shortened(declared: Declared) -> tuple[Declared, dict[str, str]]:
    """Take long values, such as a weight for each record, out of what was declared."""
    fields = cast("dict[str, JsonValue]", msgspec.to_builtins(declared))
    texts = {name: canonical_bytes(value) for name, value in fields.items()}
    long_values = {name: text for name, text in texts.items() if len(text) > _LONG}
    kept = msgspec.structs.replace(declared, **dict.fromkeys(long_values, msgspec.UNSET))
    return kept, {name: hashlib.sha256(text).hexdigest() for name, text in long_values.items()}
