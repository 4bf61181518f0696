"""The child of a replay: `python -m detloader.audits.replay JOB.json PART`."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from detloader.audits.replay.child import run_part
from detloader.audits.replay.job import Part
from detloader.manifest.layout import write_atomically

__all__: list[str] = []

if __name__ == "__main__":
    path = Path(sys.argv[1])
    part = msgspec.json.decode(path.read_bytes(), type=Part)
    report = run_part(part)
    # Last of all, and whole: a child that ends without it died.
    write_atomically(path.with_suffix(".report"), msgspec.json.encode(report))
