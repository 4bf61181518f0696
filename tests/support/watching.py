"""Processes that write a run and watch it: `python -m tests.support.watching PROGRAM RUN`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from detloader import open_run
from detloader.errors import DamageError, RunExistsError, RunNotFoundError
from detloader.manifest.reader import Run
from detloader.manifest.writer import PART_ROWS
from tests.support.tables import rank_writer

__all__ = ["PIECES", "ROWS"]

PIECES = [1, 30_000, 7, 100_000] * 8
ROWS = sum(PIECES)
FEW = 4
assert ROWS > 3 * PART_ROWS


def say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def write(run: Path) -> int:
    """Write whole numbers in pieces, with a part sealed now and then; return the rows.

    The second half is not begun before a line on standard input.
    """
    with rank_writer(run) as writer:
        for number, piece in enumerate(PIECES):
            if number == len(PIECES) // 2:
                sys.stdin.readline()
            writer.append(pa.table({"record": np.arange(writer.rows, writer.rows + piece)}))
    return writer.rows


def watch(run: Path) -> list[int]:
    """Read until the run is complete; return how many rows were there, each time.

    It says so when it has read some of them a few times.
    """
    say("watching")
    seen: list[int] = []
    while True:
        opened = _opened(run)
        if opened is None:
            assert not seen
            continue
        if opened.rows:
            records = opened.streams["main"].table(["record"])["record"].to_numpy()
            assert np.array_equal(records, np.arange(opened.rows))
        seen.append(opened.rows)
        if len(seen) == FEW:
            say("reading")
        if opened.complete:
            return seen


def _opened(run: Path) -> Run | None:
    try:
        return open_run(run)
    except RunNotFoundError:
        return None
    except DamageError as error:
        # Its recorder made the folder, and its header comes next.
        if "half-written" in str(error):
            return None
        raise


def begin(run: Path) -> str:
    """Begin to record, and say what came of it; the lock is held until standard input ends."""
    try:
        _held.append(rank_writer(run))
    except RunExistsError as error:
        return str(error)
    return "recording"


_held: list[object] = []


if __name__ == "__main__":
    program = {"write": write, "watch": watch, "begin": begin}[sys.argv[1]]
    say(program(Path(sys.argv[2])))
    sys.stdin.read()
