"""What is known of the records behind a dataset's elements.

Beside each sample travels its *mark*, two integers that TensorFlow batches, shuffles and
hands on as it does the sample. Only whoever made the marks can read them.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.grain.elements import Witness
from detloader.grain.plan import Plan
from detloader.randomness import digest_draws, stream_key

__all__ = ["MARK", "UNKNOWN", "Attribution", "Column", "Mark", "PlanAttribution"]

Column: TypeAlias = "pa.Array[Any] | NDArray[Any]"
Mark: TypeAlias = "tuple[int, int]"

MARK = 2
"""Length of a mark."""

UNKNOWN: Mark = (-1, 0)
"""The mark of a sample that belongs to no record."""

_REMEMBERED = 16
_HALF = 32


class Attribution:
    """Of these elements nothing is known but the errors that stopped them.

    Attributes:
        known: whether marks can be read.
    """

    known = False

    def __init__(self) -> None:
        self._failures: collections.deque[Exception] = collections.deque(maxlen=_REMEMBERED)

    def remember(self, failure: Exception) -> None:
        """Keep an error, for TensorFlow hands on its text alone."""
        self._failures.append(failure)

    def failure_in(self, message: str) -> Exception | None:
        """Return the error that TensorFlow's message tells of, the latest first."""
        return next((f for f in reversed(self._failures) if str(f) in message), None)

    def declare(self) -> dict[str, Any]:
        """Say what is known of the loader, in the words of the manifest."""
        return {}

    def begin(self) -> Any:
        """Return what `epochs` needs to know of the moment at which an iteration begins."""
        return None

    def epochs(self, marks: NDArray[np.int64], since: Any) -> NDArray[np.int64]:
        """Return the pass of each mark, counted within an iteration."""
        raise NotImplementedError

    def columns(self, marks: NDArray[np.int64]) -> Mapping[str, Column]:
        """Return the columns of a manifest that marks tell, `record` among them."""
        raise NotImplementedError


class PlanAttribution(Attribution):
    """Marks of a stream of `to_grain`: the position; the source index and the words drawn."""

    known = True

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan
        self._key = stream_key(plan.seed or 0)

    @staticmethod
    def marks(witness: Witness) -> NDArray[np.int64]:
        """Return the marks of one element's records, int64, shape (rows, 2)."""
        marks = np.empty((witness.rows, MARK), np.int64)
        marks[:, 0] = np.arange(witness.start, witness.start + witness.rows)
        marks[:, 1] = np.frombuffer(witness.indices, np.int64) << _HALF
        marks[:, 1] |= np.frombuffer(witness.taken, np.uint32)
        return marks

    def declare(self) -> dict[str, Any]:
        """Say what `to_grain` was told."""
        plan = self._plan
        return {
            "loader": "to_grain",
            "shuffle": plan.shuffle,
            "seed": plan.seed,
            "source_size": plan.size,
            "batch_size": plan.batch_size,
            "drop_remainder": plan.drop_remainder,
            "num_epochs": plan.num_epochs,
            "workers": plan.workers,
            "start_method": "spawn",
            "stream_mode": "global",
            "config": {"compatibility": plan.compatibility},
        }

    def epochs(self, marks: NDArray[np.int64], since: Any) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the passes, which follow from the positions."""
        return self._plan.order.epoch_of(marks[:, 0])

    def columns(self, marks: NDArray[np.int64]) -> Mapping[str, Column]:
        """Return record, draws and worker."""
        positions, told = marks[:, 0], marks[:, 1].astype(np.uint64)
        taken = told.astype(np.uint32)
        draws = digest_draws(self._key, positions, taken)
        columns: dict[str, Column] = {
            "record": (told >> np.uint64(_HALF)).astype(np.int64),
            "draws": pa.array(draws, mask=taken == 0),
        }
        if self._plan.workers:
            columns["worker"] = positions // (self._plan.batch_size or 1) % self._plan.workers
        return columns
