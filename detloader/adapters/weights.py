"""Declared weights: as numbers, or by a digest where a header could not hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any

import msgspec
import numpy as np

from detloader.manifest.content import sample_digest

__all__ = ["MOST_WEIGHTS", "with_weights"]

MOST_WEIGHTS = 1_000_000
"""Weights that a header holds: 11 MB of text, which take a quarter of a second to read."""


def with_weights(fields: dict[str, Any]) -> dict[str, Any]:
    """Return declared fields whose weights a header can hold.

    Arrays and tensors become lists. Of more than `MOST_WEIGHTS` only number and digest are
    kept, in `config`, so that other ones are another setting; no rule can judge them.
    """
    weights: Any = fields.get("weights")
    if isinstance(weights, Sized) and len(weights) > MOST_WEIGHTS:
        told = {"weights": f"{len(weights)} weights, digest {_digest(weights):016x}"}
        kept = {name: value for name, value in fields.items() if name != "weights"}
        return {**kept, "config": {**(kept.get("config") or {}), **told}}
    if hasattr(weights, "tolist"):
        return {**fields, "weights": weights.tolist()}
    return fields


def _digest(weights: Any) -> int:
    if isinstance(weights, Mapping):
        return sample_digest(msgspec.json.encode(dict(weights), order="sorted"))
    return sample_digest(np.asarray(weights, np.float64))
