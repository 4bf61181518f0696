"""Something else draws from the stream that the shuffle draws from.

## What it catches

Two runs of one seed and configuration whose first epochs are equal, while later ones
are other permutations of the same records (or have other draws), for good. Runs
that are whole epochs apart: epoch k of one is epoch k + 1 of the other. And samples that
draw more or fewer numbers than in the other run, so that later ones have the draws that
were those of their neighbours.

## Why it hurts

A validation pass, a shape probe or a sanity check between two epochs takes a number
from the shared generator, and all later training epochs change. One image that cannot be
read, and is replaced by another, changes the augmentation of all that follow. It looks like a
race.

## Example

Run b validates after each epoch, with one draw from the global generator:

    epoch   0         1         2
    run a   2 0 3 1   1 3 0 2   0 1 3 2
    run b   2 0 3 1   3 2 0 1   2 3 1 0

## How to mend it

Give the shuffle a generator of its own, derived from seed and epoch, and let nothing
else draw from it. Derive the draws of a sample from seed, epoch and record.

## Evidence

- `first_epoch`: the first epoch that differs; `equal_epochs`: how many before it do not.
- `what`: "order", "draws" or "shifted-draws".
- `epochs`: the epochs that differ, 20 at most; `epochs_count`: all of them.
- `offset`: epochs by which the other run is ahead of the baseline, where one fits:
  1 says that its epoch k is epoch k + 1 of the baseline. null where none fits.
- `rng_out`, `rng_in`: state of the generator in both runs as the epoch before was left
  and as this one was entered, where these columns were recorded.
- `record`: of shifted draws, the first record that has other ones, in `column`; `shift`: by how
  many records of its reader the first draw that comes again is ahead of the baseline, below 0
  behind it; `largest_shift`: the most of any; `redrawn`: records with other draws;
  `shifted_draws`: how many of these have the baseline's of another record.
- `equal`: what both runs declare alike.

## Limits

Needs `epoch` with two epochs in both runs. Does not speak where seeds, topology or
versions explain the difference, where records only stand near their places, where a
later epoch is equal again, where runs were resumed, or where `rng_in` is equal; nor where
an epoch has the order of an earlier one of its run, for a stream that something else draws
from too never comes back. Shifted draws are told where readers keep their order, and began with
the same draws; of those that come again nowhere, nothing is told. Where one run lacks a few
rows of the other, one in twenty, those that both have are compared.

## Seen in

pytorch/pytorch#11062, keras-team/keras#8906; zea, whose `Dataloader.shape` runs one
iterator and so advances the seed of the next epoch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.batches import place_in_epoch
from detloader.audits.compare import compare
from detloader.audits.confirm import replay_again
from detloader.audits.integers import contains, tally
from detloader.audits.measures.added import without_added_rows
from detloader.audits.measures.conditions import (
    equal_conditions,
    is_resumed,
    is_unexplained,
    require_equal_seeds,
    require_no_other,
    topology_differences,
    version_differences,
)
from detloader.audits.measures.parting import find_parting
from detloader.audits.measures.repeats import find_repeats
from detloader.audits.measures.shifted_draws import find_shift
from detloader.audits.measures.shown import SHOWN
from detloader.audits.measures.statistics import is_impossible
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.measures.parting import Parting
    from detloader.audits.measures.shifted_draws import Shift
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["EXAMPLE", "STAGE", "compare_runs"]

STAGE = Stage.COUPLING

FEW = 0.05
"""Share of rows that may have been lost from an order, for what is left of it to be judged."""

_EPOCHS = [0] * 6 + [1] * 6 + [2] * 6

EXAMPLE = Example(
    baseline={"epoch": _EPOCHS, "record": [2, 0, 3, 5, 1, 4, 1, 3, 0, 4, 2, 5, 0, 5, 3, 1, 4, 2]},
    faulty={"epoch": _EPOCHS, "record": [2, 0, 3, 5, 1, 4, 5, 2, 4, 0, 1, 3, 3, 2, 0, 4, 5, 1]},
    mended={"epoch": _EPOCHS, "record": [2, 0, 3, 5, 1, 4, 1, 3, 0, 4, 2, 5, 0, 5, 3, 1, 4, 2]},
    declared={"shuffle": True, "seed": 0, "source_size": 6, "num_epochs": 3},
)


BETWEEN_EPOCHS = (
    "Something else, such as a validation pass or a probe, draws from the shared stream."
)
WITHIN_EPOCH = (
    "More or fewer numbers were drawn there from a generator that later samples draw from, too, as "
    "where another sample is read in place of one that cannot be."
)


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find epochs from which on two runs part."""
    a, b = comparison.a, comparison.b
    if not is_unexplained(comparison, known) or is_resumed(a.stream) or is_resumed(b.stream):
        return []
    if shift := find_shift(comparison):
        return _faults_of_shift(comparison, shift)
    if not (a.has("epoch") and b.has("epoch")):
        raise CannotTell("epoch")
    comparison = _of_common_rows(without_added_rows(comparison))
    parting = find_parting(comparison)
    if parting is None or _enters_alike(comparison, parting):
        return []
    repeats = _repeats_draws if parting.what == "draws" else _repeats_order
    if any(repeats(view, parting.first) for view in (comparison.a, comparison.b)):
        return []  # one begins again, or is kept, which is another fault
    if not _is_no_chance(comparison, parting):
        require_equal_seeds(a.stream, b.stream, random=True)
    _require_alike(comparison)
    return [_fault(comparison, parting)]


def _require_alike(comparison: Comparison) -> None:
    a, b = comparison.a.stream, comparison.b.stream
    others = [*topology_differences(a, b), *version_differences(a, b)]
    require_no_other(a, b, "what else drew", others)


def _begins_epoch(view: StreamView, row: int) -> bool:
    """Tell whether what other draws begin with is an epoch: before it something else drew."""
    return bool(row == np.argmax(view.epoch == view.epoch[row]))


def _faults_of_shift(comparison: Comparison, shift: Shift) -> list[Fault]:
    a, b = comparison.a, comparison.b
    epoch = int(b.epoch[shift.row])
    if any(find_repeats(view, shift.column, dict(view.by_epoch())).repeats for view in (a, b)):
        return []  # one has draws again, which is another fault
    _require_alike(comparison)
    record = b.record.show(shift.row)
    return [
        Fault(
            severity=Severity.FAIL,
            message=f"From record {record} of epoch {epoch} on, draws are shifted: of "
            f"{shift.redrawn} records with other draws, {shift.shifted} have the baseline's of a "
            f"record up to {shift.largest} places away, in the same order.",
            cause=BETWEEN_EPOCHS if _begins_epoch(b, shift.row) else WITHIN_EPOCH,
            evidence={
                "first_epoch": epoch,
                "what": "shifted-draws",
                "column": shift.column,
                "record": record,
                "shift": shift.by,
                "largest_shift": shift.largest,
                "shifted_draws": shift.shifted,
                "redrawn": shift.redrawn,
                "equal": equal_conditions(a.stream, b.stream),
            },
            confirm=replay_again(b.path, b.stream),
        )
    ]


def _of_common_rows(comparison: Comparison) -> Comparison:
    """Compare two runs anew without the few rows that only one of them has; many are left."""
    a, b, alignment = comparison.a, comparison.b, comparison.alignment
    common, rows = len(alignment.rows_a), max(a.rows, b.rows)
    if not 0 < rows - common <= FEW * rows:
        return comparison
    return compare(_in_turns(a, alignment.rows_a), _in_turns(b, alignment.rows_b))


def _in_turns(view: StreamView, rows: Integers) -> StreamView:
    """Give some rows in the order that was dealt out, as far as ranks take turns.

    A record that is left out moves all that come after it to other ranks.
    """
    if view.ranks == 1:
        return view.take(np.sort(rows))
    order = np.lexsort((view.rank, place_in_epoch(view), view.epoch))
    return view.take(order[contains(rows, order)])


def _enters_alike(comparison: Comparison, parting: Parting) -> bool:
    states = _states(comparison, "rng_in", parting.first)
    return states is not None and states[0] == states[1]


def _is_no_chance(comparison: Comparison, parting: Parting) -> bool:
    """Tell whether two shuffles by different seeds would not begin so much alike.

    One that seeds each epoch with seed + epoch is whole epochs apart under other seeds, too, but
    not after epochs that are equal.
    """
    if parting.offset is not None and parting.equal:
        return True
    before = comparison.a.epoch[comparison.a.epoch < parting.first]
    if parting.what == "draws":
        return is_impossible(-len(before) * math.log(2))
    if comparison.a.declared("shuffle") is not True:
        return False  # an order that is not random may be the same under every seed
    return is_impossible(-sum(math.lgamma(rows + 1) for rows in tally(before)[1].tolist()))


def _repeats_draws(view: StreamView, parted: int) -> bool:
    """Tell whether epochs have the draws of earlier ones, or take none where the runs part."""
    epochs = dict(view.by_epoch())
    of_draws = (name for name in view.compared if name.startswith("draws"))
    taken = [name for name in of_draws if not view.compared[name].missing().all()]
    return not taken or any(
        view.compared[name].missing()[epochs[parted]].all()
        or find_repeats(view, name, epochs).repeats
        for name in taken
    )


def _repeats_order(view: StreamView, parted: int) -> bool:
    """Tell whether an epoch from there on has the order of an earlier one."""
    seen: set[bytes] = set()
    for epoch, rows in view.epochs.items():
        order = view.record.values[rows].tobytes()
        if epoch >= parted and order in seen:
            return True
        seen.add(order)
    return False


def _states(comparison: Comparison, name: str, epoch: int) -> list[JsonValue] | None:
    """Give the state that both runs recorded for an epoch; None where one did not."""
    if not (comparison.a.has(name) and comparison.b.has(name)):
        return None
    return [_first(comparison.a, name, epoch), _first(comparison.b, name, epoch)]


def _first(view: StreamView, name: str, epoch: int) -> JsonValue:
    return view.column(name).show(int(np.argmax(view.epoch == epoch)))


def _fault(comparison: Comparison, parting: Parting) -> Fault:
    evidence: dict[str, JsonValue] = {
        "first_epoch": parting.first,
        "equal_epochs": parting.equal,
        "what": parting.what,
        "epochs": [*parting.epochs[:SHOWN]],
        "epochs_count": len(parting.epochs),
        "offset": parting.offset,
        "equal": equal_conditions(comparison.a.stream, comparison.b.stream),
    }
    before = parting.epochs[0] - 1 if parting.equal else parting.first
    for name, epoch in (("rng_out", before), ("rng_in", parting.first)):
        states = _states(comparison, name, epoch)
        if states is not None:
            evidence[name] = [*states]
    return Fault(
        severity=Severity.FAIL,
        message=_message(parting),
        cause=BETWEEN_EPOCHS,
        evidence=evidence,
        confirm=replay_again(comparison.b.path, comparison.b.stream),
    )


def _message(parting: Parting) -> str:
    subject = "the draws are others" if parting.what == "draws" else "the order is another one"
    if not parting.equal:
        message = f"The order is another one from the first epoch, {parting.first}, on."
    else:
        equal = "One epoch is" if parting.equal == 1 else f"{parting.equal} epochs are"
        message = f"{equal} equal; from epoch {parting.first} on {subject}, of the same records."
    if parting.offset is None:
        return message
    where = f"k {'+' if parting.offset > 0 else '-'} {abs(parting.offset)}"
    return f"{message} From there on its epoch k is the baseline's epoch {where}."
