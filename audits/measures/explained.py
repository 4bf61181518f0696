"""What a fault explains, noted for the rules that are asked later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.rule import Known

__all__ = ["explain_missing", "explain_places"]


def explain_missing(known: Known, codes: Integers) -> None:
    """Note that a fault explains why the records of these codes do not come."""
    known.missing = codes if known.missing is None else np.union1d(known.missing, codes)


def explain_places(known: Known, places: Integers) -> None:
    """Note that a fault explains why the records at these places of the source do not come."""
    known.places = places if known.places is None else np.union1d(known.places, places)
