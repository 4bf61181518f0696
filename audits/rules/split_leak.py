"""Training and evaluation share records.

## What it catches

Records that one split trains on and another evaluates, in the same epoch or in
different ones, and records that are in both under two IDs.

## Why it hurts

Scores are measured on what was learnt by heart, and are too good.

## Example

A split is taken by position from a stream that is shuffled again in each epoch:

    epoch 0   train 4 6 2 7   val 8 1
    epoch 1   train 8 1 6 2   val 4 7

## How to mend it

Split first and shuffle afterwards, by record ID and not by position; keep one seed for
the split. In tf.data, shuffle with `reshuffle_each_iteration=False` before `take` and
`skip`. Evaluating on training records on purpose is declared by a split whose name
begins with "train", or by `config.evaluate_on_train` true.

## Evidence

- `splits`: the two splits.
- `by`: "record", "raw" or "content": what they have in common.
- `records`: shared record IDs, 20 at most; `records_count`: all of them.
- `share`: shared records over the records of the smaller split.
- `first`: the first row whose record had been in the other split before.
- `membership_changes`: records that changed between the two splits, by epoch.

## Limits

Needs `split`, a column of an imported log. What is recorded has none: there, each split is a
stream or a run of its own, and two are not judged together, whatever their names, for the
index of one loader need not be the record of another. Needs names that begin with val,
test, eval, dev or holdout for what is not trained on: other splits may share records, and
so may two of these. Cross-validation overlaps by design: with a column `fold` records are
compared inside one fold; with `config.folds` alone it cannot tell. Digests that several
records of one split have tell nothing; `content` is used only without draws.

## Seen in

tensorflow/tensorflow#59279, #62782; huggingface/datasets#5435.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.confirm import show
from detloader.audits.measures.shown import SHOWN
from detloader.audits.measures.source import without_padding
from detloader.audits.measures.splits import is_for_training
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    import numpy.typing as npt

    from detloader.audits.columns import Flags, Integers
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["EXAMPLE", "OF_PARTS", "STAGE", "check_run"]

STAGE = Stage.SOURCE_SET
OF_PARTS = True

EXAMPLE = Example(
    faulty={
        "epoch": [0] * 6 + [1] * 6,
        "split": (["train"] * 4 + ["val"] * 2) * 2,
        "record": [4, 6, 2, 7, 8, 1, 8, 1, 6, 2, 4, 7],
    },
    mended={
        "epoch": [0] * 6 + [1] * 6,
        "split": (["train"] * 4 + ["val"] * 2) * 2,
        "record": [4, 6, 2, 7, 8, 1, 2, 7, 4, 6, 8, 1],
    },
    declared={"purpose": "train", "shuffle": True},
)


@dataclass(frozen=True, eq=False, slots=True)
class _Leak:
    """What two splits share.

    Attributes:
        by: the column by which it is seen.
        keys: shape (rows,), int64; a number for what each row could share, -1 for nothing.
        rows: shape (rows,); whether both splits have the key.
        splits: for both, which rows they hold.
    """

    by: str
    keys: Integers
    rows: Flags
    splits: tuple[Flags, Flags]


def check_run(view: StreamView, known: Known) -> list[Fault]:  # noqa: ARG001 - explains no other
    """Find records that two splits share."""
    if "split" not in view.compared:
        raise CannotTell("split")
    if view.config("evaluate_on_train") is True:
        return []
    if view.config("folds") is not None and not view.has("fold"):
        raise CannotTell("fold")
    rows = without_padding(view)
    split = rows.compared["split"]
    values = np.unique(split.values[~split.missing()])
    names = [split.show_value(value) for value in values]
    roles = [is_for_training(name) for name in names]
    if False not in roles and None in roles:
        raise CannotTell("names that tell which split is for evaluation")
    held = [(split.values == value) & ~split.missing() for value in values]
    faults = []
    for one, other in itertools.combinations(range(len(values)), 2):
        if (roles[one] is False) != (roles[other] is False):
            faults += _check_pair(rows, held[one], held[other], (names[one], names[other]))
    return faults


def _check_pair(
    view: StreamView, one: Flags, other: Flags, names: tuple[JsonValue, JsonValue]
) -> list[Fault]:
    fold = _fold(view)
    for by in ("record", *_digests(view)):
        keys = _keys(view, by, fold, (one, other))
        shared = np.intersect1d(keys[one], keys[other])
        shared = shared[shared >= 0]
        if len(shared):
            leak = _Leak(by, keys, np.isin(keys, shared), (one, other))
            return [_fault(view, leak, names)]
    return []


def _digests(view: StreamView) -> list[str]:
    """Name the digests by which one record under two IDs is known."""
    if "raw" in view.compared:
        return ["raw"]
    if "content" not in view.compared:
        return []
    drawn = "draws" in view.compared and not view.compared["draws"].missing().all()
    return [] if drawn else ["content"]


def _fold(view: StreamView) -> Integers:
    if not view.has("fold"):
        return np.zeros(view.rows, np.int64)
    numbers: Integers = np.unique(view.column("fold").values, return_inverse=True)[1]
    return numbers


def _keys(view: StreamView, by: str, fold: Integers, splits: tuple[Flags, Flags]) -> Integers:
    """Number what splits could share, apart for each fold; -1 is nothing that could tell."""
    if by == "record":
        return _number(view.record.values, fold)
    column = view.compared[by]
    keys = _number(column.values, fold)
    keys[column.missing()] = -1
    for split in splits:
        pairs = np.unique(np.stack([keys[split], view.record.values[split]]), axis=1)
        held, holders = np.unique(pairs[0], return_counts=True)
        keys[np.isin(keys, held[holders > 1])] = -1
    return keys


def _number(values: npt.NDArray[Any], fold: Integers) -> Integers:
    numbers: Integers = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return numbers * (int(fold.max(initial=0)) + 1) + fold


def _fault(view: StreamView, leak: _Leak, names: tuple[JsonValue, JsonValue]) -> Fault:
    one, other = leak.splits
    shared = np.unique(view.record.values[leak.rows & (one | other)])
    count = len(np.unique(leak.keys[leak.rows & one]))
    smaller = min(len(np.unique(leak.keys[split])) for split in leak.splits)
    changes = _changes(view, leak)
    named = view.identify(shared[:SHOWN])
    evidence: dict[str, JsonValue] = {
        "splits": [*names],
        "by": leak.by,
        "records": [*named],
        "records_count": len(shared),
        "share": round(count / smaller, 4),
        "first": _first(view, leak),
        "membership_changes": changes,
    }
    what = "records" if leak.by == "record" else f"records of equal {leak.by} bytes"
    message = f"{names[0]} and {names[1]} share {count} {what}"
    cause = "The splits are drawn by rules (or seeds) that do not exclude each other."
    if any(changes.values()):
        message += ", and records change from one to the other between epochs"
        cause = "The splits are drawn anew in each epoch."
    elif leak.by != "record":
        cause = "The source holds records twice, under other IDs."
    return Fault(
        severity=Severity.FAIL,
        message=f"{message}.",
        cause=cause,
        evidence=evidence,
        confirm=show(view.path, record=named[0]),
    )


def _first(view: StreamView, leak: _Leak) -> dict[str, JsonValue]:
    """Give the first row, in canonical order, whose record the other split had before."""
    rows = [np.flatnonzero(leak.rows & split) for split in leak.splits]
    debuts = [mine[np.unique(leak.keys[mine], return_index=True)[1]] for mine in rows]
    row = int(np.maximum(*debuts).min())
    return {"row": row, "epoch": int(view.epoch[row]), "record": view.record.show(row)}


def _changes(view: StreamView, leak: _Leak) -> dict[str, JsonValue]:
    """Count for each later epoch the records that the other split had in the epoch before."""
    changes: dict[str, JsonValue] = {}
    before: list[Integers] | None = None
    for epoch, rows in view.by_epoch():
        now = [np.unique(leak.keys[rows[(leak.rows & split)[rows]]]) for split in leak.splits]
        if before is not None:
            fresh = [np.setdiff1d(mine, own) for mine, own in zip(now, before, strict=True)]
            moved = [np.intersect1d(fresh[0], before[1]), np.intersect1d(fresh[1], before[0])]
            changes[str(epoch)] = len(np.union1d(*moved))
        before = now
    return changes
