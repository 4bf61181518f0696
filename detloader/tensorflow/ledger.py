"""Which IDs a generator's dataset asked for, as numbers that travel with its samples."""

from __future__ import annotations

import functools
import threading
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.errors import LoaderError, UsageError
from detloader.tensorflow.attribution import Attribution, Column
from detloader.tensorflow.record_ids import Kind, as_array, as_text, kind_of
from detloader.tensorflow.schedule import Schedule

__all__ = ["Ledger"]


class Ledger(Attribution):
    """Marks of a generator's samples: a code for part and ID; the pass over that part.

    Codes are given out as IDs are asked for, so that an ID may be anything: what it is on
    record is decided when it is recorded.
    """

    known = True

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self._schedule = schedule
        self._ids = schedule.ids
        self._parts = len(schedule.parts)
        self._asked: list[tuple[int, Any]] = []
        self._codes: dict[Hashable, int] = {}
        self._passes = [0] * self._parts
        self._giving = threading.Lock()
        self._kind: Kind | None = None

    def code(self, part: int, record: Any) -> int:
        """Return the code of an ID that a part's reader asked for."""
        key: Hashable = (part, record)
        try:
            code = self._codes.get(key)
        except TypeError:
            key = (part, _stand_in(record))
            code = self._codes.get(key)
        if code is not None:
            return code
        with self._giving:
            if key not in self._codes:
                self._asked.append((part, record))
                self._codes[key] = len(self._asked) - 1
            return self._codes[key]

    def record(self, code: int) -> Any:
        """Return the ID that a code stands for."""
        return self._asked[code][1]

    def begin_pass(self, part: int) -> int:
        """Return the number of a pass over a part, counted over all iterations."""
        number = self._passes[part]
        self._passes[part] = number + 1
        return number

    def begin(self) -> NDArray[np.int64]:
        """Return the next pass of each part."""
        return np.array(self._passes, np.int64)

    def epochs(self, marks: NDArray[np.int64], since: Any) -> NDArray[np.int64]:
        """Return how many passes each mark's comes after those that were next `since` then.

        A pass from before, which a cache may hold, counts as the first.
        """
        begun = since[self._parts_of(marks[:, 0])] if self._parts > 1 else since[0]
        epochs: NDArray[np.int64] = np.maximum(marks[:, 1] - begun, 0)
        return epochs

    def columns(self, marks: NDArray[np.int64]) -> Mapping[str, Column]:
        """Return record, its place among the caller's IDs and, where there are parts, worker.

        Raises:
            LoaderError: a sample belongs to no ID.
            UsageError: an ID does not go with those before.
        """
        codes, inverse = np.unique(marks[:, 0], return_inverse=True)
        if codes[0] < 0:
            message = (
                "a sample came before its reader had asked for an ID, or from a batch whose "
                "rows were replaced: give ids= to record"
            )
            raise LoaderError(message)
        asked = [self.record(code) for code in codes.tolist()]
        columns: dict[str, Column] = {"record": self._as_array(asked).take(inverse)}
        if self._places:
            places = [self._place(record) for record in asked]
            columns["index"] = pa.array(places, pa.int64()).take(inverse)
        if self._parts > 1:
            columns["worker"] = self._parts_of(codes)[inverse]
        return columns

    def declare(self) -> dict[str, Any]:
        """Say what is known of the order, in the words of the manifest.

        Raises:
            UsageError: an ID is neither an integer nor text, and has no JSON text.
        """
        names = as_array(self._ids, kind_of(self._ids)).to_pylist()
        return self._schedule.declared(names if len(set(names)) == len(names) else None)

    @functools.cached_property
    def _places(self) -> Mapping[Any, int]:
        """The place of each of the caller's IDs; empty where they repeat or have no hash."""
        try:
            places = {record: place for place, record in enumerate(self._ids)}
        except TypeError:
            return {}
        return places if len(places) == len(self._ids) else {}

    def _place(self, record: Any) -> int | None:
        try:
            return self._places.get(record)
        except TypeError:
            return None

    def _as_array(self, asked: Sequence[Any]) -> pa.Array[Any]:
        if self._kind is None:
            self._kind = kind_of([*self._ids, *asked])
        return as_array(asked, self._kind)

    def _parts_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        # A sample of no ID counts with the first part.
        return np.array([self._asked[c][0] if c >= 0 else 0 for c in codes.tolist()], np.int64)


def _stand_in(record: object) -> Hashable:
    """Return a key for an ID that cannot be one, the same for equal IDs where they have text."""
    try:
        return as_text(record)
    except UsageError:
        return id(record)
