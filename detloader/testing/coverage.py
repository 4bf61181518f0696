"""Every record once in every epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from detloader.audits.engine import check
from detloader.errors import UsageError
from detloader.findings import RecordId
from detloader.manifest.reader import Run
from detloader.reports.plain import listed, wrap
from detloader.testing.context import Context
from detloader.testing.factory import Factory
from detloader.testing.runs import exhaust, record_loader, run_folder
from detloader.testing.told import Made, cause_lines, look_further

__all__ = ["check_coverage"]

_NAMED = 8
"""Records that a failure names."""


def check_coverage(
    context: Context,
    factory: Factory,
    epochs: int,
    records: int | Iterable[RecordId] | None,
) -> str:
    """Require each record once in each epoch.

    A loader is iterated again until there are so many epochs; one pass may have several.

    Raises:
        AssertionError: a record never comes in an epoch, or more than once, or is none of these.
        UsageError: nobody says how many records there are, or what their IDs are, or there are
            fewer epochs.
    """
    if epochs < 1:
        raise UsageError(f"epochs={epochs} makes no sense: give 1 or more")
    called, loader, options = factory.called(), factory.call({}), factory.recording
    known = records if records is None or isinstance(records, int) else [*records]
    seen = 0

    def consume(twin: Any) -> None:
        if not exhaust(iter(twin), options.get("elements"), called) and seen:
            raise UsageError(
                f"{called} delivers nothing after {seen} of {epochs} epochs, for it can be "
                f"iterated no more: pass epochs={seen}, or let it begin again"
            )

    with context.folder() as folder:
        while seen < epochs:
            place = run_folder(folder, "pass")
            run = record_loader(loader, place, options, name=called, consume=consume)
            wanted = _wanted(known, run, called, has_ids="ids" in options)
            for epoch in _epochs(run):
                if faults := _faults(epoch, *wanted):
                    raise AssertionError(_told(f"{called}, epoch {seen}: {faults}", run))
                seen += 1
    return f"{seen} epochs of {wanted[0]:,} records"


def _wanted(
    records: int | Iterable[RecordId] | None, run: Run, called: str, *, has_ids: bool
) -> tuple[int, Collection[RecordId] | None]:
    """Return how many records there are, and their IDs where these are known.

    Raises:
        UsageError: nobody says how many, or which IDs the rows have.
    """
    (stream,) = run.streams.values()
    are_numbers = stream.columns["record"] == "int64"
    if isinstance(records, int):
        return records, range(records) if are_numbers else None
    if records is not None:
        known = dict.fromkeys(records)
        came = stream.table(["record"])["record"].unique().to_pylist()
        if not has_ids and known.keys().isdisjoint(came):
            raise UsageError(
                f"the IDs of the records of {called} are not known (rows have such as {came[0]}): "
                "pass ids=, the key of each element that holds its ID, or a function that finds it"
            )
        return len(known), known
    size = stream.declared.source_size
    if not isinstance(size, int):
        raise UsageError(
            f"{called} does not say how many records there are: pass records=N, or their IDs"
        )
    return size, range(size) if are_numbers and not has_ids else None


def _epochs(run: Run) -> list[Counter[RecordId]]:
    """Count how often each record comes in each epoch; what evens out ranks is left out."""
    (stream,) = run.streams.values()
    rows: list[dict[str, Any]] = stream.table().to_pylist()
    found: dict[int, Counter[RecordId]] = {}
    for row in rows:
        if not row.get("padding"):
            found.setdefault(row.get("epoch", 0), Counter())[row["record"]] += 1
    return [*found.values()]


def _faults(epoch: Counter[RecordId], size: int, known: Collection[RecordId] | None) -> str:
    """Say what is wrong with an epoch; empty where nothing is."""
    lacking = max(size - len(epoch), 0)
    never = [f"{lacking} of them"] if lacking else []
    if known is not None:
        never = [str(record) for record in known if record not in epoch]
    often = [str(record) for record, count in epoch.items() if count > 1]
    strange = [] if known is None else [str(record) for record in epoch if record not in known]
    told = {"never": never, "more than once": often, "unknown": strange}
    faults = [f"{what} {listed(which, _NAMED)}" for what, which in told.items() if which]
    came = len(epoch) - len(strange)
    return "; ".join([f"{came:,} of {size:,} records come", *faults]) if faults else ""


def _told(title: str, run: Run) -> str:
    lines = [*cause_lines(check(run).findings), look_further("check", Made(run, ""))]
    return "\n".join([wrap(title), "", *lines])
