"""Order logs of OLMo: what `save_data_indices` writes, one file for each rank.

A line is the step and the indices of its batch, between tabs. The log is one file
`rank3.tsv.gz`, or the folder `data-indices` with those of all ranks.
"""

from __future__ import annotations

import gzip
import re
import zlib
from typing import TYPE_CHECKING

import pyarrow as pa

from detloader.errors import LogError
from detloader.importers.format import CUT, RANKS, LogFormat

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMAT"]

_NAME = re.compile(r"rank([0-9]+)\.tsv(\.gz)?")
_LINE = re.compile(rb"-?[0-9]+(\t-?[0-9]+)*\r?\n")
_INT64 = range(-(2**63), 2**63)
_GZIP = b"\x1f\x8b"


def _recognises(log: Path) -> bool:
    return bool(_NAME.fullmatch(log.name)) if log.is_file() else bool(_files(log))


def _read(log: Path) -> pa.Table:
    """Read the ranks, in ascending order.

    Raises:
        LogError: if a line is not a step and indices, or compressed bytes are damaged.
    """
    files = {_rank(log): log} if log.is_file() else _files(log)
    rows: list[tuple[int, int, int]] = []
    cut = []
    for rank, file in sorted(files.items()):
        batches, is_whole = _batches(file)
        rows += [(index, step, rank) for step, *indices in batches for index in indices]
        if not is_whole:
            cut.append(f"{file} is cut off after line {len(batches)}")
    record, batch, rank_of_row = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {"record": record, "batch": batch, "rank": rank_of_row}
    told = {} if log.is_file() else {RANKS: str(max(files) + 1)}
    return pa.table(
        {name: pa.array(values, pa.int64()) for name, values in columns.items()},
        metadata={**told, CUT: "\n".join(cut)},
    )


def _files(folder: Path) -> dict[int, Path]:
    files: dict[int, Path] = {}
    for file in sorted(folder.iterdir()):
        if not _NAME.fullmatch(file.name):
            continue
        first = files.setdefault(_rank(file), file)
        if first != file:
            message = f"{first} and {file} are of one rank: take one of them away"
            raise LogError(message)
    return files


def _rank(file: Path) -> int:
    rank = int(file.name.removeprefix("rank").partition(".")[0])
    if rank + 1 not in _INT64:  # so many ranks there are at least
        raise LogError(f"{file} has a number that no rank has: give it that of its rank")
    return rank


def _batches(file: Path) -> tuple[list[list[int]], bool]:
    """Give the step and the indices of each line, and whether the file has its end.

    A program that was killed leaves its last line, or its last compressed block, unfinished;
    what is whole counts.
    """
    batches: list[list[int]] = []
    try:
        opener = gzip.open if file.suffix == ".gz" or _is_compressed(file) else open
        with opener(file, "rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    return batches, False
                batches.append(_batch(line))
    except EOFError:
        return batches, False
    except (zlib.error, gzip.BadGzipFile) as error:
        message = f"{file}: its compressed bytes are damaged: {error}; restore it from a copy"
        raise LogError(message) from error
    except ValueError as error:
        raise LogError(f"{file}: line {len(batches) + 1}: {error}") from error
    except OSError as error:
        raise LogError(f"{file} cannot be read: {error.strerror or error}") from error
    return batches, file.stat().st_size > 0


def _is_compressed(file: Path) -> bool:
    with file.open("rb") as start:
        return start.read(len(_GZIP)) == _GZIP


def _batch(line: bytes) -> list[int]:
    is_whole = _LINE.fullmatch(line) is not None
    numbers = [int(field) for field in line.split(b"\t")] if is_whole else []
    if not numbers or not all(number in _INT64 for number in numbers):
        start = line.strip()[:40].decode(errors="replace")
        message = f"{start!r} is not a step and indices below 2**63 between tabs"
        raise ValueError(message)
    return numbers


FORMAT = LogFormat(
    suffixes=(".tsv", ".tsv.gz"),
    read=_read,
    is_text=False,
    row_name="row",
    first_row=1,
    recognises=_recognises,
)
