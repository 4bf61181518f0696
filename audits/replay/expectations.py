"""What must hold for a run that an axis varied."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.findings import Counts, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from detloader.audits.columns import Integers
    from detloader.findings import Result
    from detloader.manifest.reader import Run, Stream

__all__ = ["Asks", "loosest", "meets"]


class Asks(StrEnum):
    """What is asked of a varied run, strictest first; the last is no step of that order."""

    SAME_ROWS = "same rows"
    SAME_ORDER = "same order"
    SAME_GLOBAL_BATCHES = "same global batches"
    SAME_SET = "same records"
    OTHER_ROWS = "other rows"


_ORDER = list(Asks)
_ALIKE = frozenset({Verdict.IDENTICAL, Verdict.EQUIVALENT})
_ANY_ORDER = _ALIKE | {Verdict.REGROUPED, Verdict.REORDERED}


def loosest(asked: Iterable[Asks]) -> Asks:
    """Return what may be asked where several axes are varied together."""
    return max(asked, key=_ORDER.index)


def meets(asks: Asks, result: Result, a: Run, b: Run) -> bool:
    """Tell whether a varied run is as it should be.

    Args:
        asks: what is asked.
        result: the audit of both runs.
        a: the unvaried run.
        b: the varied run, complete as well.
    """
    match asks:
        case Asks.SAME_ROWS:
            return result.verdict in _ALIKE
        case Asks.SAME_ORDER:
            return result.verdict in _ALIKE | {Verdict.REGROUPED} or (
                _same_values(result)
                and all(_dropped_tail(a.streams[name], b.streams[name]) for name in a.streams)
            )
        case Asks.SAME_GLOBAL_BATCHES:
            return result.verdict in _ALIKE or (
                _same_values(result)
                and all(_same_spans(a.streams[name], b.streams[name]) for name in a.streams)
            )
        case Asks.SAME_SET:
            return result.verdict in _ANY_ORDER
        case Asks.OTHER_ROWS:
            return result.verdict in {Verdict.REORDERED, Verdict.CHANGED}


def _same_values(result: Result) -> bool:
    counts = result.differences or Counts()
    return not (counts.content or counts.draws)


def _dropped_tail(a: Stream, b: Stream) -> bool:
    """Tell whether b is a, but for less than a batch at the end, dropped as was declared."""
    size = b.declared.batch_size
    if b.declared.drop_remainder is not True or not isinstance(size, int):
        return False
    if not 0 <= a.rows - b.rows < size * len(b.ranks):
        return False
    names = [name for name in ("record", "epoch") if name in b.columns]
    return bool(a.table(names).slice(0, b.rows).select(names).equals(b.table(names).select(names)))


def _same_spans(a: Stream, b: Stream) -> bool:
    """Tell whether each global batch of b holds the records that a delivers in that span.

    More ranks with batches of one size make larger global batches, so that batches alone
    would always differ.
    """
    names = [name for name in ("epoch", "batch", "record") if name in b.columns]
    rows_a, rows_b = a.table(["record"]), b.table(names)
    if len(rows_a) != len(rows_b):
        return False
    ends = _ends(rows_b)
    records_a, records_b = _codes(rows_a["record"], rows_b["record"])
    spans = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    same = np.array_equal(
        records_a[np.lexsort((records_a, spans))], records_b[np.lexsort((records_b, spans))]
    )
    return bool(same)


def _ends(rows: pa.Table) -> Integers:
    """Return where global batches end, in canonical order; one rank's rows where none are told."""
    if "batch" not in rows.column_names:
        ranks = len(np.unique(rows["rank"].to_numpy()))
        return np.append(np.arange(ranks, len(rows), ranks), len(rows))
    changes = np.zeros(max(len(rows) - 1, 0), np.bool_)
    for name in {"epoch", "batch"} & {*rows.column_names}:
        values = rows[name].to_numpy()
        changes |= values[1:] != values[:-1]
    return np.append(np.flatnonzero(changes) + 1, len(rows))


def _codes(a: pa.ChunkedArray[Any], b: pa.ChunkedArray[Any]) -> tuple[Integers, Integers]:
    """Give each record a number that stands for it in both runs."""
    _, codes = np.unique(np.concatenate([a.to_numpy(), b.to_numpy()]), return_inverse=True)
    return codes[: len(a)], codes[len(a) :]
