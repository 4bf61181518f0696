"""The remainder of an epoch is dropped, padded or lost.

## What it catches

Records missing at the end of epochs, as many as a dropped last batch, a deal to ranks or
workers, or a prefetcher that is never emptied would lose; and records that come
twice to fill a last batch or to even out ranks, without being marked as padding.

## Why it hurts

Scores are measured on fewer records than reported, or on some of them twice. Where
batches are formed inside workers, the loss grows with their number.

## Example

Twenty records, batches of four, formed inside three workers: 7, 7 and 6 records make one
batch each, and eight records are lost where one batcher would lose none:

    worker 0   0 3 6 9     (12 15 18 lost)
    worker 1   1 4 7 10    (13 16 19 lost)
    worker 2   2 5 8 11    (14 17 lost)

## How to mend it

Keep the last batch in evaluation (`drop_remainder=False`), and mark rows that are added
(`padding`). Batch before the split into workers or after their merge, not in them.

## Evidence

- `explanation`: "batch", "batches of ranks", "ranks", "batches of workers", "workers",
  "last batch", "batch across epochs", or "padding".
- `dropped`: IDs lost in the first epoch that loses any (its source positions, where IDs
  are unknown), 20 at most; `dropped_count`: all of them. Absent for padding.
- `delivered`: records that this epoch delivered; in an audit those of both runs.
- `epochs`: the epochs concerned, 20 at most; `never_count`: records that no epoch delivered.
- `batch_size`; `loss_of_one_batcher`: what one batcher behind the merge would lose.
- `per_worker`: what each worker delivered and lost, where `worker` was recorded.
- `doubled`: for padding, IDs that came twice, 20 at most; `doubled_count`.

Severity: fail in evaluation; in training where more is lost than by one batcher, more
than declared, or the same records in every epoch though a shuffle is declared; else a
note. That ranks are to be evened out by dropping records is declared as
`config.drop_uneven_ranks` true; of a `DistributedSampler(drop_last=True)` it is recorded.

## Limits

Needs `source_size` and the whole run, and a batch size, several ranks, or workers. Losses
that no such count explains are those of `coverage-hole`, as are those of some epochs where
others are whole, and of a batch before others, by its label or the baseline. Silent for draws with
replacement, by weights, or of `num_samples`, and of epochs in which more than one row in
twenty repeats a record. Where a filter is declared, or where not all ranks are there that
the run or its baseline tells of, it cannot tell.

## Seen in

google/grain#1129, meta-pytorch/data#1180 (workers); google/flax#264 (evaluation); grain
0.2.13 and later (remainders of shards).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import replay_again, show
from detloader.audits.headers import goes_on
from detloader.audits.integers import distinct
from detloader.audits.measures.census import take_census
from detloader.audits.measures.deliverers import deliverers_of
from detloader.audits.measures.explained import explain_missing, explain_places
from detloader.audits.measures.losses import require_all_ranks
from detloader.audits.measures.remainders import (
    Loss,
    find_loss,
    find_padding,
    places_of_repeats,
    shape_of,
)
from detloader.audits.measures.shown import SHOWN
from detloader.audits.measures.source import source_size, without_padding
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.measures.census import Census, EpochCount
    from detloader.audits.measures.tails import Shape, Tail
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue


__all__ = ["EXAMPLE", "STAGE", "check_run"]


STAGE = Stage.PARTITION


EXAMPLE = Example(
    faulty={"batch": [0] * 4 + [1] * 4, "record": list(range(8))},
    mended={"batch": [0] * 4 + [1] * 4 + [2] * 2, "record": list(range(10))},
    declared={"purpose": "eval", "shuffle": False, "source_size": 10, "batch_size": 4},
)


def check_run(view: StreamView, known: Known) -> list[Fault]:
    """Find remainders that were dropped, and those that were filled up."""
    if _is_no_pass(view):
        return []
    _require_whole(view)
    rows = without_padding(view)
    if rows.rows == source_size(rows) and rows.record.is_distinct and len(rows.epochs) == 1:
        return []
    census = take_census(rows)
    if not rows.has("epoch") and rows.rows > census.size and view.declared("num_epochs") != 1:
        raise CannotTell("epoch")
    if not any(census.lost(epoch) or epoch.extra for epoch in census.epochs):
        return []
    shape = shape_of(rows, census.size)
    if shape.batch_size is None and shape.ranks == 1 and shape.workers < 2:  # noqa: PLR2004
        raise CannotTell("batch_size")
    padding = find_padding(census, shape)
    loss = find_loss(census, shape, known)
    if shape.batch_size is None and not (loss or padding) and any(map(census.lost, census.epochs)):
        raise CannotTell("batch_size")
    return [
        *([_fault_of_loss(view, census, shape, loss, known)] if loss else []),
        *([_fault_of_padding(view, census, padding)] if padding else []),
    ]


def _is_no_pass(view: StreamView) -> bool:
    """Tell whether epochs are not meant to deliver each record once."""
    samples = view.declared("num_samples")
    return (
        view.declared("replacement") is True
        or view.declared("weights") is not None
        or (samples is not None and samples != view.declared("source_size"))
        or view.config("repeats") is not None
    )


def _require_whole(view: StreamView) -> None:
    if goes_on(view.stream):
        raise CannotTell("a run that was not resumed")
    if not view.complete:
        raise CannotTell("the whole run")
    require_all_ranks(view)
    if view.config("filter") is not None:
        raise CannotTell("what the filter leaves")


def _fault_of_loss(
    view: StreamView, census: Census, shape: Shape, loss: Loss, known: Known
) -> Fault:
    first = loss.epochs[0]
    lost = census.lost(first)
    missing = distinct(np.concatenate([epoch.missing for epoch in loss.epochs]))
    explain_missing(known, distinct(census.known_codes(missing)))
    if census.source is not None:
        explain_places(known, missing)
    evidence: dict[str, JsonValue] = {
        "explanation": loss.tail.explanation,
        "dropped": [*census.name(first.missing[:SHOWN])],
        "dropped_count": lost,
        "delivered": _delivered(view, first),
        "epochs": [epoch.epoch for epoch in loss.epochs[:SHOWN]],
        "never_count": len(loss.never),
        "batch_size": shape.batch_size,
        "loss_of_one_batcher": shape.loss_of_one_batcher,
    }
    if view.has("worker"):
        evidence["per_worker"] = _per_worker(census.view.take(first.rows), loss.tail, shape)
    workers = loss.tail.explanation.endswith("workers")
    shown = evidence["dropped"]
    assert isinstance(shown, list)
    return Fault(
        severity=_severity(view, shape, loss),
        message=_message(view, shape, loss, lost, [str(name) for name in shown[:5]]),
        cause=loss.tail.cause,
        evidence=evidence,
        confirm=replay_again(view.path, view.stream, workers=1)
        if workers
        else show(view.path, epoch=first.epoch),
    )


def _severity(view: StreamView, shape: Shape, loss: Loss) -> Severity:
    if view.declared("purpose") == "eval":
        return Severity.FAIL
    if loss.fixed and view.declared("shuffle") is not False:
        return Severity.FAIL
    if loss.tail.explanation == "batch across epochs" and shape.drop_remainder is not False:
        return Severity.NOTE
    return Severity.FAIL if loss.tail.lost > shape.loss_of_one_batcher else Severity.NOTE


def _message(view: StreamView, shape: Shape, loss: Loss, lost: int, names: list[str]) -> str:
    evaluates = view.declared("purpose") == "eval"
    listed = f" ({', '.join(names)}{', …' if lost > len(names) else ''})" if names else ""
    message = (
        f"{lost} of {shape.size} records{listed} are not "
        f"{'evaluated' if evaluates else 'delivered'} in epoch {loss.epochs[0].epoch}"
    )
    if len(loss.epochs) > 1:
        message += f", and as many in {len(loss.epochs) - 1} further epochs"
    if loss.tail.lost > shape.loss_of_one_batcher:
        message += f", where one batcher would lose {shape.loss_of_one_batcher or 'none'}"
    if loss.fixed:
        return f"{message}. {len(loss.never)} of them never come."
    return f"{message}."


def _delivered(view: StreamView, epoch: EpochCount) -> list[JsonValue]:
    own: list[JsonValue] = [epoch.distinct]
    if view.baseline is None:
        return own
    rows = view.baseline.epoch == epoch.epoch
    return [len(np.unique(view.baseline.record.values[rows])), *own]


def _per_worker(view: StreamView, tail: Tail, shape: Shape) -> list[JsonValue]:
    """Give what each worker delivered, and what it lost where the deal is known."""
    deliverers = deliverers_of(view)
    counts = np.bincount(deliverers.of_row).tolist()
    parts = len(tail.parts)
    known = parts == len(deliverers) and shape.ranks == 1
    shares: list[JsonValue] = []
    for number, count in enumerate(counts):
        share = deliverers.show(number) | {"delivered": count}
        if known:
            share["lost"] = shape.size // parts + (number < shape.size % parts) - count
        shares.append(share)
    return shares


def _fault_of_padding(
    view: StreamView, census: Census, padding: tuple[str, list[EpochCount]]
) -> Fault:
    what, epochs = padding
    first = epochs[0]
    keys = first.keys
    doubled = np.unique(keys[places_of_repeats(keys)])
    evaluates = view.declared("purpose") == "eval"
    return Fault(
        severity=Severity.FAIL if evaluates else Severity.NOTE,
        message=f"{len(doubled)} records come again at the end of epoch {first.epoch} to fill up "
        f"{what}, in {first.extra} rows that are not marked as padding"
        + (": they count twice in the scores." if evaluates else "."),
        cause=f"Rows are added to even out {what}.",
        evidence={
            "explanation": "padding",
            "doubled": [*census.name(doubled[:SHOWN])],
            "doubled_count": len(doubled),
            "delivered": _delivered(view, first),
            "epochs": [epoch.epoch for epoch in epochs[:SHOWN]],
        },
        confirm=show(view.path, epoch=first.epoch),
    )
