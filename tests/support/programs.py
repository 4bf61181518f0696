"""Programs, written to a file and run as they are, their loaders recorded."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from detloader import open_run

__all__ = ["HEAD", "column", "record_program", "write_program"]

HEAD = """
    import sys, torch
    from torch.utils.data import DataLoader, TensorDataset
    data = TensorDataset(torch.arange(20).float())
"""


def write_program(folder: Path, text: str, head: str = HEAD, name: str = "train.py") -> Path:
    """Write a program, and return its file."""
    program = folder / name
    program.write_text(textwrap.dedent(head) + textwrap.dedent(text))
    return program


def record_program(
    folder: Path, *command: object, run: str = "run", flags: Sequence[str] = (), **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run `detloader record -o RUN -- COMMAND` in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "detloader", "record", "-o", run, *flags, "--", *map(str, command)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
        **options,
    )


def column(run: Path, name: str, stream: str) -> list[Any]:
    """Return one column of one stream."""
    return open_run(run).streams[stream].table([name])[name].to_pylist()
