"""Order logs of Megatron Energon: the JSON lines of its `worker_debug_path`.

The log is one such file, or the folder with those of all workers. What the loaders of the
training processes yielded is the order. Where only the workers' own lines were logged, each
worker's batches are exact, and workers take turns, as those of a Torch loader do.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from detloader.errors import LogError
from detloader.importers.format import CUT, LogFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["FORMAT"]

_LOADERS = ("SavableDataLoader.yield", "BasicDataLoader.yield")
_WORKERS = ("yield_batch",)
_ENDINGS = (".jsonl", ".json", ".log")
_NUMBER = re.compile(r"\d+")

_INT64 = range(-(2**63), 2**63)

_LONGEST_FIRST_LINE = 1 << 24
"""In bytes: the first line of a training process holds the whole configuration of its data."""


def _recognises(log: Path) -> bool:
    return any(_is_of_energon(file) for file in _candidates(log))


def _candidates(log: Path) -> list[Path]:
    if log.is_file():
        return [log] if log.suffix in _ENDINGS else []
    return sorted(file for file in log.iterdir() if file.is_file() and file.suffix in _ENDINGS)


def _files(log: Path) -> list[Path]:
    """Return the files whose names are Energon's, also those that were cut off at once.

    The user gives one name for all, and worker and process are numbers in it.
    """
    found = _candidates(log)
    names = {_without_numbers(file) for file in found if _is_of_energon(file)}
    return [file for file in found if _without_numbers(file) in names]


def _without_numbers(file: Path) -> str:
    return _NUMBER.sub("0", file.name)


def _is_of_energon(file: Path) -> bool:
    with file.open("rb") as lines:
        first = lines.readline(_LONGEST_FIRST_LINE)
    try:
        line = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(line, dict) and {"t", "r", "w"} <= line.keys()


def _read(log: Path) -> pa.Table:
    """Read what was yielded, in the order in which it was.

    Raises:
        LogError: if a line is none of Energon's, or nothing was yielded with the keys of its
            samples.
    """
    lines: list[dict[str, Any]] = []
    cut = []
    for file in _files(log):
        of_file, told = _lines(file)
        lines += of_file
        cut += told
    yielded = [line for line in lines if line["t"] in _LOADERS]
    batches = _from_loaders(yielded) if yielded else _from_workers(lines)
    if not batches:
        message = (
            f"{log} has no line with the keys of what was yielded: "
            "log with worker_log_level=1, and let the samples keep their __key__"
        )
        raise LogError(message)
    return _table(log, batches).replace_schema_metadata({CUT: "\n".join(cut)})


def _lines(file: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Give the lines with keys, and what is to be told of a file that ends within a line."""
    found: list[dict[str, Any]] = []
    with file.open("rb") as lines:
        for number, text in enumerate(lines, start=1):
            try:
                line = json.loads(text.decode())
                if _has_keys(line):
                    found.append(line)
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                if not (text.endswith(b"\n") or _is_json(text)):
                    return found, [f"{file} is cut off after line {number - 1}"]
                message = f"{file}: line {number} is no line of Energon: {error!r}"
                raise LogError(message) from error
    return found, [] if file.stat().st_size else [f"{file} is cut off after line 0"]


def _is_json(text: bytes) -> bool:
    """Tell whether a line is whole, for no beginning of an object is one."""
    try:
        json.loads(text.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _has_keys(line: dict[str, Any]) -> bool:
    """Tell whether a line says which samples were yielded; raise where it cannot be read."""
    if line["t"] not in (*_LOADERS, *_WORKERS) or "keys" not in line:
        return False
    numbers = ("r", "iter_idx") if line["t"] in _LOADERS else ("r", "w", "idx")
    optional = ("worker_id", "id", "iter_id")
    values = [line[name] for name in numbers]
    values += [line[name] for name in optional if line.get(name) is not None]
    if not all(type(value) is int and value in _INT64 for value in values):
        raise ValueError(f"{', '.join((*numbers, *optional))} have to be integers below 2**63")
    if not isinstance(line["keys"], list):
        raise TypeError("keys is no list")
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    stream: str
    rank: int
    worker: int | None
    epoch: int
    batch: int
    keys: list[str]


def _from_loaders(lines: Iterable[Mapping[str, Any]]) -> list[_Batch]:
    """Order the batches by loader; each of its iterators is an epoch.

    So is one whose count begins again, as in another process's file.
    """
    loaders: dict[int, list[int]] = {}
    passes: Counter[tuple[int, int]] = Counter()
    epochs: dict[tuple[int, int, int | None], int] = {}
    batches = []
    for line in lines:
        rank, loader = line["r"], line.get("id", 0)
        known = loaders.setdefault(rank, [])
        if loader not in known:
            known.append(loader)
        iterator = rank, loader, line.get("iter_id")
        if line["iter_idx"] == 0 or iterator not in epochs:
            epochs[iterator] = passes[rank, loader]
            passes[rank, loader] += 1
        number = known.index(loader)
        batches.append(
            _Batch(
                stream="main" if number == 0 else f"loader-{number}",
                rank=rank,
                worker=line.get("worker_id"),
                epoch=epochs[iterator],
                batch=line["iter_idx"],
                keys=list(map(str, line["keys"])),
            )
        )
    return batches


def _from_workers(lines: Iterable[Mapping[str, Any]]) -> list[_Batch]:
    turns = sorted(lines, key=lambda line: (line["r"], line["idx"], line["w"]))
    counts: dict[tuple[int, str], int] = {}
    batches = []
    for line in turns:
        stream = "main" if line.get("m", "train") == "train" else str(line["m"])
        number = counts.get((line["r"], stream), 0)
        counts[line["r"], stream] = number + 1
        batches.append(
            _Batch(
                stream=stream,
                rank=line["r"],
                worker=line["w"],
                epoch=0,
                batch=number,
                keys=list(map(str, line["keys"])),
            )
        )
    return batches


def _table(log: Path, batches: Iterable[_Batch]) -> pa.Table:
    rows = [(batch, key) for batch in batches for key in batch.keys]
    columns: dict[str, tuple[list[Any], pa.DataType]] = {
        "stream": ([batch.stream for batch, _ in rows], pa.string()),
        "rank": ([batch.rank for batch, _ in rows], pa.int64()),
        "record": ([key for _, key in rows], pa.string()),
        "epoch": ([batch.epoch for batch, _ in rows], pa.int64()),
        "batch": ([batch.batch for batch, _ in rows], pa.int64()),
        "worker": ([batch.worker for batch, _ in rows], pa.int64()),
    }
    try:
        return pa.table({name: pa.array(*column) for name, column in columns.items()})
    except UnicodeEncodeError as error:
        message = f"{log}: a key holds half of a surrogate pair: mend what wrote the log"
        raise LogError(message) from error


FORMAT = LogFormat(
    suffixes=_ENDINGS,
    read=_read,
    is_text=False,
    row_name="row",
    first_row=1,
    recognises=_recognises,
)
