"""The smallest case of what breaks a run: fewest workers, fewest records, shortest prefix."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.replay.course import asks_of, varied
from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import known_as
from detloader.audits.replay.trial import only
from detloader.audits.replay.vary import Variation, spell
from detloader.manifest.reader import open_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.replay.control import Control
    from detloader.audits.replay.course import Tried
    from detloader.audits.replay.job import Job
    from detloader.audits.replay.session import Session
    from detloader.audits.replay.trial import Answer
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Run, Stream

__all__ = ["Case", "shrink"]

SIZES = ("records", "num_records", "size", "n", "num_samples", "limit", "max_records", "length")
"""Names that factories give to the number of their records."""

FEWEST = 2
"""Records of the smallest source that is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What breaks a run, and how little of it is enough.

    Attributes:
        variations: the conditions.
        arguments: arguments of the factory that take other values, in every replay.
        elements: elements to take; None for all.
        stream: the stream of the run, where it was named.
    """

    variations: tuple[Variation, ...] = ()
    arguments: dict[str, JsonValue] = field(default_factory=dict)
    elements: int | None = None
    stream: str | None = None

    @property
    def words(self) -> list[str]:
        """Return the options of `detloader replay` that show it."""
        words = [word for each in self.variations for word in ("--vary", str(each))]
        for name, value in self.arguments.items():
            words += ["-p", f"{name}={spell(value)}"]
        if self.elements is not None:
            words += ["--batches", str(self.elements)]
        return words if self.stream is None else [*words, "--stream", self.stream]

    @property
    def description(self) -> str:
        """Say what it is."""
        parts = [str(each) for each in self.variations]
        parts += [f"{name}={spell(value)}" for name, value in self.arguments.items()]
        if self.elements is not None:
            parts.append(f"{self.elements} element{'s' if self.elements > 1 else ''}")
        return ", ".join(parts)


def shrink(session: Session, control: Control, case: Case, tried: Tried) -> Case:
    """Make a case smaller, as long as it still breaks the run.

    Args:
        session: makes the replays, as many as are left.
        control: the unvaried replay.
        case: what broke the run.
        tried: what came of it.
    """
    assert tried.answer is not None
    if tried.asks is Asks.OTHER_ROWS:
        return case
    shrinking = _Shrinking(session, control, tried.answer)
    case = shrinking.workers(case)
    case = shrinking.records(case)
    return shrinking.prefix(case)


class _Shrinking:
    def __init__(self, session: Session, control: Control, answer: Answer) -> None:
        self._session = session
        self._control = control
        self._baseline = control.run
        self._answer = answer
        self._made = 0

    def workers(self, case: Case) -> Case:
        """Take the least value of each axis that still breaks the run."""
        for place, variation in enumerate(case.variations):
            for value in _smaller(variation, self._control.job):
                less = Variation(variation.axis, value)
                variations = (*case.variations[:place], less, *case.variations[place + 1 :])
                smaller = replace(case, variations=variations)
                if self._breaks(smaller, new_baseline=False):
                    case = smaller
                    break
        return case

    def records(self, case: Case) -> Case:
        """Halve the number of records, where the factory takes one."""
        job = self._control.job
        name = known_as(SIZES, [*job.arguments, *(job.learnt.parameters if job.learnt else ())])
        size = None if name is None else job.value(name)
        if name is None or isinstance(size, bool) or not isinstance(size, int):
            return case
        low, high = FEWEST, size
        while low < high:
            middle = (low + high) // 2
            smaller = replace(case, arguments={**case.arguments, name: middle})
            if self._breaks(smaller, new_baseline=True):
                case, high = smaller, middle
            else:
                low = middle + 1
        return case

    def prefix(self, case: Case) -> Case:
        """Stop at the first row that differs."""
        elements = self._first_element()
        if elements is None:
            return case
        needed = max([elements, *(_stop(v) + 1 for v in case.variations)])
        shorter = replace(case, elements=needed)
        return shorter if self._breaks(shorter, new_baseline=True) else case

    def _breaks(self, case: Case, *, new_baseline: bool) -> bool:
        if self._session.left < 1 + new_baseline:
            return False
        self._made += 1
        job = _job(self._control.job, case)
        baseline = self._baseline
        if new_baseline:
            trial = self._session.trial(job, f"smaller-{self._made}-control", baseline=None)
            if self._session.answer(trial).replayed.died is not None:
                return False
            baseline = trial.run
        trial = self._session.trial(
            varied(job, case.variations),
            f"smaller-{self._made}",
            baseline=baseline,
            asks=asks_of(case.variations),
        )
        answer = self._session.answer(trial)
        if answer.holds is not False:
            return False
        self._baseline, self._answer = baseline, answer
        return True

    def _first_element(self) -> int | None:
        """Count the elements up to the first row that differs, in the run that has more of them."""
        result = self._answer.result
        first = result.first_difference if result else None
        if not first:
            return None
        stream = self._control.job.stream
        runs = (self._baseline, self._answer.replayed.run)
        return max(_elements(only(open_run(run), stream), first.row) for run in runs)


def _smaller(variation: Variation, job: Job) -> Iterator[int]:
    value, current = variation.value, variation.axis.current(job)
    if not variation.axis.shrinks or isinstance(value, bool) or not isinstance(value, int):
        return
    doubled = (2**power for power in range(value.bit_length()))
    yield from (less for less in sorted({3, *doubled}) if less < value and less != current)


def _job(job: Job, case: Case) -> Job:
    arguments = {**job.arguments, **case.arguments}
    elements = job.elements if case.elements is None else case.elements
    return msgspec.structs.replace(job, arguments=arguments, elements=elements)


def _stop(variation: Variation) -> int:
    """Return the elements before the stop of an interrupted run."""
    value = variation.value
    return value if variation.axis.name == "resume_at" and isinstance(value, int) else 0


def _elements(run: Run, row: int) -> int:
    """Count the elements of a rank that hold the rows up to one of them, in canonical order."""
    (stream,) = run.streams.values()
    if "batch" not in stream.columns:
        return row // len(stream.ranks) + 1
    return _batches(stream, row)


def _batches(stream: Stream, row: int) -> int:
    names = [name for name in ("epoch", "batch") if name in stream.columns]
    rows = stream.table(names).slice(0, row + 1).select(names)
    return len(rows.group_by(names).aggregate([]))
