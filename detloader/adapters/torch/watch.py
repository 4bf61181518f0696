"""Looks on while a batch is made, in whichever process that is, and makes its witness."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from torch.utils.data import get_worker_info

from detloader.adapters.torch.reading import SampleReader, as_indices, hands_on
from detloader.adapters.torch.samplers import is_list
from detloader.adapters.torch.witness import Witness
from detloader.errors import UsageError
from detloader.generators.witness import DrawWitness

__all__ = ["Watch", "WatchOfThreads"]


class Watch:
    """What was seen of the batch that is being made.

    The watched data set tells it of each sample, and the watched collating function of the
    batch; both are in one process and hold one watch. It raises nothing into that process:
    what could not be seen is said by the witness.

    Attributes:
        idle: whether no batch is being made.
        looks: whether it looks at generators.
        look: callable; looks at what comes after a sample, or after all that were made at once.
        count: samples of a data set without indices.
    """

    def __init__(
        self,
        reader: Callable[[], SampleReader],
        draws: DrawWitness | None,
        *,
        collated: bool,
        batched: bool,
        named: bool,
    ) -> None:
        """Say what to watch.

        Args:
            reader: makes what reads the samples.
            draws: looks at generators; None looks at none.
            collated: whether a batch is made of a list of samples, and not of one element.
            batched: whether such an element is a batch by itself.
            named: whether the user gave an ID for each index.
        """
        self._reader = reader()
        self._draws = draws
        self._collated = collated
        self._batched = batched
        self._named = named
        self._indices: Sequence[Any] | None = None
        self._noted: list[int] = []
        self._skipped: list[int] = []
        self._error: Exception | None = None
        self.looks = draws is not None
        self.look: Callable[[], None] = _look_at_nothing if draws is None else draws.look
        self.count = 0
        self.idle = True

    def begin_worker(self, worker: int) -> None:
        """Hear which worker begins: of a process, Torch says so at any time."""

    def begin_pass(self) -> None:
        """Leave what an earlier pass over an iterable began: the next one begins."""
        self.forget()
        if self._draws is not None:
            self._draws.begin_pass()

    def begin(self, indices: Sequence[Any] | None) -> None:
        """Look at what comes before a batch's first sample; None where it has no indices."""
        self.idle = False
        self.count = 0
        self._indices = indices
        self._noted.clear()
        self._skipped = []
        self._error = None
        if self._draws is not None:
            self._draws.begin()

    def note(self, number: int) -> None:
        """Hear from a data set without indices which record it reads for the next sample."""
        # Of several, as where some are left out, the last one is delivered.
        self._noted[self.count :] = [number]

    def forget(self) -> None:
        """Leave a batch that came to nothing."""
        self.idle = True

    def read(self, samples: Any) -> dict[str, Any]:
        """Read what the collating function may change: parts of the witness."""
        return self._try(self._read, samples) or {}

    def witness(self, parts: dict[str, Any], batch: Any) -> Witness:
        """Look at what comes after the batch, and say what was seen of it."""
        self.idle = True
        self.look()
        found: Witness | None = self._try(self._complete, parts, batch)
        if found is None or self._error is not None:
            error = f"{type(self._error).__name__}: {self._error}"
            return Witness(rows=len(self._indices or ()) or self.count, error=error)
        return found

    def _read(self, samples: Any) -> dict[str, Any]:
        if self._collated:
            if self._reader.skips:
                self._skipped = _nothings(samples, self._indices)
            if self._indices is None:
                return self._reader.of_samples(samples)
            return self._reader.of_fetched(samples, len(self._indices))
        if self._indices is not None and is_list(self._indices[0]):
            self._indices = list(self._indices[0])
        elif not self._batched:
            return self._reader.of_samples([samples])
        elif self._named:
            message = "an index is that of a whole batch: give ids as a key or a function of it"
            raise UsageError(message)
        else:
            self._indices = None
        return self._reader.of_batch(samples)

    def _complete(self, parts: dict[str, Any], batch: Any) -> Witness:
        rows = self._count_rows(parts)
        parts |= self._reader.of_stacked(batch, rows)
        if self._skipped:
            parts |= self._skip(parts, batch, rows)
        if self._indices is not None:
            parts["indices"] = as_indices(self._indices)
        elif len(self._noted) == rows:
            parts["indices"] = as_indices(self._noted)
        if self._draws is not None:
            parts["looks"] = self._draws.looks(rows)
            parts["one_off"] = self._draws.one_off
        return Witness(**{**parts, **self._told_of_worker(), "rows": rows})

    def _told_of_worker(self) -> dict[str, Any]:
        worker = get_worker_info()
        return {} if worker is None else {"worker": worker.id, "worker_seed": worker.seed}

    def _skip(self, parts: dict[str, Any], batch: Any, rows: int) -> dict[str, Any]:
        if not hands_on(batch, rows):
            return {"skipped": self._skipped}
        if "ids" in parts:
            raise UsageError("a sample that is None has no ID")
        return {}

    def _count_rows(self, parts: dict[str, Any]) -> int:
        shown: int | None = parts.get("rows")
        if self._indices is not None:
            asked = len(self._indices)
            if shown in {None, asked}:
                return asked
            if self._collated or not self._batched or "ids" not in parts:
                raise UsageError(f"the data set gave {shown} records for {asked} indices")
            self._indices = None  # they are of something else, such as files
        if self._collated or not self._batched:
            return self.count
        if shown is None:
            message = "nobody can tell how many records a batch has: give ids"
            raise UsageError(message)
        return shown

    def _try(self, read: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return read(*arguments)
        except Exception as error:  # noqa: BLE001  # whatever it is, the training goes on
            # What comes of a first error says nothing of its cause.
            self._error = self._error or error
            return None


class WatchOfThreads(threading.local, Watch):
    """A watch for workers that are threads: each of them has its own, with all its attributes.

    What Torch says of the worker is there that of the last one to begin.
    """

    _worker: int | None = None

    def begin_worker(self, worker: int) -> None:
        """Hear which worker begins."""
        self._worker = worker

    def _told_of_worker(self) -> dict[str, Any]:
        return {"worker": self._worker}


def _nothings(samples: Any, indices: Sequence[Any] | None) -> list[int]:
    """Return the places of samples that are none; of a batch that came as one there are none."""
    if not isinstance(samples, list) or len(samples) != len(indices or samples):
        return []
    return [place for place, sample in enumerate(samples) if sample is None]


def _look_at_nothing() -> None:
    """Do nothing, where nobody asked for draws."""
