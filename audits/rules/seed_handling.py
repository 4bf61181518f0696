"""A seed does not do what it was given for.

## What it catches

A seed that was given while another was used: 0 that counts as none, a seed cut to
its low bits, to an integer, or to a range, or simply ignored. Two runs of a shuffle
that nobody seeded. Two runs of one declaration that used different seeds, and two
runs of different seeds that have one order. Two runs that were given one seed, of which
the loader made others for its parts. Runs that were merely given different seeds are
told by a note, for nothing else need be looked for.

## Why it hurts

A run that carries a seed in its config is believed to be repeatable. `if seed:`
works for every seed except 0, which is the one that people pick most.

## Example

    run a   seed 0, used 1755555667
    run b   seed 0, used 1706600257

## How to mend it

Compare with `seed is None`, never by truth. Refuse seeds that the generator cannot
hold. Where no seed was given, draw one, use it and record it, so that the run can be
repeated with it. Where a loader derives seeds by place, as Grain does below `seed(7)`, give
the shuffle, and each transform that draws, a seed of its own.

## Evidence

- `kind`: "zero", "fraction", "truncated", "out-of-range", "ignored", "unseeded",
  "derived", "different" or "no-effect".
- `given`, `used`: the seeds of the run, or of both runs, in their own types; null
  where there was none, left out where nobody declared it.
- `types`: the names of the types of `given`.
- `made`: where seeds were made otherwise of the one that was given, the first part of the
  loader for which they were, and its seed, in both runs; null where a run made none. So too of
  the first transform that was given another seed of its own.

## Limits

Needs a declared `seed`, and `seed_used` to tell whether it was used. A loader that
derives its seed from the one it was given, the same in both runs, is a note. That a
seed has no effect is said of shuffled runs of twelve records and more, of which a configuration
may say by `shuffled_elements` how many elements were shuffled: then of twelve of these.

## Seen in

huggingface/diffusers#10964 and invoke-ai/InvokeAI#875 (zero); torch, which keeps
the low 32 bits; grain, where 1, 1.5 and 1.9 are one seed; unseeded WebDataset shards.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from detloader.audits.headers import unequal_digests
from detloader.audits.measures.conditions import UNKNOWN, effective_seed, is_unexplained
from detloader.audits.measures.seeds import (
    Seeds,
    first_given_otherwise,
    first_made_otherwise,
    is_same_seed,
    misuse_of,
)
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.audits.compare import Comparison
    from detloader.audits.measures.seeds import Made, Misuse
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Stream

__all__ = ["EXAMPLE", "OF_PARTS", "STAGE", "check_run", "compare_headers", "compare_runs"]

STAGE = Stage.SEED
OF_PARTS = True

EXAMPLE = Example(
    baseline={"record": [3, 0, 2, 1, 4]},
    faulty={"record": [1, 4, 0, 3, 2]},
    mended={"record": [3, 0, 2, 1, 4]},
    declared={"shuffle": True, "seed": None, "source_size": 5},
)

LEAST_ROWS = 12
"""Records of an epoch from which on two shuffles do not agree by chance: 12! > 1e8."""


def check_run(view: StreamView, known: Known) -> list[Fault]:  # noqa: ARG001 - explains no other
    """Find a seed that was given and not used."""
    misuse = misuse_of(view.stream)
    if misuse is None:
        view.require("seed", "seed_used")
        return []
    # A seed may be derived from the one that was given; the other kinds lose something of it.
    severity = Severity.WARN if misuse.kind == "ignored" else Severity.FAIL
    message = f"Seed {misuse.given!r} was given and {misuse.used!r} was used: {misuse.reading}."
    return [_fault(severity, message, misuse.kind, Seeds.of(view.stream))]


def compare_headers(a: Stream, b: Stream) -> list[Fault]:
    """Find seeds that were given and not used, and seeds without effect."""
    misuses = [misuse_of(a), misuse_of(b)]
    found = next((misuse for misuse in reversed(misuses) if misuse is not None), None)
    if found is None:
        return _without_effect(a, b)
    seeds = Seeds.of(a, b)
    where = "both runs" if all(misuses) else "the baseline" if misuses[0] else "the other run"
    message = (
        f"Seed {found.given!r} was given to {where}, and {_list(misuses)} used: {found.reading}."
    )
    fault = _fault(_severity(found.kind, seeds), message, found.kind, seeds)
    return [replace(fault, shared=_are_alike(seeds))]


def _are_alike(seeds: Seeds) -> bool:
    return bool(seeds.given[0] == seeds.given[1] and seeds.used[0] == seeds.used[1])


def _severity(kind: str, seeds: Seeds) -> Severity:
    """Tell whether runs can differ for it: a seed that is derived from another may be meant."""
    same_given = seeds.given[0] == seeds.given[1]
    same_used = seeds.used[0] == seeds.used[1]
    if same_given and same_used:
        return Severity.NOTE
    if kind == "ignored" and UNKNOWN in seeds.used:
        return Severity.WARN
    if kind == "ignored" and not same_given and not same_used:
        return Severity.NOTE
    return Severity.FAIL


def _list(misuses: list[Misuse | None]) -> str:
    used = list(dict.fromkeys(repr(misuse.used) for misuse in misuses if misuse is not None))
    return " and ".join(used) + (" were" if len(used) > 1 else " was")


def _without_effect(a: Stream, b: Stream) -> list[Fault]:
    effective = [effective_seed(a), effective_seed(b)]
    if UNKNOWN in effective or None in effective or is_same_seed(*effective):
        return []
    if not all(_is_shuffled(stream) for stream in (a, b)):
        return []
    if a.rows != b.rows or unequal_digests(a, b) != []:
        return []
    epochs = max(1, a.ranks[0].header.seen.epochs)
    if a.rows < LEAST_ROWS * epochs:
        raise CannotTell(f"epochs of at least {LEAST_ROWS} records")
    if _are_few_shuffled(a) or _are_few_shuffled(b):
        raise CannotTell(f"a shuffle of at least {LEAST_ROWS} elements")
    named = " and ".join(map(repr, effective))
    message = f"Seeds {named} give one order: the shuffle does not use them."
    return [_fault(Severity.FAIL, message, "no-effect", Seeds.of(a, b))]


def _are_few_shuffled(stream: Stream) -> bool:
    """Tell whether a run says that few elements were shuffled, such as files, or whole batches."""
    config = stream.declared.config
    elements = None if config is UNKNOWN else config.get("shuffled_elements")
    return isinstance(elements, int) and elements < LEAST_ROWS


def _is_shuffled(stream: Stream) -> bool:
    declared = stream.declared
    return (
        declared.shuffle is True and declared.order_policy != "fixed" and declared.purpose != "eval"
    )


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find runs without a seed, and runs that were given different ones."""
    a, b = comparison.a.stream, comparison.b.stream
    told = any(fault.severity is not Severity.NOTE for fault in compare_headers(a, b))
    if told or not is_unexplained(comparison, known) or not _can_follow_seeds(comparison):
        return []
    seeds, effective = Seeds.of(a, b), [effective_seed(a), effective_seed(b)]
    if None in effective:
        where = "Neither run was" if effective == [None, None] else "One of the runs was not"
        message = f"{where} given a seed, nothing tells which one was used, and the runs differ."
        return [_fault(Severity.FAIL, message, "unseeded", seeds)]
    is_same = UNKNOWN not in effective and is_same_seed(*effective)
    if (is_same or UNKNOWN in effective) and (given := _given_otherwise(comparison, seeds)):
        known.causes.append("seed-handling")  # no fault, and still the cause
        return given
    if UNKNOWN in effective:
        raise CannotTell("seed")
    if is_same:
        return _made_otherwise(comparison, seeds)
    named = " and ".join(map(repr, effective))
    if None in seeds.given:
        message = f"A run was not given a seed: {named} were used."
        return [_fault(Severity.FAIL, message, "unseeded", seeds)]
    known.causes.append("seed-handling")  # no fault, and still the cause
    message = f"The runs were given different seeds, {named}."
    return [_fault(Severity.NOTE, message, "different", seeds)]


def _given_otherwise(comparison: Comparison, seeds: Seeds) -> list[Fault]:
    """Find transforms that were given other seeds, where nothing but what they do differs."""
    pair = first_given_otherwise(comparison.a.stream, comparison.b.stream)
    if pair is None or comparison.counts.moved or comparison.counts.other_records:
        return []
    message = f"A transform was given different seeds: {_tell(pair)}."
    return [_with_pair(_fault(Severity.NOTE, message, "different", seeds), pair)]


def _made_otherwise(comparison: Comparison, seeds: Seeds) -> list[Fault]:
    """Find seeds that the loaders made otherwise of the one that both were given."""
    pair = first_made_otherwise(comparison.a.stream, comparison.b.stream)
    if pair is None or comparison.counts.other_records:
        return []  # other records are no matter of a seed
    given = repr(seeds.given[0])
    message = f"Both runs were given seed {given}, of which others were made: {_tell(pair)}."
    return [_with_pair(_fault(Severity.WARN, message, "derived", seeds), pair)]


def _tell(pair: Sequence[Made | None]) -> str:
    return " and ".join("none" if one is None else f"{one[1]} for {one[0]}" for one in pair)


def _with_pair(fault: Fault, pair: Sequence[Made | None]) -> Fault:
    made: list[JsonValue] = [None if one is None else [*one] for one in pair]
    return replace(fault, evidence={**fault.evidence, "made": made})


def _can_follow_seeds(comparison: Comparison) -> bool:
    """Tell whether something differs that a seed decides: draws, or the order of a shuffle.

    Draws that nobody saw may be seen in the content.
    """
    from detloader.audits.measures.unseen_draws import may_follow_seeds

    if comparison.redrawn.any() or may_follow_seeds(comparison):
        return True
    if comparison.a.declared("shuffle") is False and comparison.b.declared("shuffle") is False:
        return False
    rows = min(comparison.a.rows, comparison.b.rows)
    differs = comparison.a.record.values[:rows] != comparison.b.record.values[:rows]
    if not differs.any():
        return False
    from detloader.audits.measures.parts_in_order import keeps_order_of_parts

    return not keeps_order_of_parts(comparison)


CAUSES = {
    "zero": "The loader tests the seed by its truth, and 0 is false.",
    "fraction": "The loader turns the seed into an integer.",
    "truncated": "The generator keeps only the low bits of the seed.",
    "out-of-range": "The generator cannot hold this seed, so another was put in its place.",
    "ignored": "The loader does not hand the seed on to its shuffle.",
    "unseeded": "Without a seed each run draws its own.",
    "derived": "Each part has a seed by its place, and below it one was put in, or taken out.",
    "different": "Another seed is another order and other draws.",
    "no-effect": "The loader does not hand the seed on to its shuffle.",
}


def _fault(severity: Severity, message: str, kind: str, seeds: Seeds) -> Fault:
    evidence: dict[str, JsonValue] = {"kind": kind, **seeds.evidence()}
    return Fault(severity=severity, message=message, cause=CAUSES[kind], evidence=evidence)
