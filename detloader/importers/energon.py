"""Order logs of Megatron Energon: the JSON lines of its `worker_debug_path`.

The log is one such file, or the folder with those of all workers. What the loaders of the
training processes yielded is the order. Where only the workers' own lines were logged, each
worker's batches are exact, and workers take turns, as those of a Torch loader do.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from detloader.errors import LogError
from detloader.importers.format import LogFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["FORMAT"]

_LOADERS = ("SavableDataLoader.yield", "BasicDataLoader.yield")
_WORKERS = ("yield_batch",)
_ENDINGS = (".jsonl", ".json", ".log")

_LONGEST_FIRST_LINE = 1 << 24
"""In bytes: the first line of a training process holds the whole configuration of its data."""


def _recognises(log: Path) -> bool:
    return any(_is_of_energon(file) for file in _files(log))


def _files(log: Path) -> list[Path]:
    if log.is_file():
        return [log] if log.suffix in _ENDINGS else []
    return sorted(file for file in log.iterdir() if file.is_file() and file.suffix in _ENDINGS)


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
        LogError: if a line is no JSON, or nothing was yielded with the keys of its samples.
    """
    lines = [line for file in _files(log) for line in _lines(file)]
    yielded = [line for line in lines if line["t"] in _LOADERS and "keys" in line]
    if yielded:
        return _table(_from_loaders(yielded))
    batches = [line for line in lines if line["t"] in _WORKERS and "keys" in line]
    if not batches:
        message = (
            f"{log} has no line with the keys of what was yielded: "
            "log with worker_log_level=1, and let the samples keep their __key__"
        )
        raise LogError(message)
    return _table(_from_workers(batches))


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for number, text in enumerate(lines, start=1):
            try:
                line = json.loads(text)
                if line["t"] in (*_LOADERS, *_WORKERS):
                    (
                        int(line["r"]),
                        int(line["idx"]),
                        list(line.get("keys", ())),
                    )  # raises where they are none
                    yield line
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                if not text.endswith("\n"):
                    return  # cut off while it was written
                message = f"{file}: line {number} is no line of Energon: {error!r}"
                raise LogError(message) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    stream: str
    rank: int
    worker: int | None
    epoch: int
    batch: int
    keys: list[str]


def _from_loaders(lines: Iterable[Mapping[str, Any]]) -> list[_Batch]:
    """Order the batches by loader; a pass of one begins where its count does again."""
    loaders: dict[int, list[int]] = {}
    epochs: dict[tuple[int, int], int] = {}
    batches = []
    for line in lines:
        rank, loader = line["r"], line.get("id", 0)
        known = loaders.setdefault(rank, [])
        if loader not in known:
            known.append(loader)
        if line["iter_idx"] == 0 or (rank, loader) not in epochs:
            epochs[rank, loader] = epochs.get((rank, loader), -1) + 1
        number = known.index(loader)
        batches.append(
            _Batch(
                stream="main" if number == 0 else f"loader-{number}",
                rank=rank,
                worker=line.get("worker_id"),
                epoch=epochs[rank, loader],
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


def _table(batches: Iterable[_Batch]) -> pa.Table:
    rows = [(batch, key) for batch in batches for key in batch.keys]
    columns: dict[str, pa.Array[Any]] = {
        "stream": pa.array([batch.stream for batch, _ in rows], pa.string()),
        "rank": pa.array([batch.rank for batch, _ in rows], pa.int64()),
        "record": pa.array([key for _, key in rows], pa.string()),
        "epoch": pa.array([batch.epoch for batch, _ in rows], pa.int64()),
        "batch": pa.array([batch.batch for batch, _ in rows], pa.int64()),
        "worker": pa.array([batch.worker for batch, _ in rows], pa.int64()),
    }
    return pa.table(columns)


FORMAT = LogFormat(
    suffixes=_ENDINGS,
    read=_read,
    is_text=False,
    row_name="row",
    first_row=1,
    recognises=_recognises,
)
