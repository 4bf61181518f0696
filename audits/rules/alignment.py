"""Image and mask, or record and label, are out of step.

## What it catches

Members of one record (`draws_image`, `draws_mask`, ...) that were transformed by other
draws, and labels that are not those of the record that they are used for.

## Why it hurts

Targets no longer fit the inputs. Training still runs, and stays on a plateau that looks
like a hard problem.

## Example

Two calls of a random transform, one for the image and one for the mask:

    record   draws_image   draws_mask
    0        306           229
    1        184           97

## How to mend it

Transform all members in one call, or give each call the same generator state. Zip
sources before they are shuffled, and sort both. A transform of one member alone is not
recorded as `draws_NAME`, or is declared: `config.independent_draws` lists such names, and
`config.unpaired` true says that members belong to nobody (as in CycleGAN).

## Evidence

- `members`: the columns that differ, two of them.
- `rows`: rows where they differ, of `compared`; `one_sided`: rows where only one has a draw.
- `examples`: the first such rows with record and both values, 20 at most.
- `offset`: for labels, by how many rows they are late, where that explains them all.

## Limits

Needs two columns `draws_NAME`, or `label_used` and `label_true`. Where one member took no
draw in some rows and all others agree, it warns: the member may be absent there. Labels
that are changed on purpose are declared: `config.label_noise` true.

## Seen in

mdbloice/Augmentor#188, albumentations-team/albumentations#1056, aleju/imgaug#132.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.confirm import show
from detloader.audits.measures.shown import SHOWN
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    import numpy.typing as npt

    from detloader.audits.columns import Column, Flags, Integers
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["EXAMPLE", "OF_PARTS", "STAGE", "check_run"]

STAGE = Stage.OUTPUT
OF_PARTS = True

EXAMPLE = Example(
    faulty={"record": [0, 1, 2], "draws_image": [306, 184, 110], "draws_mask": [229, 97, 14]},
    mended={"record": [0, 1, 2], "draws_image": [306, 184, 110], "draws_mask": [306, 184, 110]},
    declared={"shuffle": False, "source_size": 3},
)

LARGEST_OFFSET = 8
"""Rows by which labels may be late to be called so."""


def check_run(view: StreamView, known: Known) -> list[Fault]:  # noqa: ARG001 - explains no other
    """Find members and labels that are out of step."""
    members = _members(view)
    labelled = view.has("label_used") and view.has("label_true")
    if len(members) < 2 and not labelled:  # noqa: PLR2004
        raise CannotTell("two columns draws_NAME, or label_used and label_true")
    faults = [] if view.config("unpaired") is True else _check_members(view, members)
    if labelled and view.config("label_noise") is not True:
        faults += _check_labels(view)
    return faults


def _members(view: StreamView) -> list[str]:
    independent = view.config("independent_draws")
    names = independent if isinstance(independent, list) else [independent]
    excused = {f"draws_{name}" for name in names}
    return sorted(
        name for name in view.compared if name.startswith("draws_") and name not in excused
    )


def _check_members(view: StreamView, members: list[str]) -> list[Fault]:
    """Judge the pair of members that differs most; where all differ, so do others."""
    worst: Fault | None = None
    for one, other in itertools.combinations(members, 2):
        fault = _check_pair(view, one, other)
        if fault and (worst is None or _weight(fault) > _weight(worst)):
            worst = fault
    return [worst] if worst else []


def _weight(fault: Fault) -> tuple[int, int]:
    rows = fault.evidence["rows"]
    assert isinstance(rows, int)
    return fault.severity.rank, rows


def _check_pair(view: StreamView, one: str, other: str) -> Fault | None:
    left, right = view.compared[one], view.compared[other]
    both = ~left.missing() & ~right.missing()
    differs = both & ~_same(left, right)
    one_sided = left.missing() != right.missing()
    names = one.removeprefix("draws_"), other.removeprefix("draws_")
    if not differs.any() and not one_sided.any():
        return None
    rows = differs if differs.any() else one_sided
    evidence = _evidence(view, rows, (one, other)) | {
        "compared": int(both.sum()),
        "one_sided": int(one_sided.sum()),
    }
    if differs.any():
        message = (
            f"{names[0]} and {names[1]} of one record have different draws in "
            f"{int(differs.sum())} of {int(both.sum())} rows."
        )
    else:
        message = (
            f"Only one of {names[0]} and {names[1]} has a draw in {int(one_sided.sum())} rows."
        )
    return Fault(
        severity=Severity.FAIL if differs.any() else Severity.WARN,
        message=message,
        cause=f"{names[0]} and {names[1]} are transformed in separate calls, "
        "with draws of their own.",
        evidence=evidence,
        confirm=_confirm(view, rows),
    )


def _same(left: Column, right: Column) -> Flags:
    """Compare values of two columns, each of a vocabulary of its own."""
    if left.vocabulary is None and right.vocabulary is None:
        same: Flags = left.values == right.values
        return same
    agree: Flags = np.equal(_texts(left), _texts(right)).astype(np.bool_)
    return agree


def _texts(column: Column) -> npt.NDArray[Any]:
    if column.vocabulary is None:
        numbers: npt.NDArray[Any] = column.values.astype(str).astype(object)
        return numbers
    texts: npt.NDArray[Any] = np.array(column.vocabulary.to_pylist(), dtype=object)
    chosen: npt.NDArray[Any] = texts[column.values]
    return chosen


def _check_labels(view: StreamView) -> list[Fault]:
    used, true = view.column("label_used"), view.column("label_true")
    both = ~used.missing() & ~true.missing()
    wrong = both & ~_same(used, true)
    if not wrong.any():
        return []
    evidence = _evidence(view, wrong, ("label_used", "label_true"))
    offset = _offset(view, used, true)
    evidence |= {"compared": int(both.sum()), "offset": offset}
    late = ""
    if offset is not None:
        where = "before" if offset > 0 else "after"
        late = f" They are those of the record {abs(offset)} rows {where}."
    return [
        Fault(
            severity=Severity.FAIL,
            message=f"{int(wrong.sum())} of {int(both.sum())} rows have the label of another "
            f"record.{late}",
            cause="Records and labels come from two streams that are not in one order.",
            evidence=evidence,
            confirm=_confirm(view, wrong),
        )
    ]


def _offset(view: StreamView, used: Column, true: Column) -> int | None:
    """Find by how many rows labels are late, in delivery order; negative where they are early."""
    order: Integers = np.lexsort((view.position, view.rank))
    used, true = used.take(order), true.take(order)
    varied = len(np.unique(true.values)) > 1
    for offset in range(1, min(LARGEST_OFFSET + 1, len(order) // 2)) if varied else ():
        if _same(used.take(slice(offset, None)), true.take(slice(-offset))).all():
            return offset
        if _same(used.take(slice(-offset)), true.take(slice(offset, None))).all():
            return -offset
    return None


def _evidence(view: StreamView, rows: Flags, columns: tuple[str, str]) -> dict[str, JsonValue]:
    examples: list[JsonValue] = [
        {"row": row, "record": view.record.show(row)}
        | {name: view.column(name).show(row) for name in columns}
        for row in np.flatnonzero(rows)[:SHOWN].tolist()
    ]
    return {"members": [*columns], "rows": int(rows.sum()), "examples": examples}


def _confirm(view: StreamView, rows: Flags) -> str:
    (record,) = view.identify(view.record.values[[int(np.argmax(rows))]])
    return show(view.path, record=record)
