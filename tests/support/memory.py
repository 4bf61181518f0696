"""The most memory that this process held."""

from __future__ import annotations

import re
import resource
from pathlib import Path

__all__ = ["most_megabytes"]


def most_megabytes() -> float:
    """Return the most megabytes that this process held."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not from getrusage, which on Linux counts the process that started this one, too.
        peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert peak is not None
        return int(peak[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
