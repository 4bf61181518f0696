"""How a loader's samples are spread over folders, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from detloader.hdf5.files.discovery import SourceFile

__all__ = ["summarize"]


def summarize(files: Sequence[SourceFile], rows: Sequence[int]) -> str:
    """Return the number of samples, and for each folder how many of them its files have.

    Args:
        files: the loader's files.
        rows: samples of each.
    """
    folders: Counter[str] = Counter()
    for file, count in zip(files, rows, strict=True):
        folders[str(Path(file.path).parent)] += count
    total = folders.total()
    lines = [f"Dataloader with {total} total samples:"]
    lines += [
        f"  {folder}: {count} samples ({count / total:.1%})"
        for folder, count in sorted(folders.items())
        if count
    ]
    return "\n".join(lines)
