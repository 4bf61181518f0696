"""Makes `tests/fixtures/run-v1-kept`: schema version 1 with all that says how rows were kept.

It was made once, by `python -m tests.support.run_v1_kept tests/fixtures/run-v1-kept`, and is kept
so that every later version reads it, and proves its signature. Never make it again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from detloader import record
from detloader.manifest.verify import verify_run
from detloader.signing import sign_run

__all__ = ["KEYS", "RECORDS"]

KEYS = Path(__file__).parents[1] / "fixtures" / "keys"
RECORDS = [{"id": f"patient-{number}", "x": np.float32(number / 3)} for number in range(10)]


def write_run(run: Path) -> None:
    """Write and sign the run with today's code."""
    kept: Any = {"epochs": [0, 2], "every": 2, "then": "order", "digest": "sha256", "decimals": 3}
    with record(RECORDS, run, ids="id", id_hash=KEYS / "ids.key", **kept) as records:
        for _ in range(3):
            for _ in records:
                pass
    sign_run(verify_run(run), KEYS / "openssl.key")


if __name__ == "__main__":
    write_run(Path(sys.argv[1]))
