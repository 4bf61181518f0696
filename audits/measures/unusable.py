"""Declared weights that no sampler can have drawn by, or that are not those of the records."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from detloader.audits.confirm import show
from detloader.audits.measures.shown import SHOWN
from detloader.audits.rule import Fault
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.view import StreamView

__all__ = ["judge_length", "judge_shares"]


def judge_shares(view: StreamView, weights: list[float] | dict[str, float]) -> list[Fault]:
    """Judge weights that are below zero, not finite, or all zero."""
    values = weights.values() if isinstance(weights, dict) else weights
    unusable = [weight for weight in values if not 0 <= weight < math.inf]
    said = f"{len(unusable)} are below zero or not finite" if unusable else "all are zero"
    return [
        Fault(
            severity=Severity.FAIL,
            message=f"Nothing can be drawn by the {len(weights)} declared weights, for {said}; "
            f"yet {view.rows} rows came.",
            cause="The weights were computed wrongly, or are not those that the sampler used.",
            evidence={
                "kind": "no shares",
                "weights": len(weights),
                "rows": view.rows,
                "unusable": [str(weight) for weight in unusable[:SHOWN]],
            },
            confirm=show(view.path),
        )
    ]


def judge_length(view: StreamView, weights: int, size: int, unweighted: int) -> list[Fault]:
    """Judge weights that are not one for each record."""
    message = f"{weights} weights are declared for {size or 'an unknown number of'} records"
    if unweighted:
        message += f", and {unweighted} of {view.rows} rows have a record without a weight"
    return [
        Fault(
            severity=Severity.FAIL,
            message=f"{message}.",
            cause="The weights are not those of records (perhaps of classes, or of another "
            "version of the data).",
            evidence={
                "kind": "wrong length",
                "weights": weights,
                "size": size or None,
                "rows": view.rows,
                "unweighted": unweighted,
            },
            confirm=show(view.path),
        )
    ]
