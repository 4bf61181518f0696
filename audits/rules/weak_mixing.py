"""There is a shuffle, and it mixes badly.

## What it catches

Training that declares a shuffle while its order stays close to the source's (a small
shuffle buffer), while workers or ranks keep the same records in every epoch
(static shards), or while batches hold the same records in every epoch (frozen batches).

## Why it hurts

Batches of sorted data hold few classes, and gradients are not those of the whole data.
Records of different shards never meet in a batch, which hurts contrastive training most.

## Example

A buffer of three over records in the order of their classes:

    source   0 1 2 3 4 5 6 7 8 9
    run      1 0 3 2 5 4 7 6 9 8

## How to mend it

Make the buffer as large as the data, shuffle the source once when it is written, or shuffle
by index. Shuffle before records are dealt out, and batch after the shuffle. Static shards
that are meant are declared: `config.static_shards` true makes them a note.

## Evidence

- `kind`: "small buffer", "static shards" or "frozen batches".
- small buffer: `buffer`, the smallest that could have made the order, of `size` records;
  `rank_correlation` of place and source position; `label_purity`, how often two records of
  a batch have one label, and `label_purity_expected`, both only with `label` and `batch`.
- static shards: `by` ("rank" or "worker"), `parts`, records (shards, where these were
  recorded and are dealt out whole) that `stayed` of `common`.
- frozen batches: `batches` of the epoch that came before, of `of`.
- `epochs`: those concerned, 20 at most, of which each is judged for a small buffer;
  `log10_chance` that a full shuffle does this.

## Limits

Needs a declared `shuffle`; silent for evaluation and where `order_policy` names an order
other than a random one (curriculum, by length, fixed). The source's order is that of
`index`, else of integer IDs, else of names (shorter ones first). A small buffer must leave
a rank correlation of one half; whole blocks that were shuffled count as one record, and so
do shards that were, where `shard` tells several apart. Static shards and frozen batches need two
epochs; where epochs have one order this follows from it, and where batches are frozen it
does of parts. Workers may keep their records behind one shuffle of all: where batches mix
those of several, or who comes next is left to chance, nothing is said. Parts that have
more than a tenth of their records in common share nothing out; where each delivers what one
of them was to (`partition-broken`), a buffer is judged by the part that it would be of. Where
records come again an order is not held against the source's. Nor is one of which a
configuration tells by `shuffled_elements` that only files, or parts of the source each for
itself, are shuffled.

## Seen in

tensorflow/tensorflow#36626, webdataset/webdataset#71 (buffer); #73, NVIDIA/DALI#2055
(static shards).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from detloader.audits.batches import global_batches
from detloader.audits.confirm import show
from detloader.audits.measures.deliverers import deliverers_of, ranks_as_deliverers
from detloader.audits.measures.meeting import do_parts_meet
from detloader.audits.measures.mixing import common_batches, displacement, purity
from detloader.audits.measures.orders import (
    have_one_order,
    log_chance_of_shards,
    source_order,
    streams_of,
)
from detloader.audits.measures.shown import SHOWN
from detloader.audits.measures.source import without_padding
from detloader.audits.measures.splits import without_evaluation
from detloader.audits.measures.statistics import is_impossible
from detloader.audits.measures.staying import stay_with_parts
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.measures.mixing import Displacement, Stay
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue


__all__ = ["EXAMPLE", "STAGE", "check_run"]


STAGE = Stage.OUTPUT


EXAMPLE = Example(
    faulty={"record": [place ^ 1 for place in range(40)]},
    mended={"record": [place * 17 % 40 for place in range(40)]},
    declared={"purpose": "train", "shuffle": True, "source_size": 40},
)


LEAST_CORRELATION = 0.5
"""Rank correlation from which on an order is close to the source's."""


MOSTLY = 0.99
"""Share of records that stay, or of batches that come again."""


def check_run(view: StreamView, known: Known) -> list[Fault]:
    """Find shuffles that mix badly."""
    if view.declared("shuffle") is False or view.declared("purpose") == "eval":
        return []
    policy = view.declared("order_policy")
    if policy is not None and "random" not in policy and "shuffle" not in policy:
        return []
    view.require("shuffle")
    rows = without_evaluation(without_padding(view))
    epochs = dict(rows.by_epoch())
    frozen = _check_batches(rows, epochs)
    in_parts = view.config("shuffled_elements") is not None
    buffer = None if in_parts else _check_buffer(rows, epochs, known.copies)
    faults = [fault for fault in (buffer, frozen) if fault is not None]
    try:
        # Whole batches that stay are records that stay: parts would say it again.
        faults += [] if frozen else _check_parts(rows, epochs)
    except CannotTell:
        if not faults:
            raise
    if not faults and len(epochs) < 2:  # noqa: PLR2004
        raise CannotTell("at least 2 epochs")
    return faults


def _check_buffer(view: StreamView, epochs: dict[int, Integers], copies: int) -> Fault | None:
    """Judge how close the order stays to the source's, on ranks and on workers.

    Where each of some parts delivers what one of them was to, it is judged how close that one's
    order would stay.
    """
    source = source_order(view)
    levels = [ranks_as_deliverers(view)]
    if view.has("worker"):
        levels.append(deliverers_of(view))
    for deliverers in levels:
        tests = len(epochs) * len(deliverers) * len(levels)
        parts: Counter[int] = Counter()
        weak: defaultdict[int, list[Displacement]] = defaultdict(list)
        for epoch, rows in streams_of(view, epochs, deliverers):
            parts[epoch] += 1
            measured = displacement(source[rows])
            log_chance = max(measured.log_chance, log_chance_of_shards(view, rows))
            if _of_one_part(measured.correlation, copies) < LEAST_CORRELATION:
                continue
            if is_impossible(log_chance, tests):
                weak[epoch].append(measured)
        where = [epoch for epoch, found in weak.items() if 2 * len(found) >= parts[epoch]]
        if where:
            found = [measured for epoch in where for measured in weak[epoch]]
            return _fault_of_buffer(view, epochs, found, where)
    return None


def _of_one_part(correlation: float, copies: int) -> float:
    """Give the correlation that the same buffer leaves of one of so many parts of the source.

    What it lacks to 1 grows with the square of the share that the buffer is.
    """
    return 1 - copies**2 * (1 - correlation)


def _fault_of_buffer(
    view: StreamView, epochs: dict[int, Integers], weak: list[Displacement], where: list[int]
) -> Fault:
    best = max(weak, key=lambda measured: measured.buffer)
    least = max(weak, key=lambda measured: measured.log_chance)
    evidence: dict[str, JsonValue] = {
        "kind": "small buffer",
        "buffer": best.buffer,
        "size": best.rows,
        "rank_correlation": round(least.correlation, 3),
        "epochs": [*where[:SHOWN]],
        "log10_chance": round(least.log_chance / math.log(10), 1),
    }
    message = (
        f"No record comes more than {best.buffer - 1} places early, of {best.rows}; place and "
        f"source position have a rank correlation of {least.correlation:.2f}"
    )
    if view.has("label") and "batch" in view.compared:
        rows = epochs[where[0]]
        label, batch = view.column("label").values[rows], global_batches(view)[rows]
        measured, expected = purity(label, batch)
        evidence |= {
            "label_purity": round(measured, 4),
            "label_purity_expected": round(expected, 4),
        }
        message += (
            f", and {measured:.0%} of the pairs in a batch have one label "
            f"where {expected:.0%} would"
        )
    declared = view.config("shuffle_buffer")
    return Fault(
        severity=Severity.WARN,
        message=f"{message}.",
        cause="The shuffle buffer is much smaller than the data"
        + (f" ({declared} is declared)." if declared is not None else "."),
        evidence=evidence,
        confirm=show(view.path, epoch=where[0]),
    )


def _check_parts(view: StreamView, epochs: dict[int, Integers]) -> list[Fault]:
    """Judge whether ranks, or else workers, keep their records."""
    levels = [("rank", ranks_as_deliverers(view))]
    if view.has("worker"):
        levels.append(("worker", deliverers_of(view)))
    for by, deliverers in levels:
        if len(deliverers) < 2 or have_one_order(view, epochs, deliverers):  # noqa: PLR2004
            continue
        whole = stay_with_parts(view, epochs, deliverers)
        if whole is None or not whole.common:
            continue
        if whole.stayed < MOSTLY * whole.common or not is_impossible(whole.log_chance):
            continue
        if by == "rank" or not do_parts_meet(view, deliverers):
            return [_fault_of_parts(view, sorted(epochs), by, len(deliverers), whole)]
    return []


def _steps(epochs: dict[int, Integers]) -> list[tuple[Integers, Integers]]:
    return list(itertools.pairwise(epochs[epoch] for epoch in sorted(epochs)))


def _fault_of_parts(view: StreamView, epochs: list[int], by: str, parts: int, whole: Stay) -> Fault:
    meant = view.config("static_shards") is True
    return Fault(
        severity=Severity.NOTE if meant else Severity.WARN,
        message=f"Each of {parts} {by}s delivers the same records in all {len(epochs)} epochs: "
        f"{whole.stayed} of {whole.common} stay where they were"
        + (", as declared." if meant else ", and those of two parts do not mix."),
        cause=f"The source is dealt out to {by}s once, and shuffled only within each part.",
        evidence={
            "kind": "static shards",
            "by": by,
            "parts": parts,
            "stayed": whole.stayed,
            "common": whole.common,
            "epochs": [*epochs[:SHOWN]],
            "log10_chance": round(whole.log_chance / math.log(10), 1),
        },
        confirm=show(view.path, epoch=epochs[-1]),
    )


def _check_batches(view: StreamView, epochs: dict[int, Integers]) -> Fault | None:
    """Judge whether batches hold the same records in all epochs."""
    if "batch" not in view.compared or len(epochs) < 2:  # noqa: PLR2004
        return None
    if have_one_order(view, epochs, ranks_as_deliverers(view)):
        return None
    batch, record = global_batches(view), view.record.values
    counts = [
        common_batches((record[earlier], record[later]), (batch[earlier], batch[later]))
        for earlier, later in _steps(epochs)
    ]
    again, of = sum(count[0] for count in counts), sum(count[1] for count in counts)
    log_chance = sum(count[2] for count in counts)
    if not of or again < MOSTLY * of or not is_impossible(log_chance):
        return None
    return Fault(
        severity=Severity.WARN,
        message=f"{again} of {of} batches hold the records of a batch of the epoch before.",
        cause="Records are put into batches before the shuffle, which moves whole batches.",
        evidence={
            "kind": "frozen batches",
            "batches": again,
            "of": of,
            "epochs": [*sorted(epochs)[:SHOWN]],
            "log10_chance": round(log_chance / math.log(10), 1),
        },
        confirm=show(view.path, epoch=max(epochs)),
    )
