"""The run of one loader: how its iterators are watched, and what becomes of what they deliver."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import NamedTuple

from detloader.adapters.epochs import EpochNumbers
from detloader.adapters.ids import MIXED
from detloader.adapters.torch.rows import Delivered
from detloader.adapters.torch.watch import Watch
from detloader.adapters.torch.witness import Witness
from detloader.errors import LoaderError, UsageError
from detloader.recorder import Recorder

__all__ = ["Beginning", "Iteration", "Recording"]


class Beginning(NamedTuple):
    """What is known when an iteration begins.

    Attributes:
        epoch: the sampler's number; None where it has none.
        seed: what the sampler seeds its order with; None where it does not say.
        resumed: whether a checkpoint is taken up.
    """

    epoch: int | None
    seed: int | None
    resumed: bool


class Recording:
    """Counts epochs, and hands over what was delivered.

    Attributes:
        watch: callable; returns what watches one more iterator.
        seed_of_order: callable; returns what the next order would come of.
        breaks: stands around each step of the loader.
        looks: whether the iterators that are begun now are a part of the run.
        seeds: those of the orders, in order of first use.
    """

    def __init__(
        self,
        watch: Callable[[], Watch],
        seed_of_order: Callable[[], int | None],
        recorder: Recorder[Delivered],
        seeds: dict[int, None],
    ) -> None:
        self.watch = watch
        self.seed_of_order = seed_of_order
        self.breaks = recorder.breaks
        self.looks = True
        self._recorder = recorder
        self._seeds = seeds
        self._epochs = EpochNumbers()
        self._text_ids: bool | None = None

    def begin_epoch(self, beginning: Beginning, order_seed: int | None) -> int:
        """Number an epoch, at its first batch: an iterator may be made and never used."""
        epoch = self._epochs.begin(beginning.epoch, resumed=beginning.resumed)
        seed = order_seed if beginning.seed is None else beginning.seed
        if seed is not None:
            self._seeds[seed] = None
        return epoch

    def put(self, delivered: Delivered) -> None:
        """Take what was delivered."""
        error = delivered.witness.error
        if error is not None:
            self._recorder.lose(LoaderError(f"batch {delivered.number}: {error}"))
        elif delivered.rows and not self._has_kind_of_those_before(delivered.witness):
            self._recorder.lose(UsageError(f"batch {delivered.number}: {MIXED}"))
        elif delivered.rows:
            self._recorder.put(delivered)

    def _has_kind_of_those_before(self, witness: Witness) -> bool:
        text = not isinstance(witness.told_ids, array)
        if self._text_ids is None:
            self._text_ids = text
        return text is self._text_ids

    def require_adopted(self) -> None:
        """Refuse to send a loader elsewhere that its user wrapped, and whose rows would be lost.

        Raises:
            UsageError: it is no loader of a recorded block or program.
        """
        if self._recorder.wrapped is not None:
            message = (
                "what record returned stays in its process: "
                "give the other one the loader, and record it there"
            )
            raise UsageError(message)

    def close(self, *, broken_off: bool = False) -> None:
        """Seal the run."""
        self._recorder.close(broken_off=broken_off)


class Iteration:
    """One pass of an iterator over its loader.

    Attributes:
        breaks: stands around each of its steps.
    """

    def __init__(self, recording: Recording, beginning: Beginning) -> None:
        self.breaks = recording.breaks
        self._recording = recording
        self._beginning = beginning
        self._epoch: int | None = None
        self._order_seeds: set[int | None] = set()

    def note_seed(self) -> None:
        """Note what the order comes of: when the iterator is made, and before its first step.

        With workers a sampler is asked at the one, else at the other.
        """
        if self._epoch is None:
            self._order_seeds.add(self._recording.seed_of_order())

    def put(self, witness: Witness, number: int) -> None:
        """Take the witness of the epoch's batch of that number."""
        order_seed = next(iter(self._order_seeds)) if len(self._order_seeds) == 1 else None
        if self._epoch is None:
            self._epoch = self._recording.begin_epoch(self._beginning, order_seed)
        _, seed, resumed = self._beginning
        self._recording.put(Delivered(witness, self._epoch, number, seed, resumed, order_seed))
