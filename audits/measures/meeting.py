"""Whether records of several parts of a loader meet in a batch, or follow one another at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.batches import global_batches
from detloader.audits.integers import are_distinct
from detloader.audits.measures.deliverers import ranks_as_deliverers
from detloader.audits.measures.mixing import purity
from detloader.audits.measures.statistics import is_impossible
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from detloader.audits.measures.deliverers import Deliverers
    from detloader.audits.view import StreamView

__all__ = ["do_parts_meet"]

EXPECTED = 5
"""Times that one part should follow another by chance from which on this is judged."""


def do_parts_meet(view: StreamView, deliverers: Deliverers) -> bool:
    """Tell whether a shuffle of all records may stand behind parts that keep their records.

    Where batches were recorded, records of one part must not be nearly alone in theirs;
    else which part comes next must not depend on which one came before.

    Raises:
        CannotTell: batches were not recorded, and the rows are too few to tell by.
    """
    ranks = ranks_as_deliverers(view)
    if "batch" in view.compared:
        batches = global_batches(view) * len(ranks) + ranks.of_row
        if not are_distinct(batches):
            alone, expected = purity(deliverers.of_row, batches)
            return alone < (1 + expected) / 2
    return not is_impossible(_log_chance_of_turns(view, deliverers, ranks))


def _log_chance_of_turns(view: StreamView, deliverers: Deliverers, ranks: Deliverers) -> float:
    """Give the logarithm of the chance that parts follow one another so unevenly.

    Pearson's test of independence, over the pairs of parts that should come often enough.

    Raises:
        CannotTell: none of them should.
    """
    from scipy.stats import chi2

    parts = len(deliverers)
    counts = np.zeros((parts, parts), np.int64)
    for _, rows in view.by_epoch():
        for _, mine in ranks.split(view, rows):
            part = deliverers.of_row[mine]
            pairs = part[:-1] * parts + part[1:]
            counts += np.bincount(pairs, minlength=parts * parts).reshape(parts, parts)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(int(counts.sum()), 1)
    often = expected >= EXPECTED
    if not often.any():
        raise CannotTell("batch")
    off = float((((counts - expected) ** 2)[often] / expected[often]).sum())
    free = int(often.sum()) - int(often.any(axis=0).sum()) - int(often.any(axis=1).sum()) + 1
    return float(chi2.logsf(off, max(free, 1)))
