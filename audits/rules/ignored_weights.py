"""Declared sampling weights have no effect.

## What it catches

A run that declares a weight for each record and draws all records alike: with
replacement at equal rates, or each of them once an epoch. In an audit, a run without
weights that draws all alike where the other one draws by weights that it declares: another
sampler took the place of the one that reads them, or it never was there. Also a record of
weight zero that comes.

## Why it hurts

Classes that weights were meant to balance stay unbalanced, and no error is
raised. The loss falls all the same.

## Example

Weights 1, 1, 2 ask for record 2 in every second draw; it comes in every third:

    record     0      1      2
    declared   25 %   25 %   50 %
    realised   33 %   34 %   33 %

## How to mend it

Use a generator that reads its weights. `random_id_generator` of helia-edge 0.6.2
and older does not; that of detloader does. Make sure that the trainer does not
replace the sampler in distributed training.

## Evidence

- `draws`: rows that were judged; sequences that repeat as a whole count once.
- `records`: record, declared share and realised share, 20 at most, those that are
  furthest apart first.
- `effect`: the ratio of both shares of the record that is furthest off.
- `p_declared`, `p_uniform`: chance of counts, or of orders, so far off, under the declared
  weights and under equal ones. Absent where no statistics were needed.
- `zero_weight_drawn`: IDs of records of weight zero that came, 20 at most.
- `sampler`: those of both runs, in an audit of runs that were given others.

A fault of the run, or of the other run of an audit, fails; that the baseline has no weights,
and the other run has, is a warning, for they may have been added.

## Limits

Needs `weights`; a list needs integer IDs that are source positions, or `index`.
Equal weights cannot be ignored; weights that are not one for each record are
another fault (`sampling-distribution`). Unless `replacement` is true, a run in which every
record comes once may have been drawn without it: then weights move the order alone, heavy
records to the front. Enough epochs of one rank show by their order that weights did not;
of several ranks it cannot tell. Needs enough draws to refute the declared weights at 1e-8;
where equal weights are as implausible, something else is wrong and this rule is silent.

## Seen in

helia-edge up to 0.6.2; Lightning-AI/pytorch-lightning#1995, #4650;
huggingface/accelerate#2865.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import show
from detloader.audits.measures.shares import (
    chance_of_groups,
    furthest_off,
    groups_of,
    show_shares,
)
from detloader.audits.measures.shown import SHOWN
from detloader.audits.measures.source import without_padding
from detloader.audits.measures.statistics import (
    ALPHA,
    PLAUSIBLE,
    chance_of_no_repeat,
    is_impossible,
)
from detloader.audits.measures.weighted import (
    collect_draws,
    log_odds_of_orders,
    read_weights,
    without,
)
from detloader.audits.rule import CannotTell, Example, Fault, Known, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.compare import Comparison
    from detloader.audits.measures.weighted import Draws
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["EXAMPLE", "STAGE", "check_run", "compare_runs"]

STAGE = Stage.SAMPLER

NAMED = 5
"""Records that a message names."""

EXAMPLE = Example(
    faulty={"record": [0, 1, 2] * 200},
    mended={"record": [0, 2, 1, 2] * 150},
    declared={"weights": [1, 1, 2], "replacement": True, "shuffle": True, "source_size": 3},
)


def check_run(view: StreamView, known: Known) -> list[Fault]:
    """Find weights that have no effect."""
    if view.declared("weights") is not None or view.baseline is None:
        return _judge(view, view, known)
    return _judge(view, view.baseline, known)


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find a baseline that draws all alike, where the other run draws by weights."""
    a, b = comparison.a, comparison.b
    if a.declared("weights") is not None or b.declared("weights") is None:
        return []
    return [] if _judge(b, b, known) else _judge(a, b, Known())


def _judge(view: StreamView, declaring: StreamView, known: Known) -> list[Fault]:
    """Judge the rows of a run by the weights of that run, or of the other one of an audit."""
    if declaring.declared("weights") is None:
        raise CannotTell("weights")
    rows = without_padding(view)
    weights, names, places = read_weights(rows, declaring)
    if len(names) != int(view.declared("source_size") or len(names)):
        raise CannotTell("a weight for each record")
    if len(np.unique(weights)) < 2 or not len(places):  # noqa: PLR2004
        return []
    draws = collect_draws(rows, weights, names, places)
    if drawn := np.flatnonzero((weights == 0) & (draws.counts > 0)).tolist():
        return [_zero_drawn(view, declaring, draws, drawn)]
    kept = without(declaring, draws, known)
    if len(np.unique(kept.weights)) < 2:  # noqa: PLR2004
        return []
    if kept.repeats:
        return _judge_rates(view, declaring, kept)
    return _judge_permutation(view, declaring, kept)


def _show(draws: Draws) -> dict[str, JsonValue]:
    """Give the evidence that every finding has."""
    effect = furthest_off(draws)[1]
    return {"draws": draws.rows, "records": show_shares(draws), "effect": effect}


def _zero_drawn(view: StreamView, declaring: StreamView, draws: Draws, drawn: list[int]) -> Fault:
    named = [draws.names[place] for place in drawn[:SHOWN]]
    rows = int(draws.counts[drawn].sum())
    listed = ", ".join(map(str, named[:NAMED])) + (", …" if len(drawn) > NAMED else "")
    return _fault(
        view,
        declaring,
        f"Records of weight zero come: {listed}, in {rows} of {draws.rows} rows.",
        _show(draws) | {"zero_weight_drawn": [*named]},
    )


def _judge_permutation(view: StreamView, declaring: StreamView, draws: Draws) -> list[Fault]:
    """Judge a run in which no record comes twice in an epoch."""
    replacement = declaring.declared("replacement")
    if replacement is not True and view.ranks > 1:
        raise CannotTell("replacement: without it, weights move the order alone")
    log_odds = 0.0 if replacement else log_odds_of_orders(draws)
    log_chances = [] if replacement is False else [_log_chance_of_no_repeat(draws)]
    log_chances += [] if replacement else [log_odds]
    log_chance = max(log_chances)
    if is_impossible(-log_odds):
        return []  # heavy records come early
    if not is_impossible(log_chance):
        raise CannotTell(
            "more rows" if replacement else "more epochs, for weights may move the order alone"
        )
    owner = _owner(view, declaring)
    whose = {"": "these weights", "a": "the baseline's weights", "b": "the weights of b"}[owner]
    why = f"draws by {whose}, with replacement, would repeat records"
    if not replacement:
        why = f"draws by {whose} would repeat records, or bring heavy ones first"
    return [
        _fault(
            view,
            declaring,
            f"No record comes twice in an epoch, in {draws.rows} rows: {why}.",
            _show(draws) | {"p_declared": math.exp(log_chance)},
        )
    ]


def _log_chance_of_no_repeat(draws: Draws) -> float:
    """Give the logarithm of the chance that draws with replacement never repeat in an epoch."""
    records = int((draws.weights > 0).sum())
    whole = np.log(draws.weights[draws.weights > 0]).sum() + math.lgamma(records + 1)
    lengths = map(len, draws.sequences)
    return float(
        sum(
            whole if length == records else chance_of_no_repeat(length, records)
            for length in lengths
        )
    )


def _judge_rates(view: StreamView, declaring: StreamView, draws: Draws) -> list[Fault]:
    """Judge how often records come."""
    by_weight, by_place = groups_of(draws)
    equal = np.full(len(draws.weights), 1 / len(draws.weights))
    p_declared = chance_of_groups(draws, by_weight, draws.weights)
    p_uniform = min(
        1.0, 2 * min(chance_of_groups(draws, pool, equal) for pool in (by_weight, by_place))
    )
    if p_declared >= ALPHA:
        if p_uniform >= ALPHA:
            raise CannotTell(f"more rows than {draws.rows}")
        return []
    if p_uniform < PLAUSIBLE:
        return []
    worst, ratio = furthest_off(draws)
    alike = "All" if _owner(view, declaring) == "b" else "Weights have no effect: all"
    return [
        _fault(
            view,
            declaring,
            f"{alike} {len(draws.names)} records come at equal rates in "
            f"{draws.rows} rows. Record {draws.names[worst]} has {draws.realised[worst]:.1%} of "
            f"them where {draws.weights[worst]:.1%} are declared, {ratio:.3g} times off.",
            _show(draws) | {"p_declared": p_declared, "p_uniform": p_uniform},
        )
    ]


def _fault(
    view: StreamView, declaring: StreamView, message: str, evidence: dict[str, JsonValue]
) -> Fault:
    owner = _owner(view, declaring)
    cause = {
        "": "The sampler does not read the weights that it was given.",
        "a": "The weights of the baseline were dropped.",
        "b": "The baseline was drawn without weights.",
    }[owner]
    samplers = view.otherwise.get("sampler")
    if owner and isinstance(samplers, list) and all(isinstance(name, str) for name in samplers):
        weighted, plain = samplers if owner == "a" else reversed(samplers)
        cause = f"{plain} took the place of {weighted}, and reads no weights."
        if owner == "b":
            cause = f"The baseline was drawn by {plain}, which reads no weights."
        evidence["sampler"] = samplers
    if owner == "b":
        first, rest = message[0].lower(), message[1:]
        message = f"In run a, which has no weights where run b has, {first}{rest}"
    return Fault(
        severity=Severity.WARN if owner == "b" else Severity.FAIL,
        message=message,
        cause=cause,
        evidence=evidence,
        confirm=show(view.path),
        of_baseline=owner == "b",
    )


def _owner(view: StreamView, declaring: StreamView) -> str:
    """Tell which run of an audit has the weights, where it is the other one; else nothing."""
    if declaring is view:
        return ""
    return "a" if declaring is view.baseline else "b"
