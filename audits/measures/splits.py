"""Splits of a stream, and what their names say they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["is_for_training", "without_evaluation"]

EVALUATION = ("val", "test", "eval", "dev", "holdout", "heldout")
"""Beginnings of the names of splits that are never trained on."""


def is_for_training(split: JsonValue) -> bool | None:
    """Tell from its name whether a split is trained on; None where the name does not tell."""
    if not isinstance(split, str):
        return None
    name = split.lower().lstrip("_")
    if name.startswith("train"):
        return True
    return False if name.startswith(EVALUATION) else None


def without_evaluation(view: StreamView) -> StreamView:
    """Leave out the rows of splits that are never trained on."""
    if "split" not in view.compared:
        return view
    split = view.compared["split"]
    trained = [
        value
        for value in np.unique(split.values)
        if is_for_training(split.show_value(value)) is not False
    ]
    return view.take(np.isin(split.values, trained) | split.missing())
