"""How the parts of a loader, workers or ranks, share one epoch out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import are_distinct, distinct, tally
from detloader.audits.measures.replacement import is_drawn_with_replacement
from detloader.audits.measures.statistics import chance_of_no_repeat, is_impossible
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["Breach", "declared_copies", "find_breaches"]

REPEATS = ("repeats", "repeat", "copies", "repeated_augmentation")
"""Entries of a configuration that say how often a record comes in an epoch."""

LEAST_STEPS = 4
"""Records of a part from which on its stride is no accident."""

LARGEST_STRIDE = 64
"""Times the number of parts up to which a stride is that of too many parts."""

SUBSTITUTES = 0.05
"""Share of records up to which one that comes twice for one that lacks may be a substitute."""


@dataclass(frozen=True, eq=False, slots=True)
class _Epoch:
    """What the parts of one level were to deliver in one epoch, in delivery order.

    Attributes:
        epoch: its number.
        record: shape (rows,), int64.
        part: shape (rows,), int64; worker or rank.
        from_end: shape (rows,), int64; 0 for the last row of its part.
    """

    epoch: int
    record: Integers
    part: Integers
    from_end: Integers


@dataclass(frozen=True, eq=False, slots=True)
class Breach:
    """How parts failed to share one epoch out.

    Attributes:
        epoch: its number.
        kind: "replicated", "overlap" or "gaps".
        parts: the workers or ranks concerned, ascending.
        records: codes of the records that several parts deliver, ascending.
        never: codes of the records that none delivers, ascending.
    """

    epoch: int
    kind: str
    parts: Integers
    records: Integers
    never: Integers


def find_breaches(view: StreamView, by: str) -> list[Breach]:
    """Find the epochs that the parts of one level do not share out.

    Args:
        view: rows of all ranks, or of one where parts are workers.
        by: "worker" or "rank".

    Raises:
        CannotTell: what looks like a breach may be replacement or a substitute.
    """
    epochs = list(_epochs(view, by))
    breaches = [breach for epoch in epochs if (breach := _breach(view, epoch, by)) is not None]
    if any(breach.kind == "overlap" for breach in breaches):
        _require_no_replacement(view, epochs)
    return breaches


def _epochs(view: StreamView, by: str) -> Iterator[_Epoch]:
    label = view.rank if by == "rank" else view.column("worker").values.astype(np.int64)
    # What was asked for is what the parts were dealt; what came instead is another fault.
    record = view.as_records("asked" if view.has("asked") else "record").values
    split = view.column("split").values if view.has("split") else np.zeros(view.rows, np.int64)
    for epoch, rows in view.by_epoch():
        for value in np.unique(split[rows]):
            mine = rows[split[rows] == value]
            mine = mine[np.lexsort((view.position[mine], view.rank[mine]))]
            yield _Epoch(epoch, record[mine], label[mine], _from_end(label[mine]))


def _from_end(part: Integers) -> Integers:
    order = np.argsort(part, kind="stable")
    lengths = tally(part)[1]
    from_end = np.empty(len(part), np.int64)
    from_end[order] = np.repeat(np.cumsum(lengths), lengths) - 1 - np.arange(len(part))
    return from_end


def _breach(view: StreamView, epoch: _Epoch, by: str) -> Breach | None:
    parts = distinct(epoch.part)
    if len(parts) < 2:  # noqa: PLR2004
        return None
    keys, times = tally(epoch.record * len(parts) + np.searchsorted(parts, epoch.part))
    records, holders = tally(keys // len(parts))
    shared = records[holders > 1]
    if not len(shared):
        return _gaps(view, epoch, parts, by)
    if _is_meant(view, epoch, by, shared, int(holders.max())):
        return None
    never = _never(view, records)
    if (holders == len(parts)).all() and (times == 1).all():
        if _may_be_drawn_shards(view, len(records)):
            raise CannotTell("replacement, for each part may have drawn the same shards")
        return Breach(epoch.epoch, "replicated", parts, shared, never)
    may_be_substitutes = len(never) >= len(shared) <= max(1, SUBSTITUTES * len(records))
    if may_be_substitutes and not view.has("asked"):
        raise CannotTell("asked")
    involved = parts[distinct((keys % len(parts))[np.isin(keys // len(parts), shared)])]
    return Breach(epoch.epoch, "overlap", involved, shared, never)


def _may_be_drawn_shards(view: StreamView, records: int) -> bool:
    """Tell whether parts that deliver the same may each have drawn the same few shards."""
    size = view.declared("source_size")
    return (
        view.has("shard")
        and view.declared("replacement") is None
        and size is not None
        and records < size
    )


def _is_meant(view: StreamView, epoch: _Epoch, by: str, shared: Integers, most: int) -> bool:
    """Tell whether records come from several parts on purpose, or to even out the ranks."""
    allowed = max(declared_copies(view, name) for name in REPEATS)
    if by == "rank":
        allowed *= declared_copies(view, "replication")
    lengths = tally(epoch.part)[1]
    extra = len(epoch.record) - len(distinct(epoch.record))
    if most <= allowed or (by == "rank" and extra < len(lengths)):
        return True
    last = (view.declared("batch_size") or 1) * max(view.declared("workers") or 1, 1)
    room = len(lengths) * last
    at_the_end = epoch.record[epoch.from_end < last]
    return (
        by == "rank"
        and extra < room
        and len(np.unique(lengths)) == 1
        and bool(np.isin(shared, at_the_end).all())
    )


def declared_copies(view: StreamView, name: str) -> int:
    """Give how often a record may come: a number, true for any, or the ranks of each group."""
    copies = view.config(name)
    if copies is True:
        return view.rows
    if isinstance(copies, list):
        return max((len(group) for group in copies if isinstance(group, list)), default=1)
    return copies if isinstance(copies, int) and copies else 1


def _never(view: StreamView, records: Integers) -> Integers:
    size = view.declared("source_size")
    if size is None or view.record.vocabulary is not None:
        return np.zeros(0, np.int64)
    if len(records) and (records[0] < 0 or records[-1] >= size):
        return np.zeros(0, np.int64)
    return np.setdiff1d(np.arange(size), records, assume_unique=True)


def _require_no_replacement(view: StreamView, epochs: list[_Epoch]) -> None:
    """Make sure that records do not come twice because they are drawn with replacement."""
    if not view.has("epoch") and view.declared("num_epochs") != 1:
        raise CannotTell("epoch")
    if view.declared("shuffle") is False:
        return
    if view.declared("replacement") is False:
        if is_drawn_with_replacement(view):
            raise CannotTell("draws without replacement, as declared")
        return
    sampled = ("weights", "num_samples")
    if view.has("shard") or any(view.declared(name) is not None for name in sampled):
        raise CannotTell("replacement")
    log_chance = 0.0
    for epoch in epochs:
        size = view.declared("source_size") or len(distinct(epoch.record))
        for part in distinct(epoch.part):
            mine = epoch.record[epoch.part == part]
            if not are_distinct(mine):
                raise CannotTell("replacement")
            log_chance += chance_of_no_repeat(len(mine), int(size))
    if not is_impossible(log_chance):
        raise CannotTell("replacement")


def _gaps(view: StreamView, epoch: _Epoch, parts: Integers, by: str) -> Breach | None:
    """Find parts that walk with the stride of more parts than there are."""
    ranks = len(view.stream.ranks)
    world_size = view.declared("world_size") or ranks
    if world_size > ranks or (by == "worker" and ranks > 1) or view.filters:
        return None  # the steps of other ranks, or what a filter left out, lie between
    strides = set()
    for part in parts:
        steps = distinct(np.diff(epoch.record[epoch.part == part]))
        if len(steps) != 1:
            return None
        strides.add(int(steps[0]))
    never = _never(view, distinct(epoch.record))
    (stride, *others) = strides
    reaches_end = (
        len(epoch.record)
        and int(epoch.record.max()) >= int(view.declared("source_size") or 0) - stride
    )
    if others or stride <= len(parts) or not len(never) or not reaches_end:
        return None
    shortest = int(tally(epoch.part)[1].min())
    if shortest < LEAST_STEPS or stride > LARGEST_STRIDE * len(parts):
        return None
    if by == "rank" and _is_one_worker_of_several(view, stride, len(parts)):
        return None
    return Breach(epoch.epoch, "gaps", parts, np.zeros(0, np.int64), never)


def _is_one_worker_of_several(view: StreamView, stride: int, parts: int) -> bool:
    """Tell whether the run was left before the other workers, which take steps between, began."""
    workers = int(view.declared("workers") or 1)
    if workers == 1 or stride != parts * workers:
        return False
    view.require("worker")
    return len(np.unique(view.column("worker").values)) < workers
