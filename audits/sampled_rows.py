"""Rows of runs of which only a part was recorded on purpose.

Two of them are compared in the rows that both were to record. Of one run, rules are asked that
hold for the part; those about draws and content are asked about the epoch that has them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from detloader.audits.batches import place_in_epoch
from detloader.audits.stand_ins import sampled, without
from detloader.manifest.schema import Level, Sampling, is_stored

if TYPE_CHECKING:
    from detloader.audits.columns import Flags, Integers
    from detloader.audits.view import StreamView

__all__ = ["in_full", "in_order", "rows_of_both"]


def rows_of_both(a: StreamView, b: StreamView) -> tuple[StreamView, StreamView]:
    """Keep of two views the rows, and of b the columns, that both runs were to record."""
    if _first_epochs(a) != _first_epochs(b):
        b = in_order(b)
    if a.stream.samplings != b.stream.samplings or len(a.stream.samplings) > 1:
        both = _joint([*a.stream.samplings, *b.stream.samplings])
        a, b = _keep(a, both), _keep(b, both)
    return a, b


def _joint(samplings: list[Sampling | None]) -> Sampling:
    """Give the sampling that keeps what all of these keep."""
    known = [sampling for sampling in samplings if sampling is not None]
    epochs = [{*sampling.epochs} for sampling in known if sampling.epochs]
    step = math.lcm(*(sampling.every or 1 for sampling in known))
    return Sampling(
        epochs=sorted(set.intersection(*epochs)) if epochs else msgspec.UNSET,
        every=step if step > 1 else msgspec.UNSET,
    )


def _keep(view: StreamView, sampling: Sampling) -> StreamView:
    kept: Flags = np.ones(view.rows, np.bool_)
    if sampling.epochs is not msgspec.UNSET:
        kept &= np.isin(view.epoch, sampling.epochs)
    if sampling.every:
        kept &= _places(view) % sampling.every == 0
    return replace(view.take(kept), stream=sampled(view.stream, sampling))


def _first_epochs(view: StreamView) -> dict[int, int]:
    """Give the epoch of each rank that alone has draws and content; none where all have them."""
    if not (_is_lowered(view) and view.has("epoch")):
        return {}
    # Of the whole run: the first one may not be among the rows of the view.
    placement, epochs = view.source.placement, view.source.read("epoch").values
    first = np.flatnonzero(placement.position() == 0)
    return {int(placement.rank[row]): int(epochs[row]) for row in first}


def _is_lowered(view: StreamView) -> bool:
    return any(sampling is not None and sampling.then for sampling in view.stream.samplings)


def _places(view: StreamView) -> Integers:
    """Give the label of each row's batch, or its place in the epoch where there is none."""
    if "batch" in view.compared:
        return view.compared["batch"].values
    (sampling,) = view.stream.samplings
    return place_in_epoch(view) * ((sampling and sampling.every) or 1)


def in_order(view: StreamView) -> StreamView:
    """Give a view without the columns that only the first epoch has."""
    if not _is_lowered(view):
        return view
    names = [name for name in view.stream.columns if is_stored(name, Level.ORDER)]
    stream = without(view.stream, view.stream.columns.keys() - names)
    kept = filter(names.__contains__, view.compared)
    return replace(view, stream=stream, compared=view.compared.only(kept, view.selection))


def in_full(view: StreamView) -> StreamView:
    """Give the rows that have all columns: those of the first epoch of each rank."""
    first = _first_epochs(view)
    if not first:
        return view
    kept: Flags = np.zeros(view.rows, np.bool_)
    for rank, epoch in first.items():
        kept |= (view.rank == rank) & (view.epoch == epoch)
    return view.take(kept)
