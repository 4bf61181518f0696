"""Opening a run costs no library that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUN_V1 = Path(__file__).parents[1] / "fixtures" / "run-v1"


def loaded_after(program: str) -> set[str]:
    code = f"import sys; {program}; print(*(name for name in sys.modules if '.' not in name))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


def test_headers_are_read_without_numpy_or_pyarrow() -> None:
    loaded = loaded_after(
        "from detloader import open_run; "
        f"run = open_run({str(RUN_V1)!r}); run.fingerprint, run.rows, run.complete, "
        "run.streams['main'].columns, run.streams['main'].digests"
    )

    assert "detloader" in loaded
    assert not loaded & {"numpy", "pyarrow", "pandas", "grain", "tensorflow", "torch", "xxhash"}


def test_rows_are_read_without_any_training_framework() -> None:
    loaded = loaded_after(
        "from detloader.manifest.verify import verify_run; "
        f"verify_run({str(RUN_V1)!r}).streams['main'].table()"
    )

    assert "pyarrow" in loaded
    assert not loaded & {"pandas", "grain", "tensorflow", "torch"}
