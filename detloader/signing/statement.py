"""What a signature of a run attests, as an in-toto statement (v1).

Its subjects are the headers of all ranks. A header lists size and SHA-256 of every other file of
its rank, and the digests of every column; so the statement binds every byte of the run, which
ranks it has, and what was declared of it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, cast

from detloader.manifest.canonical import MOST_BYTES, canonical_bytes
from detloader.manifest.layout import HEADER

if TYPE_CHECKING:
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Run

__all__ = ["PREDICATE_TYPE", "payload_of"]

PREDICATE_TYPE = "urn:detloader:run:v1"
"""Names the form of the predicate; it is no address."""


def payload_of(run: Run) -> bytes:
    """Return the statement of a run, as canonical JSON (RFC 8785): one run has one."""
    ranks = [rank for stream in run.streams.values() for rank in stream.ranks]
    subjects = [
        {
            "name": f"{rank.header.stream}/{rank.folder.name}/{HEADER}",
            "digest": {"sha256": hashlib.sha256(rank.folder.read(HEADER, MOST_BYTES)).hexdigest()},
        }
        for rank in ranks
    ]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "run_id": run.run_id,
            "fingerprint": run.fingerprint,
            "rows": run.rows,
            "complete": run.complete,
        },
    }
    return canonical_bytes(cast("JsonValue", statement))
