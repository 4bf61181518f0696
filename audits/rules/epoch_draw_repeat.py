"""Augmentation is the same in each epoch.

## What it catches

Draws of a later epoch that are those of an earlier one: by place (same worker or
rank, same position, other record), or by record (each record is augmented once and for
all); and draws that a cache took in the first epoch only.

## Why it hurts

The number of augmented variants stays at one, however long training runs. The order
changes from epoch to epoch, so that nothing looks wrong.

## Example

Workers are started anew for each epoch and seeded with their number:

    epoch 0   records 3 0 2 1   draws 71 35 90 12
    epoch 1   records 1 2 0 3   draws 71 35 90 12

## How to mend it

Seed workers from (seed, epoch, rank, worker), or each sample from (seed, epoch, record).
Put the cache before random transforms. Augmentation that is meant to be fixed is
declared: `purpose` "eval", `order_policy` "fixed", or `config.fixed_draws` true.

## Evidence

- `column`: the draws that repeat.
- `follows`: the key that they follow: "worker and position", "rank and position",
  "record", or "record and position"; "cache" where later epochs have none.
- `epochs`: pairs of an earlier epoch and the later one that equals it, 20 at most;
  `epochs_count`: all of them.
- `matched` of `compared`: draws that agree, in the pair that agrees least.
- `log10_chance`: decimal logarithm of the chance of all these pairs.
- `seeds`: seeds that these epochs used, where a `seed` column tells.

## Limits

Needs `draws` and two epochs, and `purpose` "train" or a declared `shuffle`. Where the
order repeats too, though a shuffle is declared, the loader starts anew as a whole: that
is `epoch-order-repeat`. Low-entropy draws are judged as in `worker-rng-clone`. With up
to 32 epochs each is compared with all before it, beyond with the first and the last one.
That later epochs have no draws is a fault only where `cache` is declared, or where they
hold the content that the first one made. Where none but first samples of workers or ranks
drew, nothing is said: a generator that each sample sets back to one state is seen as if it
stood still.

## Seen in

Lightning-AI/pytorch-lightning#20412, tensorflow/tensorflow#44195 (reseeded);
albumentations-team/AlbumentationsX#266 (frozen).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.alignment import match_occurrences
from detloader.audits.confirm import show
from detloader.audits.measures.deliverers import deliverers_of, place_among
from detloader.audits.measures.draws import draw_columns
from detloader.audits.measures.repeats import Repeats, find_repeats
from detloader.audits.measures.shown import SHOWN
from detloader.audits.measures.source import without_padding
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue


__all__ = ["EXAMPLE", "OF_PARTS", "STAGE", "check_run"]


STAGE = Stage.DRAWS
OF_PARTS = True


_STREAM = [71, 35, 90, 12, 58, 44, 83, 67]


EXAMPLE = Example(
    faulty={
        "epoch": [0] * 8 + [1] * 8,
        "record": [3, 0, 7, 1, 6, 2, 5, 4, 6, 1, 4, 3, 2, 0, 7, 5],
        "draws": _STREAM * 2,
    },
    mended={
        "epoch": [0] * 8 + [1] * 8,
        "record": [3, 0, 7, 1, 6, 2, 5, 4, 6, 1, 4, 3, 2, 0, 7, 5],
        "draws": [*_STREAM, *(draw + 100 for draw in _STREAM)],
    },
    declared={"purpose": "train", "shuffle": True, "source_size": 8},
)


MOSTLY = 0.95
"""Share of rows that speaks for an epoch."""


def check_run(view: StreamView, known: Known) -> list[Fault]:  # noqa: ARG001 - explains no other
    """Find epochs whose draws are those of an earlier one."""
    names = draw_columns(view)
    if _is_meant(view):
        return []
    view.require("epoch")
    if view.declared("purpose") != "train" and view.declared("shuffle") is not True:
        raise CannotTell("purpose")
    rows = without_padding(view)
    epochs = dict(rows.by_epoch())
    if len(epochs) < 2:  # noqa: PLR2004
        raise CannotTell("at least 2 epochs")
    if fault := _check_cache(rows, names, epochs):
        return [fault]
    found = {name: find_repeats(rows, name, epochs) for name in names}
    repeated = [name for name in names if found[name].repeats]
    if not repeated and any(repeats.doubtful for repeats in found.values()):
        raise CannotTell("more draws: epochs agree, but chance may have made them so")
    if not repeated and any(_are_of_first_samples(rows, name) for name in names):
        raise CannotTell("draws behind a first sample: generators that each sample sets back")
    if "draws" in repeated:  # it covers all draws
        repeated = ["draws"]
    return [_fault(rows, name, found[name], epochs) for name in repeated]


def _is_meant(view: StreamView) -> bool:
    return (
        view.declared("purpose") == "eval"
        or view.declared("order_policy") == "fixed"
        or view.config("fixed_draws") is True
    )


def _are_of_first_samples(view: StreamView, name: str) -> bool:
    """Tell whether only first samples drew: one that sets a generator back is seen to draw nothing.

    It leaves the generator in the state in which it found it.
    """
    drew = ~view.compared[name].missing()
    if not drew.any() or drew.mean() > 1 - MOSTLY:
        return False
    return not place_among(view, deliverers_of(view))[drew].any()


def _check_cache(view: StreamView, names: list[str], epochs: dict[int, Integers]) -> Fault | None:
    """Judge draws that only the first epoch has."""
    first, *later = [epochs[epoch] for epoch in sorted(epochs)]
    frozen = [
        name
        for name in names
        if (~view.compared[name].missing()[first]).mean() >= MOSTLY
        and view.compared[name].missing()[np.concatenate(later)].mean() >= MOSTLY
    ]
    if not frozen or view.declared("cache") is False:
        return None
    if not view.declared("cache") and not _keeps_content(view, first, later[0]):
        raise CannotTell("cache: later epochs take no draws")
    pairs = [(min(epochs), epoch) for epoch in sorted(epochs)[1:]]
    return Fault(
        severity=Severity.FAIL,
        message=f"Only epoch {min(epochs)} takes draws; the {len(later)} later ones take none.",
        cause="A cache behind the random transforms keeps what the first epoch made.",
        evidence={
            "column": frozen[0],
            "follows": "cache",
            "epochs": [[*pair] for pair in pairs[:SHOWN]],
            "epochs_count": len(pairs),
        },
        confirm=show(view.path, epoch=pairs[0][1]),
    )


def _keeps_content(view: StreamView, first: Integers, later: Integers) -> bool:
    """Tell whether a later epoch holds what the draws of the first one made of its records."""
    if "content" not in view.compared:
        return False
    content, records = view.compared["content"], view.record.values
    one, other = match_occurrences(records[first], records[later])
    same = content.take(first[one]).equals(content.take(later[other]))
    return len(same) > 0 and float(same.mean()) >= MOSTLY


def _fault(view: StreamView, name: str, found: Repeats, epochs: dict[int, Integers]) -> Fault:
    repeats = found.repeats
    weakest = max(repeats, key=lambda repeat: repeat.agreement.log_chance)
    agreement, follows = weakest.agreement, weakest.follows
    evidence: dict[str, JsonValue] = {
        "column": name,
        "follows": follows,
        "epochs": [[repeat.earlier, repeat.later] for repeat in repeats[:SHOWN]],
        "epochs_count": len(repeats),
        "matched": agreement.matched,
        "compared": agreement.compared,
        "log10_chance": round(found.log_chance / math.log(10), 1),
    }
    if view.has("seed"):
        seeds = view.column("seed")
        involved = {epoch for repeat in repeats for epoch in (repeat.earlier, repeat.later)}
        evidence["seeds"] = [seeds.show(int(epochs[epoch][0])) for epoch in sorted(involved)]
    if follows.startswith("record"):
        cause = "Draws are derived from the record alone, or what they made is cached."
    else:
        cause = "Random generators are seeded without the epoch, and start anew in each."
    later = sorted({repeat.later for repeat in repeats})
    many = f"Epochs {', '.join(map(str, later[:5]))}" if len(later) > 1 else f"Epoch {later[0]}"
    more = ", …" if len(later) > 5 else ""  # noqa: PLR2004
    verb = "repeat" if len(later) > 1 else "repeats"
    return Fault(
        severity=Severity.FAIL,
        message=f"{many}{more} {verb} the draws of an earlier epoch by {follows}: "
        f"{agreement.matched} of {agreement.compared} agree.",
        cause=cause,
        evidence=evidence,
        confirm=show(view.path, epoch=weakest.later),
    )
