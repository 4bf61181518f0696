"""What a run that was never sealed proves: the fingerprint of the rows that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from detloader.manifest.digests import block_digests
from detloader.manifest.fingerprints import fingerprint, make_column
from detloader.manifest.reader import Rank, Run, open_run

if TYPE_CHECKING:
    import os

    from detloader.manifest.schema import Header

__all__ = ["continuation", "fingerprint_so_far"]


def continuation(parent: str | os.PathLike[str] | None) -> dict[str, str]:
    """Return what a run declares that continues another one; nothing where it does not.

    Raises:
        RunNotFoundError: there is no such run.
        DamageError: it is damaged.
    """
    return {} if parent is None else {"parent": fingerprint_so_far(open_run(parent))}


def fingerprint_so_far(run: Run) -> str:
    """Return a run's fingerprint; of an open run, what it would be if it were sealed as it is.

    Raises:
        DamageError: rows of a rank are missing.
    """
    if run.fingerprint is not None:
        return run.fingerprint
    ranks = [rank for stream in run.streams.values() for rank in stream.ranks]
    return fingerprint([*map(_sealed_header, ranks)])


def _sealed_header(rank: Rank) -> Header:
    header = rank.header
    if header.state == "complete":
        return header
    sealed = {column.name: column.blocks for column in header.columns}
    rest = rank.unsealed
    columns = [
        make_column(
            name,
            type_,
            [*sealed.get(name, []), *(block_digests(rest[name]) if len(rest) else [])],
        )
        for name, type_ in rank.columns.items()
    ]
    return msgspec.structs.replace(header, columns=columns)
