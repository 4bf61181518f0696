"""One pass over a part of the IDs: samples, and the mark that says whose each is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from detloader.errors import LoaderError, SampleError, UsageError
from detloader.tensorflow.attribution import UNKNOWN, Attribution, Mark
from detloader.tensorflow.ledger import Ledger
from detloader.tensorflow.schedule import Schedule
from detloader.tensorflow.stream_mode import StreamMode

__all__ = ["Pass", "Steady", "on_one_line"]

T = TypeVar("T")

_NOTHING = object()

_MOST_IN_VAIN = 1_000_000
"""So often a reader may ask after the last ID, without a sample: a fraction of a second."""


class Pass:
    """Reads one part once; a sample belongs to the ID that the reader asked for last.

    Raises:
        SampleError: the reader, the ID generator or preprocess failed; it names the ID.
        LoaderError: one of them did before any ID was asked for.
        UsageError: a part gives an ID again, or its reader asks for more without end.
    """

    def __init__(self, schedule: Schedule, ledger: Ledger, part: int) -> None:
        self._schedule = schedule
        self._ledger = ledger
        self._part = part
        self._ids = schedule.parts[part]
        self._mark = UNKNOWN
        self._asked: Any = _NOTHING
        self._delivered = 0
        self._vain = 0
        self._refusal: Exception | None = None
        self._id_error: Exception | None = None

    def __iter__(self) -> Iterator[tuple[Any, Mark]]:
        """Yield samples with their marks."""
        preprocess = self._schedule.preprocess
        step = "the reader"
        try:
            samples = iter(self._schedule.data_generator(self._asking()))
            while True:
                step = "the reader"
                try:
                    sample = next(samples)
                except StopIteration:
                    return
                self._vain = 0
                if preprocess is not None:
                    step = "preprocess"
                    sample = preprocess(sample)
                yield sample, self._mark
                self._delivered += 1
        except Exception as error:
            if error is self._refusal:
                raise
            raise self._named(step, error) from error

    def _asking(self) -> Iterator[Any]:
        """Return what the reader gets its IDs from; it tells also who asks on after the last."""
        return _Asked(self._visits(), self._refuse_asking)

    def _refuse_asking(self) -> None:
        """Refuse a reader that asks again and again after the last ID, and yields no sample.

        A reader that fills its chunks by `next(ids, None)` asks for a while, too.
        """
        self._vain += 1
        if self._vain > _MOST_IN_VAIN:
            self._refusal = UsageError(
                "the data generator never ends: it asks for more IDs after the last, and yields no "
                "sample; let it return when its IDs are at their end"
            )
            raise self._refusal

    def _visits(self) -> Iterator[Any]:
        """Yield IDs as the reader asks for them, and remember the last one."""
        schedule, ledger, part = self._schedule, self._ledger, self._part
        cycle = schedule.cycle
        last = len(self._ids) if schedule.mode is StreamMode.FINITE else None
        number = ledger.begin_pass(part)
        try:
            for visit, record in enumerate(schedule.id_generator(list(self._ids))):
                if visit == last:
                    self._refuse_repetition(record)
                if cycle is not None and visit and visit % cycle == 0:
                    number = ledger.begin_pass(part)
                self._asked = record
                self._mark = ledger.code(part, record), number
                yield record
        except Exception as error:
            self._id_error = error
            raise

    def _refuse_repetition(self, record: object) -> None:
        """Refuse one ID more than the part has, if it is one of the part's own.

        A generator that makes other IDs of the part's, such as windows of subjects, may come
        to an end all the same.
        """
        if not _is_among(record, self._ids):
            return
        message = (
            f"the ID generator gives more IDs than the {len(self._ids)} of part {self._part}, "
            f"{on_one_line(repr(record))} among them: in finite mode each ID comes once, and every "
            'part must end. Use stream_mode="global" for a schedule that repeats, or repeat IDs '
            "in ids"
        )
        self._refusal = UsageError(message)
        raise self._refusal

    def _named(self, step: str, error: Exception) -> LoaderError:
        what = on_one_line(f"{type(error).__name__}: {error}")
        if error is self._id_error:
            step = "the ID generator"
        if self._asked is _NOTHING:
            return LoaderError(f"{step} failed before it asked for an ID: {what}")
        where = f"record {on_one_line(repr(self._asked))} (sample {self._delivered} of its pass)"
        relation = "after" if error is self._id_error else "on"
        return SampleError(
            f"{step} failed {relation} {where}: {what}", self._asked, self._delivered
        )


class _Asked(Iterator[Any]):
    """An iterator that tells each time when it is asked after its end."""

    def __init__(self, ids: Iterator[Any], in_vain: Callable[[], None]) -> None:
        self._ids = ids
        self._in_vain = in_vain

    def __next__(self) -> Any:
        try:
            return next(self._ids)
        except StopIteration:
            self._in_vain()
            raise


class Steady(Generic[T]):
    """An iterator that raises its error again on every further `next`.

    What a generator does after an error is to end, as if all were well.
    """

    def __init__(self, elements: Iterable[T], attribution: Attribution) -> None:
        self._elements = iter(elements)
        self._attribution = attribution
        self._failure: Exception | None = None

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._failure is not None:
            raise self._failure
        try:
            return next(self._elements)
        except StopIteration:
            raise
        except Exception as error:
            self._failure = error
            self._attribution.remember(error)
            raise


def on_one_line(text: str) -> str:
    """Return text without line breaks, shortened where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


_LONGEST = 300


def _is_among(record: object, ids: Iterable[object]) -> bool:
    try:
        return any(record is own or bool(record == own) for own in ids)
    except Exception:  # noqa: BLE001  # arrays do not compare; whose it is cannot be told
        return True
