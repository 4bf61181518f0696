"""Declared weights beside the shares that came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.measures.weighted import read_weights
from detloader.audits.picture import Scene, Sketch
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    import numpy.typing as npt

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["PLACE", "TITLE", "sketch"]

TITLE = "Declared and realised weights"
PLACE = 60

GROUPS = 8
"""Groups of records at most; records of like weight are in one."""


def sketch(scene: Scene) -> Sketch | None:
    """Give the share of rows that each group should have, and the one that it has."""
    views = scene.views
    if any(view.declared("weights") is None for view in views.values()):
        return None
    if len({repr(view.declared("weights")) for view in views.values()}) > 1:
        return None  # no one declaration to hold both against; the environment shows the two
    try:
        counts = {name: _counts(view) for name, view in views.items()}
        weights = read_weights(scene.a)[0]
    except CannotTell:
        return None
    groups = _groups(weights)
    if len(groups) < 2:  # noqa: PLR2004 - one group has all rows, whatever the weights do
        return None
    rows: list[list[JsonValue]] = [
        [
            _label(weights[group]),
            len(group),
            _share(weights, group),
            *(_share(count, group) for count in counts.values()),
        ]
        for group in groups
    ]
    return Sketch(
        sentence=_sentence(rows, [*views]),
        columns=["weight", "records", "declared", *views],
        rows=rows,
    )


def _counts(view: StreamView) -> Integers:
    weights, _, places = read_weights(view)
    return np.bincount(places, minlength=len(weights))


def _groups(weights: npt.NDArray[np.float64]) -> list[Integers]:
    order = np.argsort(weights, kind="stable")
    borders = np.flatnonzero(np.diff(weights[order])) + 1
    if len(borders) < GROUPS:
        return np.split(order, borders)
    return np.array_split(order, GROUPS)


def _share(values: npt.NDArray[np.float64] | Integers, group: Integers) -> float:
    return round(float(values[group].sum() / values.sum()), 5)


def _label(weights: npt.NDArray[np.float64]) -> str:
    low, high = f"{weights.min():g}", f"{weights.max():g}"
    return low if low == high else f"{low} to {high}"


def _sentence(rows: list[list[JsonValue]], names: list[str]) -> str:
    """Tell of the group that is furthest off, in the run that is furthest off."""
    shares = np.array([row[2:] for row in rows], np.float64)
    off = np.abs(shares[:, 1:] - shares[:, :1])
    group = int(off.max(axis=1).argmax())
    found = " and ".join(
        f"{share:.1%} in {name}" for share, name in zip(shares[group, 1:], names, strict=True)
    )
    return (
        f"Records of weight {rows[group][0]} are furthest from what was declared: "
        f"{shares[group, 0]:.1%} of all rows were meant, and it is {found}."
    )
