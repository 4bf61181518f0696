"""Runs of any length that have headers and no rows, for what is told from digests alone."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from detloader.manifest.fingerprints import fingerprint, make_column
from detloader.manifest.local import LocalFolder
from detloader.manifest.reader import Rank, Run, Stream
from detloader.manifest.schema import BLOCK_ROWS, Declared, Environment, Header, Level, Seen

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["headers_only"]


def headers_only(
    blocks: int, changed: Collection[tuple[int, str, int]] = (), *, ranks: int = 1, cut: int = 0
) -> Run:
    """Return a run of so many blocks in each rank.

    Args:
        blocks: blocks of each rank.
        changed: blocks that are other than usual, as (rank, column, block).
        ranks: ranks.
        cut: rows that the last block of each rank lacks.
    """
    headers = [_header(blocks, changed, rank, ranks, cut) for rank in range(ranks)]
    stream = Stream("main", tuple(Rank(header, LocalFolder(Path("nowhere"))) for header in headers))
    return Run("runs/long", {"main": stream})


def _header(
    blocks: int, changed: Collection[tuple[int, str, int]], rank: int, ranks: int, cut: int
) -> Header:
    columns = [
        make_column(
            name,
            "int64",
            [_block((rank, name, at) in changed, rank, name, at) for at in range(blocks)],
        )
        for name in ("record", "epoch", "batch", "draws", "content")
    ]
    header = Header(
        run_id="long",
        stream="main",
        rank=rank,
        ranks=ranks,
        level=Level.DIGEST,
        state="complete",
        declared=Declared(),
        environment=Environment(),
        seen=Seen(rows=blocks * BLOCK_ROWS - cut),
        columns=columns,
    )
    return msgspec.structs.replace(header, fingerprint=fingerprint([header]))


def _block(changed: bool, *where: object) -> str:
    return hashlib.sha256(repr((changed, where)).encode()).hexdigest()
