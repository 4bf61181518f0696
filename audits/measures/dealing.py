"""How the parts of a loader, workers or ranks, share one epoch out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import are_distinct, contains, distinct, places_from_end, tally
from detloader.audits.measures.filling import evens_out, records_lacking
from detloader.audits.measures.gaps import Gap, find_gap
from detloader.audits.measures.replacement import is_drawn_with_replacement
from detloader.audits.measures.shards import has_shards
from detloader.audits.measures.statistics import chance_of_no_repeat, is_impossible
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["REPEATS", "Breach", "declared_copies", "find_breaches"]

REPEATS = ("repeats", "repeat", "copies", "repeated_augmentation")
"""Entries of a configuration that say how often a record comes in an epoch."""

SUBSTITUTES = 0.05
"""Share of records up to which one that comes twice for one that lacks may be a substitute."""


@dataclass(frozen=True, eq=False, slots=True)
class _Epoch:
    """What the parts of one level were to deliver in one epoch, in delivery order.

    Attributes:
        epoch: its number.
        rows: shape (rows,), int64; rows of the view.
        record: shape (rows,), int64; what was asked for, in a number of its own.
        part: shape (rows,), int64; worker or rank.
        from_end: shape (rows,), int64; 0 for the last row of its part.
    """

    epoch: int
    rows: Integers
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
        never: codes of the records that none delivers, ascending, as far as they are known.
        gap: what is stepped over, of kind "gaps".
    """

    epoch: int
    kind: str
    parts: Integers
    records: Integers
    never: Integers
    gap: Gap | None = None


def find_breaches(view: StreamView, by: str, records: int) -> list[Breach]:
    """Find the epochs that the parts of one level do not share out.

    Args:
        view: rows of all ranks, or of one where parts are workers.
        by: "worker" or "rank".
        records: how many the source has, or the whole run delivered.

    Raises:
        CannotTell: what looks like a breach may be replacement or a substitute.
    """
    epochs = list(_epochs(view, by))
    judged = (_breach(view, epoch, by, records) for epoch in epochs)
    breaches = [breach for breach in judged if breach is not None]
    if any(breach.kind == "overlap" for breach in breaches):
        _require_no_replacement(view, epochs, records)
    return breaches


def _epochs(view: StreamView, by: str) -> Iterator[_Epoch]:
    label = view.rank if by == "rank" else view.column("worker").values.astype(np.int64)
    # What was asked for is what the parts were dealt; what came instead is another fault.
    split = view.column("split").values if view.has("split") else np.zeros(view.rows, np.int64)
    for epoch, rows in view.by_epoch():
        for value in np.unique(split[rows]):
            mine = rows[split[rows] == value]
            mine = mine[np.lexsort((view.position[mine], view.rank[mine]))]
            yield _Epoch(epoch, mine, view.asked[mine], label[mine], places_from_end(label[mine]))


def _breach(view: StreamView, epoch: _Epoch, by: str, size: int) -> Breach | None:
    parts = distinct(epoch.part)
    if len(parts) < 2:  # noqa: PLR2004
        return None
    keys, times = tally(epoch.record * len(parts) + np.searchsorted(parts, epoch.part))
    records, holders = tally(keys // len(parts))
    shared = records[holders > 1]
    if not len(shared):
        gap = find_gap(view, epoch.rows, epoch.part, by)
        return None if gap is None else Breach(epoch.epoch, "gaps", parts, shared, gap.codes, gap)
    if _is_meant(view, epoch, by, shared, int(holders.max())):
        return None
    never = _never(view, records)
    if (holders == len(parts)).all() and (times == 1).all():
        if _may_be_drawn_alike(view, epoch, parts, len(records), size):
            raise CannotTell("replacement, for each part may have drawn the same")
        return Breach(epoch.epoch, "replicated", parts, _codes(view, epoch, shared), never)
    lack = max(len(never), records_lacking(view, records))
    may_be_substitutes = lack >= len(shared) <= max(1, SUBSTITUTES * len(records))
    if may_be_substitutes and view.asked is view.record.values:
        raise CannotTell("asked")
    involved = parts[distinct((keys % len(parts))[np.isin(keys // len(parts), shared)])]
    return Breach(epoch.epoch, "overlap", involved, _codes(view, epoch, shared), never)


def _codes(view: StreamView, epoch: _Epoch, shared: Integers) -> Integers:
    """Give the codes of records that are told apart by their places."""
    if view.has("asked") or view.places is None:
        return shared
    return distinct(view.record.values[epoch.rows[contains(shared, epoch.record)]])


def _may_be_drawn_alike(
    view: StreamView, epoch: _Epoch, parts: Integers, records: int, size: int
) -> bool:
    """Tell whether parts may each have drawn the same few shards, or the same few records."""
    if view.declared("replacement") is not None:
        return False
    if view.has("shard"):
        return records < int(view.declared("source_size") or records)
    if view.declared("shuffle") is False:
        return False
    orders = [epoch.record[epoch.part == part] for part in parts]
    log_chance = -records * math.log(size)
    if not all(np.array_equal(orders[0], order) for order in orders[1:]):
        log_chance += math.lgamma(records + 1)
    return not is_impossible(log_chance * (len(parts) - 1))


def _is_meant(view: StreamView, epoch: _Epoch, by: str, shared: Integers, most: int) -> bool:
    """Tell whether records come from several parts on purpose, or to even out the ranks."""
    allowed = max(declared_copies(view, name) for name in REPEATS)
    if by == "rank":
        allowed *= declared_copies(view, "replication")
    lengths = tally(epoch.part)[1]
    extra = len(epoch.record) - len(distinct(epoch.record))
    if most <= allowed or extra <= _declared_extra(view):
        return True
    if by != "rank":
        return False
    if extra < len(lengths) and evens_out(view, epoch.rows, epoch.record):
        return True
    last = (view.declared("batch_size") or 1) * max(view.declared("workers") or 1, 1)
    at_the_end = epoch.record[epoch.from_end < last]
    return (
        len(distinct(lengths)) == 1
        and not records_lacking(view, epoch.record)
        and _fills_up(view, int(lengths[0]), len(lengths), extra)
        and bool(np.isin(shared, at_the_end).all())
    )


def _declared_extra(view: StreamView) -> int:
    """Count the rows of an epoch that is declared to draw more samples than there are records."""
    samples, size = view.declared("num_samples"), view.declared("source_size")
    return 0 if samples is None or size is None else int(samples) - int(size)


def _fills_up(view: StreamView, length: int, ranks: int, extra: int) -> bool:
    """Tell whether so many rows fill up the last batch of each rank, or of its workers."""
    batch, workers = view.declared("batch_size"), view.declared("workers") or 1
    if batch is None:
        return extra < ranks * workers
    records = length * ranks - extra
    amounts = {-records % (batch * ranks), -records % (batch * ranks * workers)}
    return length % batch == 0 and extra in amounts


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
    if size is None or view.record.vocabulary is not None or view.places is not None:
        return np.zeros(0, np.int64)
    if len(records) and (records[0] < 0 or records[-1] >= size):
        return np.zeros(0, np.int64)
    return np.setdiff1d(np.arange(size), records, assume_unique=True)


def _require_no_replacement(view: StreamView, epochs: list[_Epoch], records: int) -> None:
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
    if has_shards(view) or any(view.declared(name) is not None for name in sampled):
        raise CannotTell("replacement")
    log_chance = 0.0
    for epoch in epochs:
        for part in distinct(epoch.part):
            mine = epoch.record[epoch.part == part]
            if not are_distinct(mine):
                raise CannotTell("replacement")
            log_chance += chance_of_no_repeat(len(mine), records)
    if not is_impossible(log_chance):
        raise CannotTell("replacement")
