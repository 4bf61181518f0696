"""The two parts of an interrupted run, joined into one that says where it was resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from detloader.manifest.reader import open_run
from detloader.manifest.schema import Resume
from detloader.manifest.writer import RankWriter

if TYPE_CHECKING:
    from pathlib import Path

    from detloader.manifest.reader import Rank

__all__ = ["join_parts"]


def join_parts(before: Path, after: Path, run: Path, elements: int) -> None:
    """Write one run of two.

    Args:
        before: the run up to the stop.
        after: the run from the restored state on.
        run: folder to write.
        elements: elements before the stop.
    """
    pairs = zip(_ranks(before), _ranks(after), strict=True)
    for first, second in pairs:
        _join(first, second, run, elements)


def _join(first: Rank, second: Rank, run: Path, elements: int) -> None:
    header = first.header
    declared = msgspec.structs.replace(
        header.declared, resume=Resume(position=elements, unit="elements")
    )
    with RankWriter(
        run,
        stream=header.stream,
        rank=header.rank,
        ranks=header.ranks,
        level=header.level,
        declared=declared,
        environment=header.environment,
        recipe=header.recipe,
    ) as writer:
        rows, more = first.table(), second.table()
        if len(rows):
            writer.append(_marked(rows, resumed=False))
        if len(more):
            counted = more if "resumed" in more.column_names else _counted_on(more, rows, elements)
            writer.append(_marked(counted, resumed=True))
        writer.close(seeds=dict.fromkeys([*header.seen.seeds, *second.header.seen.seeds]))


def _ranks(run: Path) -> tuple[Rank, ...]:
    (stream,) = open_run(run).streams.values()
    return stream.ranks


def _counted_on(rows: pa.Table, before: pa.Table, elements: int) -> pa.Table:
    """Number the batches of the second part on, where its recorder began to count again."""
    if "batch" not in rows.column_names or not len(before):
        return rows
    batches, epochs = rows["batch"].to_numpy(), rows["epoch"].to_numpy()
    shifted = batches + np.where(epochs == epochs[0], elements, 0)
    return rows.set_column(rows.column_names.index("batch"), "batch", pa.array(shifted))


def _marked(rows: pa.Table, *, resumed: bool) -> pa.Table:
    flags = pa.array(np.full(len(rows), resumed))
    if "resumed" in rows.column_names:
        return rows.set_column(rows.column_names.index("resumed"), "resumed", flags)
    return rows.append_column("resumed", flags)
