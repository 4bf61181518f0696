"""Which records each epoch delivers, rank by rank."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.bands import Bands, RecordScale, record_scale
from detloader.audits.integers import distinct
from detloader.audits.picture import Scene, Sketch, brief

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.columns import Flags, Integers
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["PLACE", "TITLE", "sketch"]

TITLE = "Coverage of each epoch and rank"
PLACE = 50

ACROSS = 24
STRIPS = 8
"""Strips of a run at most; the first ones are shown."""

NAMED = 3
"""Records that the sentence names."""

LONGEST = 40
"""Characters that it shows of an ID."""


def sketch(scene: Scene) -> Sketch:
    """Give the share of each band's records that comes at least once in an epoch of a rank."""
    views = scene.views
    scale = record_scale([*views.values()])
    bands = Bands(scale.size, ACROSS)
    return Sketch(
        sentence=_sentence(views, scale),
        columns=[
            *("run", "epoch", "rank", "rows", "records"),
            *(f"records {label}" for label in bands.labels(scale.low)),
        ],
        rows=[
            [name, *strip] for name, view in views.items() for strip in _strips(view, scale, bands)
        ],
        axes={"low": scale.low, "records": scale.size, "numbered": scale.in_words},
    )


def _strips(view: StreamView, scale: RecordScale, bands: Bands) -> Iterator[list[JsonValue]]:
    starts = bands.starts()
    widths = np.diff(starts)
    parts = itertools.product(distinct(view.epoch), distinct(view.rank))
    for epoch, rank in itertools.islice(parts, STRIPS):
        rows = view.epoch == epoch
        if view.ranks > 1:
            rows &= view.rank == rank
        seen = _seen(view.record.values[rows], scale)
        shares = np.add.reduceat(seen, starts[:-1], dtype=np.int64) / widths
        yield [int(epoch), int(rank), int(rows.sum()), int(seen.sum()), *shares.round(3).tolist()]


def _sentence(views: dict[str, StreamView], scale: RecordScale) -> str:
    came = {name: _seen(view.record.values, scale) for name, view in views.items()}
    known = np.logical_or.reduce([*came.values()])
    told = [
        f"{name} delivers {_all_of(int(seen.sum()), int(known.sum()))}"
        for name, seen in came.items()
    ]
    absent = [
        f" {_named(view, scale, known & ~came[name])} never {_come(known & ~came[name])} in {name}."
        for name, view in views.items()
        if (known & ~came[name]).any()
    ]
    first = "; ".join(told)
    return f"{first[0].upper()}{first[1:]}.{''.join(absent)}{_left_out(views)}"


def _seen(records: Integers, scale: RecordScale) -> Flags:
    """Tell which records of the scale are among these."""
    seen = np.zeros(scale.size, np.bool_)
    seen[scale.number(distinct(records))] = True
    return seen


def _all_of(some: int, known: int) -> str:
    if some == known:
        return "the one record" if known == 1 else f"all {known:,} records"
    return f"{some:,} of {known:,} records"


def _named(view: StreamView, scale: RecordScale, absent: Flags) -> str:
    numbers = np.flatnonzero(absent)
    names = [view.record.show_value(one) for one in scale.records(numbers[:NAMED])]
    shown = [str(brief(name, LONGEST)) for name in names]
    more = f" and {len(numbers) - NAMED:,} more" if len(numbers) > NAMED else ""
    return f"{'Record' if len(numbers) == 1 else 'Records'} {', '.join(shown)}{more}"


def _come(absent: Flags) -> str:
    return "comes" if int(absent.sum()) == 1 else "come"


def _left_out(views: dict[str, StreamView]) -> str:
    parts = max(len(distinct(view.epoch)) * view.ranks for view in views.values())
    return f" The first {STRIPS} of {parts:,} strips are drawn." if parts > STRIPS else ""
