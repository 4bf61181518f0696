"""Time of an invariance test over three worker counts, with the start of the workers.

    python tests/benchmarks/bench_pytest_plugin.py

The loader is `to_grain` over 1,000 records. The test is the only one of a pytest that is
started for it; its own time is what pytest reports, all that is imported on first use included.
The processor time is that of all processes together, which other programs do not change.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

ROUNDS = 5
TEST = """
from detloader import to_grain

def make_loader(workers=0, seed=0):
    return to_grain(range(1000), seed=seed, shuffle=True, batch_size=32, workers=workers)

def test_order(detloader):
    detloader.assert_invariant(make_loader, over={"workers": [0, 1, 2]})
"""


def seconds(folder: Path) -> tuple[float, float, float]:
    """Return the time of the test, that of pytest as a whole, and its processor time."""
    start, before = time.perf_counter(), os.times()
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml=results.xml"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    whole, after = time.perf_counter() - start, os.times()
    processor = sum(after[2:4]) - sum(before[2:4])
    (case,) = ET.parse(folder / "results.xml").iter("testcase")  # noqa: S314 - written above
    return float(case.attrib["time"]), whole, processor


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_order.py").write_text(TEST, encoding="utf-8")
        measured = [seconds(folder) for _ in range(ROUNDS)]
    test, whole, processor = (statistics.median(times) for times in zip(*measured, strict=True))
    print(  # noqa: T201
        f"three worker counts, 1,000 records: {test:.1f} s; "
        f"pytest as a whole {whole:.1f} s, of processors {processor:.1f} s"
    )


if __name__ == "__main__":
    main()
