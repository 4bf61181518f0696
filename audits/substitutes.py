"""Which records stand in the place of missing ones, in two runs of one length.

Where keys repeat, several alignments are equally good, and the one that was taken must not
decide what counts: places are judged by how often each key comes in the one run and the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import contains

if TYPE_CHECKING:
    from detloader.audits.columns import Flags, Integers

__all__ = ["substitutes"]


def substitutes(
    keys_a: Integers,
    keys_b: Integers,
    lost: tuple[Integers, Integers],
    found: tuple[Integers, Integers],
) -> Integers:
    """Count for each found key how often it stands in the place of a lost one.

    Place by place, a lost key and a found one are paired while some are left of both: the
    same pairs, whichever run is the baseline.

    Args:
        keys_a: shape (places,); the keys of the baseline, each of them a lost one.
        keys_b: shape (places,); the keys of the other run, place by place.
        lost: the keys, ascending, that come less often in the other run, and how much less.
        found: the keys, ascending, that come more often there, and how much more.

    Returns:
        int64, one number for each key of `found`.
    """
    known = contains(found[0], keys_b)
    code_a = np.searchsorted(lost[0], keys_a[known])
    code_b = np.searchsorted(found[0], keys_b[known])
    scarce = _is_scarce(code_a, lost[1]) | _is_scarce(code_b, found[1])
    paired = np.bincount(code_b[~scarce], minlength=len(found[0]))
    left_a, left_b = lost[1].tolist(), found[1].tolist()
    for of_a, of_b in zip(code_a[scarce].tolist(), code_b[scarce].tolist(), strict=True):
        if left_a[of_a] and left_b[of_b]:
            left_a[of_a] -= 1
            left_b[of_b] -= 1
            paired[of_b] += 1
    return paired


def _is_scarce(codes: Integers, counts: Integers) -> Flags:
    """Tell for each place whether its key stands at more places than there are to pair."""
    scarce: Flags = (np.bincount(codes, minlength=len(counts)) > counts)[codes]
    return scarce
