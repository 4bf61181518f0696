"""Records come at rates that were not declared.

## What it catches

Draws that neither the declared weights nor equal ones explain; weights that are not one
for each record, or that no sampler can draw by; draws with replacement where none is
declared, and the reverse; and, against a baseline, records whose share of the stream is
another.

## Why it hurts

Rare classes are over- or underrepresented and nothing says so. Where each part of a
loader repeats for itself, a few small subjects can make half of what is trained on.

## Example

Weights of two classes are given where weights of records are asked for, and the sampler
draws positions 0 and 1 most of the time:

    weights   0.011 0.1             (of 100 records)
    run       1 1 0 1 57 1 0 1 ...

## How to mend it

Look up the weight of each record by its class, and pass one weight for each record. Make
sure that a trainer does not replace the sampler. Repeat one global schedule, not each
part of it.

## Evidence

- `kind`: "wrong length", "no shares", "other weights", "with replacement", "without
  replacement" or "other shares".
- `rows`: rows that were judged; `records`: record, declared (or baseline's) and realised
  share, 20 at most, those that are furthest off first.
- `effect`: the ratio of both shares of the record that is furthest off.
- `p_declared`: chance of counts so far off; `log10_chance`: its decimal logarithm, where it
  is too small for a number. Absent where records of positive weight never come: that is no
  matter of chance.
- `never_drawn`: IDs of positive weight that ought to have come, 20 at most;
  `never_drawn_count`.
- `unusable`: for no shares, weights below zero or not finite, 20 at most; none where all
  are zero.
- `weights`, `size`: for a wrong length, numbers of weights and of records; `unweighted`:
  rows whose record has no weight.
- `repeated`: for replacement, rows whose record came before in the epoch.
- `by`: for other shares, "shard" or "record"; `partitions`: part counts that explain them;
  `parts`: share of each part in the baseline and in the run.

## Limits

Needs `weights` or `replacement`, or a baseline in which records come five times an epoch.
Where equal rates explain the counts, where a record of weight zero comes, where no
record repeats though weights are unequal, or where one of two runs has no weights and so
has other shares, `ignored-weights` speaks. Draws without
replacement say nothing about weights. With several workers it needs `worker` to judge
repeats. A record that stands at several places of the source (`index`) repeats none.

## Seen in

Lightning-AI/pytorch-lightning#1995 (a sampler replaced); helia-edge up to 0.6.2 (parts
that repeat); class weights passed to `WeightedRandomSampler` in many projects.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import replay_again, show
from detloader.audits.headers import goes_on
from detloader.audits.integers import lacking
from detloader.audits.measures.explained import explain_missing
from detloader.audits.measures.filling import without_filling
from detloader.audits.measures.replacement import check_replacement
from detloader.audits.measures.schedules import (
    chance_of_homogeneity,
    part_counts,
    repetition,
    schedules_of,
)
from detloader.audits.measures.shards import has_shards
from detloader.audits.measures.shares import (
    chance_of_counts,
    chance_of_groups,
    furthest_off,
    groups_of,
    never_drawn,
    other_weights,
    show_shares,
)
from detloader.audits.measures.shown import SHOWN
from detloader.audits.measures.source import without_padding
from detloader.audits.measures.statistics import (
    ALPHA,
    PLAUSIBLE,
    is_impossible,
)
from detloader.audits.measures.unusable import judge_length, judge_shares
from detloader.audits.measures.weighted import are_shares, collect_draws, place_weights, without
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.measures.schedules import Schedules
    from detloader.audits.measures.weighted import Draws
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue, RecordId


__all__ = ["EXAMPLE", "STAGE", "check_run", "compare_runs"]


STAGE = Stage.SAMPLER


EXAMPLE = Example(
    faulty={"record": [0, 0, 1, 0, 0, 1, 0, 2] * 60},
    mended={"record": [2, 2, 1, 2, 0, 1, 2, 2] * 60},
    declared={"weights": [1, 2, 5], "replacement": True, "shuffle": True, "source_size": 3},
)


OFTEN = 5
"""Times that a record comes in an epoch, on average, where shares are a matter of schedule."""


LARGE = 1.5
"""Ratio between shares from which on a difference matters."""


def check_run(view: StreamView, known: Known) -> list[Fault]:
    """Find rates that contradict what was declared."""
    weights, replacement = view.declared("weights"), view.declared("replacement")
    if weights is None and replacement is None:
        raise CannotTell("weights")
    rows = without_padding(view)
    if not rows.rows:
        return []
    if weights is not None and not are_shares(weights):
        return judge_shares(view, weights)
    if weights is None or replacement is False:
        return check_replacement(without_filling(rows), known)
    return _check_weights(rows, known)


def _check_weights(view: StreamView, known: Known) -> list[Fault]:
    """Judge how often records come under the declared weights."""
    weights, names, places = place_weights(view)
    unweighted = int(((places < 0) | (places >= len(weights))).sum())
    size = int(view.declared("source_size") or 0)
    too_few = isinstance(view.declared("weights"), list) and len(weights) < size
    if unweighted or too_few or len(weights) > size > 0:
        _explain_missing(view, np.arange(len(weights), size), known)
        return judge_length(view, len(weights), size, unweighted)
    draws = without(view, collect_draws(view, weights, names, places), known)
    if _are_ignored(draws):
        return []
    if not draws.repeats:
        return check_replacement(view, known)
    p_declared = chance_of_counts(draws, draws.weights)
    if p_declared >= ALPHA:
        return []
    gone = [name for name, count in zip(draws.names, draws.counts, strict=True) if not count]
    _explain_missing(view, gone, known)
    return [_fault_of_weights(view, draws, p_declared)]


def _explain_missing(view: StreamView, gone: list[RecordId] | Integers, known: Known) -> None:
    """Note that the weights leave records out, where codes are positions."""
    if view.record.vocabulary is not None or view.has("index"):
        return
    missing = lacking(np.array(gone, np.int64), view.record.values)
    explain_missing(known, missing)


def _are_ignored(draws: Draws) -> bool:
    """Tell whether weights have no effect, which is another rule."""
    if len(np.unique(draws.weights)) < 2:  # noqa: PLR2004
        return False
    if draws.counts[draws.weights == 0].any() or not draws.repeats:
        return True
    equal = np.full(len(draws.names), 1 / len(draws.names))
    groups = groups_of(draws)
    p_uniform = len(groups) * min(chance_of_groups(draws, group, equal) for group in groups)
    return chance_of_groups(draws, groups[0], draws.weights) < ALPHA and p_uniform >= PLAUSIBLE


def _fault_of_weights(view: StreamView, draws: Draws, p_declared: float) -> Fault:
    never = np.flatnonzero(never_drawn(draws))
    cause = other_weights(draws, view.declared("workers"))
    place, ratio = furthest_off(draws)
    message = (
        f"The declared weights do not explain {draws.rows} draws, nor do equal ones: record "
        f"{draws.names[place]} has {draws.realised[place]:.1%} of them where "
        f"{draws.weights[place]:.1%} are declared"
    )
    evidence: dict[str, JsonValue] = {
        "kind": "other weights",
        "rows": draws.rows,
        "records": show_shares(draws),
        "effect": round(ratio, 4),
    }
    if len(never):
        what = "record" if len(never) == 1 else "records"
        message += f", and {len(never)} {what} of positive weight never came"
    else:
        evidence["p_declared"] = float(p_declared)
    return Fault(
        severity=Severity.FAIL,
        message=f"{message}.",
        cause=cause or "The sampler draws by other weights than the declared ones.",
        evidence=evidence
        | {
            "never_drawn": [draws.names[place] for place in never[:SHOWN].tolist()],
            "never_drawn_count": len(never),
        },
        confirm=show(view.path),
    )


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find records whose share of a repeating stream is not the baseline's."""
    a, b = comparison.a, comparison.b
    if b.declared("weights") is not None or goes_on(b.stream):
        return []
    if "ignored-weights" in known.causes:
        return []  # other rates follow
    if min(repetition(a), repetition(b)) < OFTEN:
        raise CannotTell("records that come five times an epoch in both runs")
    if any(run.config("repeats") is not None for run in (a, b)):
        raise CannotTell("two runs whose records are not repeated on purpose")
    tell_shards = a.has("shard") and b.has("shard") and (has_shards(a) or has_shards(b))
    by = "shard" if tell_shards else "record"
    schedules = schedules_of(a, b, by, known)
    log_chance = chance_of_homogeneity(schedules)
    _, ratio = furthest_off(schedules.draws)
    if not is_impossible(log_chance) or ratio < LARGE:
        return []
    return [_fault_of_shares(b, by, schedules, log_chance)]


def _fault_of_shares(b: StreamView, by: str, schedules: Schedules, log_chance: float) -> Fault:
    draws = schedules.draws
    partitions, parts = part_counts(schedules, b.declared("workers"))
    place, ratio = furthest_off(draws)
    noun = "Shard" if by == "shard" else "Record"
    message = (
        f"{noun} {draws.names[place]} has {draws.realised[place]:.1%} of the stream where the "
        f"baseline gives it {draws.weights[place]:.1%}, {ratio:.3g} times off."
    )
    cause = "Records are scheduled by other rates than in the baseline."
    if partitions:
        message += (
            f" Each of {partitions[0]} contiguous parts has an equal share, whatever it holds."
        )
        cause = (
            "Implicit partitioning: each contiguous part repeats for itself, and parts are merged "
            "at equal rates."
        )
    evidence: dict[str, JsonValue] = {
        "kind": "other shares",
        "by": by,
        "rows": draws.rows,
        "records": show_shares(draws),
        "effect": round(ratio, 4),
        "log10_chance": round(log_chance / math.log(10), 1),
        "partitions": [*partitions],
        "parts": parts,
    }
    return Fault(
        severity=Severity.FAIL,
        message=message,
        cause=cause,
        evidence=evidence,
        confirm=replay_again(b.path, b.stream, workers=1),
    )
