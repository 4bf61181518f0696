"""One digest for draws that were taken one after another, whoever took them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["ODD", "fold_draws"]

ODD = np.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio, made odd: multiplying by it loses nothing."""


def fold_draws(draws: NDArray[np.uint64], more: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Make one digest of two draws, one after the other; 0 is no draw.

    A draw that stands alone keeps its digest, and the order of two is told.

    Args:
        draws: uint64, shape (n,): what was drawn before.
        more: uint64, shape (n,) or (1,): what was drawn then.

    Returns:
        uint64, shape (n,): `draws * ODD + more`, modulo 2**64.
    """
    return np.where(more == 0, draws, draws * ODD + more)
