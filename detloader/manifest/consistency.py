"""What a header says must fit together: digests over digests, counts over counts."""

from __future__ import annotations

from detloader.errors import DamageError
from detloader.manifest.fingerprints import fingerprint, make_column
from detloader.manifest.schema import BLOCK_ROWS, PART_ROWS, Header, Level

__all__ = ["check_consistency"]


def check_consistency(header: Header, where: str) -> None:
    """Prove that a header's digests and counts follow from each other; nothing else is read.

    Raises:
        DamageError: they do not. Whoever wrote this header did not record it.
    """
    for what in _contradictions(header):
        message = f"{where} is damaged: {what}; restore it from a copy"
        raise DamageError(message)


def _contradictions(header: Header) -> list[str]:
    rows = header.seen.rows
    found = [
        f"the digest of column {column.name!r} does not fit its blocks"
        for column in header.columns
        if make_column(column.name, column.type, column.blocks) != column
    ]
    if header.state == "complete" and fingerprint([header]) != header.fingerprint:
        found.append("its fingerprint does not fit its columns")
    if any(len(column.blocks) != -(-rows // BLOCK_ROWS) for column in header.columns):
        found.append(f"its blocks do not add up to {rows} rows")
    if header.level is not Level.DIGEST and sum(file.rows for file in header.files) != rows:
        found.append(f"its parts do not add up to {rows} rows")
    if any(file.rows > PART_ROWS for file in header.files):
        found.append(f"one of its parts has more than {PART_ROWS} rows")
    if header.level is Level.DIGEST and header.files:
        found.append("it has parts, though it kept no rows")
    if rows and not header.columns:
        found.append("it has rows, but no columns")
    return found
