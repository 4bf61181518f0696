"""Shuffling is on, and epochs have one and the same order.

## What it catches

Epochs of one run whose records come in exactly the same order, over all ranks
or on single ranks, though the run declares a shuffle. Where none is declared, in an audit:
a run that has the order of one epoch of the other run in each of its own, while those of
the other run all differ.

## Why it hurts

The model sees the same batches in the same sequence again and again. The first
epoch looks random, so nobody looks twice; it is usually found months later.

## Example

A sampler derives its order from seed and epoch, and is never told the epoch:

    epoch 0   4 0 3 1 2
    epoch 1   4 0 3 1 2

## How to mend it

Call `set_epoch(epoch)` on the sampler before each epoch, with another number before each
pass over the loader. Where the loader is
built anew for each epoch, derive its seed from seed and epoch. In Keras, pass a
data set that shuffles in each iteration instead of seeded arrays. Where one
order for all epochs is meant, declare `order_policy` "fixed".

## Evidence

- `epochs`: groups of epochs that have one order.
- `ranks`: the ranks on which they have; all of them where the whole order repeats.
- `rows`: rows of such an epoch.
- `seeds`: the seed that each of these epochs used, where a `seed` column tells.
- `log10_chance`: decimal logarithm of the chance that a fair shuffle does this.
- `epoch_of_other`: the epoch of the other run that has this order, where that run shows it.

## Limits

Needs `epoch` with two epochs, and a declared `shuffle`. Epochs must be long
enough: about twelve records, or three epochs of nine. An order made of blocks
of neighbours counts as so many blocks, for only these were shuffled, and so do
blocks that epochs of different order have in common. Where a configuration tells by
`shuffled_elements` how many elements are shuffled, files for instance, no more count than
these. Where one of two runs is shuffled, the other is not, and their first epochs differ for
that, a repeat is a note. Says nothing where the run is an evaluation, or declares
`order_policy` "fixed" or a configuration with `reshuffle_each_iteration` or
`reshuffle_each_epoch` false.

## Seen in

pytorch/pytorch#31771 (a dozen projects after it), Keras `fit` on seeded arrays,
data sets that shuffle before they repeat.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import show
from detloader.audits.integers import are_distinct, distinct
from detloader.audits.measures.conditions import is_unexplained, require_no_other
from detloader.audits.measures.statistics import is_impossible, log_arrangements
from detloader.audits.measures.stuck import stuck_at
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["EXAMPLE", "OF_PARTS", "STAGE", "check_run", "compare_runs", "may_explain"]

STAGE = Stage.EPOCH
OF_PARTS = True

_ORDER = [7, 2, 9, 0, 11, 4, 13, 6, 1, 12, 8, 3, 10, 5]

EXAMPLE = Example(
    faulty={"epoch": [0] * 14 + [1] * 14, "record": [*_ORDER, *_ORDER]},
    mended={"epoch": [0] * 14 + [1] * 14, "record": [*_ORDER, *sorted(_ORDER, key=str)]},
    declared={"shuffle": True, "source_size": 14},
)


def check_run(view: StreamView, known: Known) -> list[Fault]:  # noqa: ARG001 - explains no other
    """Find epochs of one order."""
    if _is_meant(view):
        return []
    view.require("epoch", "shuffle")
    _require_shuffling_policy(view)
    everywhere = _find_repeat(view)
    if everywhere is not None:
        return [_fault(view, everywhere, distinct(view.rank).tolist())]
    ranks = view.by_rank() if view.ranks > 1 else ()
    stuck = {rank: _find_repeat(view.take(rows)) for rank, rows in ranks}
    found = [(rank, repeat) for rank, repeat in stuck.items() if repeat is not None]
    return [_fault(view, found[0][1], [rank for rank, _ in found])] if found else []


def _is_meant(view: StreamView) -> bool:
    return (
        view.declared("shuffle") is False
        or view.declared("purpose") == "eval"
        or view.declared("order_policy") == "fixed"
        or view.config("reshuffle_each_iteration") is False
        or view.config("reshuffle_each_epoch") is False
    )


def _require_shuffling_policy(view: StreamView) -> None:
    policy = view.declared("order_policy")
    if policy is not None and "random" not in policy and "shuffle" not in policy:
        raise CannotTell(f"whether order_policy {policy!r} means equal epochs")


@dataclass(frozen=True, slots=True)
class _Repeat:
    """Epochs of one order, how many rows they have, and how likely that is."""

    groups: list[list[int]]
    rows: int
    log_chance: float


def _find_repeat(view: StreamView) -> _Repeat | None:
    orders = {epoch: view.record.values[rows] for epoch, rows in view.epochs.items()}
    if len(orders) < 2:  # noqa: PLR2004
        raise CannotTell("at least 2 epochs")
    groups = _group(orders)
    if not groups:
        return None
    shortest = min((orders[epoch] for group in groups for epoch in group), key=len)
    repeats = sum(len(group) - 1 for group in groups)
    log_orders = min(
        _log_orders(view, shortest),
        _log_orders_of_blocks([*orders.values()]),
        _log_orders_of_elements(view),
    )
    log_chance = repeats * (math.log(math.comb(len(orders), 2)) - log_orders)
    if not is_impossible(log_chance):
        raise CannotTell(f"longer epochs: {len(shortest)} rows may repeat by chance")
    return _Repeat(groups, len(shortest), log_chance)


def _group(orders: dict[int, Integers]) -> list[list[int]]:
    """Group epochs of equal order; the last one may be cut short."""
    *whole, last = sorted(orders)
    groups: defaultdict[bytes, list[int]] = defaultdict(list)
    for epoch in whole:
        groups[orders[epoch].tobytes()].append(epoch)
    begun = orders[last].tobytes()
    same = next((order for order in groups if order.startswith(begun)), begun)
    groups[same].append(last)
    return [epochs for epochs in groups.values() if len(epochs) > 1]


def _log_orders(view: StreamView, order: Integers) -> float:
    """Give the logarithm of the number of orders that a shuffle of the same kind can give.

    Where neighbours in the source stay together, only the blocks that they form are shuffled.
    """
    source = order
    if view.record.vocabulary is not None:
        names = np.array(view.record.vocabulary.to_pylist())
        source = np.argsort(np.argsort(names))[order]
    blocks = 1 + int((np.diff(source) != 1).sum())
    if blocks == 1 or 2 * blocks > len(order):
        # The source order itself, which a shuffle hardly ever gives, or no blocks at all.
        return log_arrangements(order)
    return math.lgamma(blocks + 1)


def _log_orders_of_elements(view: StreamView) -> float:
    """Give the same where the run tells how many elements were shuffled."""
    elements = view.config("shuffled_elements")
    if not isinstance(elements, int) or elements < 0:
        return math.inf
    return math.lgamma(elements + 1)


def _log_orders_of_blocks(orders: list[Integers]) -> float:
    """Give the same where epochs that differ keep blocks: these alone are shuffled.

    Batches that are formed before the shuffle, by length or by bucket, are such blocks.
    """
    first = orders[0]
    others = [order for order in orders if len(order) == len(first) and (order != first).any()]
    if not others or not are_distinct(first):
        return math.inf
    parted = np.zeros(len(first) - 1, dtype=np.bool_)
    for order in others:
        places = np.argsort(order)
        found = places[np.searchsorted(order, first, sorter=places) % len(order)]
        if not np.array_equal(order[found], first):
            return math.inf
        parted |= np.diff(found) != 1
    return math.lgamma(2 + int(parted.sum()))


def _fault(view: StreamView, repeat: _Repeat, ranks: list[int]) -> Fault:
    evidence: dict[str, JsonValue] = {
        "epochs": [[*group] for group in repeat.groups],
        "ranks": [*ranks],
        "rows": repeat.rows,
        "log10_chance": round(repeat.log_chance / math.log(10), 1),
    }
    cause = "The shuffle does not know the epoch, or the loader starts anew from the same state."
    if len(repeat.groups[0]) < len(view.epochs):
        cause = (
            "Some passes start anew from the state of an earlier one, as after no new `set_epoch`."
        )
    if view.has("seed"):
        seeds = view.column("seed")
        firsts = {epoch: seeds.show(int(rows[0])) for epoch, rows in view.by_epoch()}
        used = [firsts[epoch] for group in repeat.groups for epoch in group]
        evidence["seeds"] = used
        if len({str(seed) for seed in firsts.values()}) == 1:
            cause = "The sampler is never told the epoch: each epoch used the same seed."
        elif all(len({str(firsts[epoch]) for epoch in group}) == 1 for group in repeat.groups):
            cause = "The sampler is not told of each epoch: those of one order used the same seed."
    epochs = "; ".join(" = ".join(map(str, group[:6])) for group in repeat.groups[:3])
    where = f" on ranks {', '.join(map(str, ranks))}" if len(ranks) < view.ranks else ""
    return Fault(
        severity=Severity.FAIL,
        message=f"Shuffling is on, and epochs have one order{where}: epochs {epochs}, "
        f"the same {repeat.rows} rows in the same sequence.",
        cause=cause,
        evidence=evidence,
        confirm=show(view.path, epoch=repeat.groups[0][1]),
    )


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find a run whose epochs all have the order of one epoch of the other run."""
    a, b = comparison.a, comparison.b
    if not is_unexplained(comparison, known):
        return []
    for view, other in ((b, a), (a, b)):
        epoch = None if _is_judged_alone(view) else stuck_at(view, other)
        repeat = None if epoch is None else _find_repeat(view)
        if epoch is not None and repeat is not None:
            require_no_other(a.stream, b.stream, "which epoch was told", [])
            fault = _fault_beside(view, other, epoch, repeat)
            return [replace(fault, of_baseline=view is a)]
    return []


def may_explain(comparison: Comparison) -> bool:
    """Tell whether a repeat may be why two runs differ: it shows from the second epoch on.

    Where one run alone is shuffled, their first epochs differ for that.
    """
    a, b = comparison.a, comparison.b
    if {a.declared("shuffle"), b.declared("shuffle")} != {True, False}:
        return True
    first = max(min(view.epochs, default=0) for view in (a, b))
    orders = [view.record.values[view.epochs[first]] for view in (a, b) if first in view.epochs]
    return len(orders) < 2 or np.array_equal(orders[0], orders[1])  # noqa: PLR2004


def _is_judged_alone(view: StreamView) -> bool:
    return view.declared("shuffle") is not None or _is_meant(view) or not view.has("epoch")


def _fault_beside(view: StreamView, other: StreamView, epoch: int, repeat: _Repeat) -> Fault:
    fault = _fault(view, repeat, distinct(view.rank).tolist())
    return replace(
        fault,
        message=f"All {len(view.epochs)} epochs have one order, that of epoch {epoch} of the other "
        f"run, whose {len(other.epochs)} epochs all differ.",
        cause="The shuffle is never told the epoch, or begins anew from the same state.",
        evidence=fault.evidence | {"epoch_of_other": epoch},
    )
