"""What changes for the experiment: which records it gets, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import distinct, tally
from detloader.audits.measures.shown import SHOWN
from detloader.audits.measures.weighted import read_weights
from detloader.audits.rule import CannotTell
from detloader.audits.view import load_views
from detloader.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue, RecordId
    from detloader.manifest.reader import Stream

__all__ = ["RULE", "experiment"]

RULE = "experiment"

_NAMED = 5


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class _Deliveries:
    """How often records come.

    Attributes:
        names: IDs of all records of either run, or of all that have a weight.
        frozen: shape (records,); times that each came in the frozen run.
        candidate: the same of the candidate's.
        declared: shape (records,); shares by declared weight. None where none is declared.
    """

    names: Sequence[RecordId]
    frozen: Integers
    candidate: Integers
    declared: npt.NDArray[np.float64] | None


def experiment(frozen: tuple[str, Stream], candidate: tuple[str, Stream]) -> list[Finding]:
    """Say which records are lost or added, and which come more or less often.

    Gives nothing where every record comes as often in both runs.

    Evidence: `lost` and `added`, the IDs, 20 at most, and `lost_count` and `added_count`, all
    of them. Where weights are declared, or records that both have come more or less often,
    `shares`, of 20 records at most, those that are furthest off first: the declared share, that
    of the frozen run, that of the candidate, and `oversampled`, how many times too often the
    frozen run has the record: by what is declared, or else by the candidate.
    """
    before, now = load_views([frozen, candidate])
    found = _deliveries(before, now)
    if np.array_equal(found.frozen, found.candidate):
        return []
    lost = np.flatnonzero((found.frozen > 0) & (found.candidate == 0))
    added = np.flatnonzero((found.frozen == 0) & (found.candidate > 0))
    evidence: dict[str, JsonValue] = {}
    for name, places in (("lost", lost), ("added", added)):
        if len(places):
            evidence[name] = [found.names[place] for place in places[:SHOWN].tolist()]
            evidence[f"{name}_count"] = len(places)
    both = (found.frozen > 0) & (found.candidate > 0)
    if found.declared is not None or (found.frozen != found.candidate)[both].any():
        evidence["shares"] = _shares(found)
    return [
        Finding(
            rule=RULE,
            severity=Severity.NOTE,
            message=_message(found, lost, added),
            cause="This is what changes for the experiment.",
            evidence=evidence,
        )
    ]


def _deliveries(before: StreamView, now: StreamView) -> _Deliveries:
    try:
        return _by_weight(before, now)
    except CannotTell:
        return _by_record(before, now)


def _by_weight(before: StreamView, now: StreamView) -> _Deliveries:
    """Count by the records that have a weight.

    Raises:
        CannotTell: no weights are declared, or not for these records, or others in each run.
    """
    before.require("weights")
    if before.declared("weights") != now.declared("weights"):
        raise CannotTell("equal weights")
    weights, names, frozen = read_weights(before)
    _, _, candidate = read_weights(now)
    return _Deliveries(
        names=names,
        frozen=np.bincount(frozen, minlength=len(weights)),
        candidate=np.bincount(candidate, minlength=len(weights)),
        declared=weights / weights.sum(),
    )


def _by_record(before: StreamView, now: StreamView) -> _Deliveries:
    values = before.record.values, now.record.values
    codes = distinct(np.concatenate([distinct(each) for each in values]))
    return _Deliveries(
        names=before.identify(codes),
        frozen=_counts(codes, values[0]),
        candidate=_counts(codes, values[1]),
        declared=None,
    )


def _counts(codes: Integers, values: Integers) -> Integers:
    found, times = tally(values)
    counts = np.zeros(len(codes), np.int64)
    counts[np.searchsorted(codes, found)] = times
    return counts


def _meant(found: _Deliveries) -> npt.NDArray[np.float64]:
    return _share(found.candidate) if found.declared is None else found.declared


def _share(counts: Integers) -> npt.NDArray[np.float64]:
    shares: npt.NDArray[np.float64] = counts / max(counts.sum(), 1)
    return shares


def _shares(found: _Deliveries) -> list[JsonValue]:
    frozen, candidate, meant = _share(found.frozen), _share(found.candidate), _meant(found)
    distance = np.abs(frozen - meant) / np.sqrt(np.maximum(meant, 1e-300))
    rows: list[JsonValue] = []
    for place in np.argsort(-distance, kind="stable")[:SHOWN].tolist():
        row: dict[str, JsonValue] = {"record": found.names[place]}
        if found.declared is not None:
            row["declared"] = float(found.declared[place])
        row["frozen"] = float(frozen[place])
        row["candidate"] = float(candidate[place])
        row["oversampled"] = float(frozen[place] / meant[place]) if meant[place] else None
        rows.append(row)
    return rows


def _message(found: _Deliveries, lost: Integers, added: Integers) -> str:
    said = []
    if len(added):
        verb = "comes" if len(added) == 1 else "come"
        said.append(f"{_named(found, added)} {verb} that the frozen run never delivers.")
    if len(lost):
        said.append(f"{_named(found, lost)} no longer {'comes' if len(lost) == 1 else 'come'}.")
    if found.declared is not None:
        before = _furthest(found.frozen, found.declared)
        after = _furthest(found.candidate, found.declared)
        said.append(
            f"Of the records that come, one is {before:.3g} times off its declared share in the "
            f"frozen run, and {after:.3g} times at most in the candidate."
        )
    return " ".join(said) or "Records come more often, or less."


def _named(found: _Deliveries, places: Integers) -> str:
    names = [str(found.names[place]) for place in places[:_NAMED].tolist()]
    if len(places) == 1:
        return f"Record {names[0]}"
    last = names.pop() if len(places) <= _NAMED else f"{len(places) - _NAMED:,} more"
    return f"Records {', '.join(names)} and {last}"


def _furthest(counts: Integers, declared: npt.NDArray[np.float64]) -> float:
    """Give the largest ratio of a share to the declared one, or of that to it, of what comes."""
    both = (counts > 0) & (declared > 0)
    ratios = _share(counts)[both] / declared[both]
    return float(max(ratios.max(), 1 / ratios.min())) if len(ratios) else 1.0
