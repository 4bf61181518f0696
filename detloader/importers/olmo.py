"""Order logs of OLMo: what `save_data_indices` writes, one file for each rank.

A line is the step and the indices of its batch, between tabs. The log is one file
`rank3.tsv.gz`, or the folder `data-indices` with those of all ranks.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pyarrow as pa

from detloader.errors import LogError
from detloader.importers.format import LogFormat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["FORMAT"]

_NAME = re.compile(r"rank(\d+)\.tsv(\.gz)?")


def _recognises(log: Path) -> bool:
    return bool(_NAME.fullmatch(log.name)) if log.is_file() else bool(_files(log))


def _read(log: Path) -> pa.Table:
    """Read the ranks, in ascending order.

    Raises:
        LogError: if a line is not a step and indices.
    """
    files = {_rank(log): log} if log.is_file() else _files(log)
    rows = [row for rank, file in sorted(files.items()) for row in _rows(file, rank)]
    record, batch, rank = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {name: pa.array(values, pa.int64()) for name, values in
         {"record": record, "batch": batch, "rank": rank}.items()}
    )  # fmt: skip


def _files(folder: Path) -> dict[int, Path]:
    return {_rank(file): file for file in folder.iterdir() if _NAME.fullmatch(file.name)}


def _rank(file: Path) -> int:
    return int(file.name.removeprefix("rank").partition(".")[0])


def _rows(file: Path, rank: int) -> Iterator[tuple[int, int, int]]:
    """Yield record, step and rank of each line's indices."""
    opener = gzip.open if file.suffix == ".gz" else open
    line = ""
    try:
        with opener(file, "rt", encoding="ascii") as lines:
            for line in lines:
                step, *indices = map(int, line.split("\t"))
                for index in indices:
                    yield index, step, rank
    except EOFError:
        # A program that was killed leaves its last block unfinished; what is whole counts.
        return
    except (ValueError, gzip.BadGzipFile) as error:
        message = f"{file}: {line.strip()[:40]!r} is not a step and indices between tabs: {error}"
        raise LogError(message) from error


FORMAT = LogFormat(
    suffixes=(".tsv", ".tsv.gz"),
    read=_read,
    is_text=False,
    row_name="row",
    first_row=1,
    recognises=_recognises,
)
