"""What a process takes: time by the clock, time of the processor, memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Cost", "cost_of"]

# A process begins with the memory of the one that starts it, so that is a small one.
_STARTER = """
import json, os, sys, time
began = time.perf_counter()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
used = os.wait4(pid, 0)[2]
cost = time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
json.dump(cost, open(sys.argv[1], "w"))
"""


class Cost(NamedTuple):
    """What one process took, and what it said.

    Attributes:
        wall: seconds by the clock, with its start.
        processor: seconds of the processor, over all of its threads.
        memory: its peak, in MB.
        output: what it printed, errors among it.
    """

    wall: float
    processor: float
    memory: float
    output: str


def cost_of(command: Sequence[object]) -> Cost:
    """Run a command to its end; its exit status does not matter."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "cost.json")
        starter = [sys.executable, "-IS", "-c", _STARTER, str(told)]
        ran = subprocess.run(
            [*starter, *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        wall, processor, memory = json.loads(told.read_text())
    return Cost(wall, processor, memory, ran.stdout)
