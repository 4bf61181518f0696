"""The source is enumerated in another order.

## What it catches

Two runs in which the same place of the source is another record: the sampler asks for
the same indices and gets other records; or unshuffled runs over the same records come
in another order because of a hash, a listing, a sorting, a reversal or a rotation.

## Why it hurts

All seeds are fixed and equal, and record 17 is still another file on the other
machine. Splits by position differ too, so that a model may be tested on records that
it was trained on elsewhere.

## Example

    index   3 2 5
    run a   d c f
    run b   b f d

## How to mend it

Sort what a directory listing, a glob, a set or a dictionary gives, by one key that all
machines share. To confirm an order that comes from hashes, run with PYTHONHASHSEED=0.

## Evidence

- `how`: "indices" (the same index, another record), "renaming" (one order under
  other names, in all epochs) or "enumeration" (unshuffled runs).
- `kind`: "text-sort" (one run has img10 before img2), "reverse" or "rotation" (of
  records, or of blocks of them, such as shards), "sorted" (one run alone is),
  "hash-order", "listing" or "unknown".
- `position`: the first place that differs, in the source or in the epoch; `a`, `b`:
  the records that stand there.
- `records_count`: records that stand at another place.
- `compared`: "record", or "relative path" where the runs share no ID and absolute
  paths were cut to what lies below their common root.
- `hash_seeds`, `machines`: of both runs, where they differ or are random.
- `equal`: what both runs declare alike.

## Limits

Needs `index`, or two shuffled epochs, or a declared `shuffle` that is off together
with a sorting, a hash seed, a platform or a file system that differs. Says nothing
where readers race or the topology differs, which may do the same to unshuffled runs,
where records were added or removed, and where the runs share no ID at all. Where an
entry of `config` differs, which may ask for other records, it cannot tell.

## Seen in

huggingface/datasets#3857, fastai/fastai#2006, pytorch/vision#193 (listing);
Emmi-AI/noether#180, princeton-nlp/HELMET#11 (hash order).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import replay_again
from detloader.audits.integers import overlap
from detloader.audits.measures.added import without_added_rows
from detloader.audits.measures.conditions import (
    config_differences,
    equal_conditions,
    is_unexplained,
    require_equal_arguments,
)
from detloader.audits.measures.enumeration import hash_seeds, machines, name_records
from detloader.audits.measures.places import find_orders, kind_of_change
from detloader.audits.rule import Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.compare import Comparison
    from detloader.audits.measures.enumeration import Names
    from detloader.audits.measures.places import Orders
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["EXAMPLE", "STAGE", "compare_runs"]

STAGE = Stage.SOURCE_ORDER

EXAMPLE = Example(
    baseline={"index": [3, 2, 0, 1], "record": ["d", "c", "a", "b"]},
    faulty={"index": [3, 2, 0, 1], "record": ["b", "c", "d", "a"]},
    mended={"index": [3, 2, 0, 1], "record": ["d", "c", "a", "b"]},
    declared={"shuffle": True, "seed": 0, "source_size": 4},
)


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find places of the source that are other records."""
    if not is_unexplained(comparison, known):
        return []
    if "compatibility" in config_differences(comparison.a.stream, comparison.b.stream):
        return []  # one run asked for another order, and nothing need be searched for
    comparison = without_added_rows(comparison)
    names = name_records(comparison.a, comparison.b)
    if names.relative and np.array_equal(names.a, names.b):
        return [_only_paths(comparison)]
    if not overlap(names.a, names.b):
        return []  # other data, or other names for it: no place of the source tells which
    orders = find_orders(comparison, names)
    if orders is None or np.array_equal(orders.a, orders.b):
        return []
    require_equal_arguments(comparison.a.stream, comparison.b.stream)
    return [_fault(comparison, names, orders)]


CAUSES = {
    "text-sort": "One run sorts its IDs as text, the other one by the numbers in them.",
    "reverse": "One run enumerates its source from the other end.",
    "rotation": "One run begins its source at another place, and ends with what lies before it.",
    "sorted": "One run sorts its records, and the other one has them as a set, a hash or a "
    "listing gave them.",
    "hash-order": "The records pass through a set or a hash, whose order changes with the process.",
    "listing": "Files, or keys, are taken in the order in which they are listed.",
}


def _fault(comparison: Comparison, names: Names, orders: Orders) -> Fault:
    a, b = comparison.a, comparison.b
    elsewhere = np.flatnonzero(orders.a != orders.b)
    first = int(elsewhere[0])
    kind = kind_of_change(comparison, names, orders)
    evidence: dict[str, JsonValue] = {
        "how": orders.how,
        "kind": kind,
        "position": int(orders.places[first]),
        "a": names.name(int(orders.a[first])),
        "b": names.name(int(orders.b[first])),
        "records_count": len(elsewhere),
        "compared": "relative path" if names.relative else "record",
        "equal": equal_conditions(a.stream, b.stream),
    }
    for key, pair in (
        ("hash_seeds", hash_seeds(a.stream, b.stream)),
        ("machines", machines(a.stream, b.stream)),
    ):
        if pair is not None:
            evidence[key] = [*pair]
    return Fault(
        severity=Severity.FAIL,
        message=_message(evidence),
        cause=CAUSES[kind],
        evidence=evidence,
        confirm=_confirm(b) if kind in {"hash-order", "sorted"} else None,
    )


def _confirm(view: StreamView) -> str | None:
    """Give the command that varies the hash seed alone."""
    return replay_again(view.path, view.stream, hash_seed=None)


def _message(evidence: dict[str, JsonValue]) -> str:
    how, first = evidence["how"], f"{evidence['a']} became {evidence['b']}"
    if how == "renaming":
        return (
            "Both runs have one order under other names: "
            f"wherever the baseline has {evidence['a']}, the other run has {evidence['b']}."
        )
    said = "indices are asked for" if how == "indices" else "records come, unshuffled,"
    where = f"{'index' if how == 'indices' else 'place'} {evidence['position']}"
    instead = "and other records come" if how == "indices" else "in another order"
    return f"The same {said} {instead}: at {where}, {first} ({evidence['records_count']} differ)."


def _only_paths(comparison: Comparison) -> Fault:
    return Fault(
        severity=Severity.NOTE,
        message="IDs of the two runs differ by the first folders of their paths alone: without "
        "them, all records and their order are the same.",
        cause="The data lies in another folder; record paths relative to it.",
        evidence={"compared": "relative path", "equal": _equal(comparison)},
    )


def _equal(comparison: Comparison) -> list[JsonValue]:
    return equal_conditions(comparison.a.stream, comparison.b.stream)
