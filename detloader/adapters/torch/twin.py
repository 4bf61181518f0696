"""A loader's twin: of its class and with its attributes, and it records what it delivers."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, ClassVar, Self, SupportsIndex, cast

from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

from detloader.adapters.torch.declared import epoch_holder, seed_of_epoch
from detloader.adapters.torch.recording import Beginning, Iteration, Recording
from detloader.adapters.torch.watched import (
    WatchedCollate,
    WatchedStart,
    watched_iterable,
    watched_map,
)
from detloader.breaking import breaks_off

__all__ = ["RecordedLoader", "twin_of"]


def twin_of(loader: DataLoader[Any], recording: Recording) -> RecordedLoader:
    """Return a loader of the same class, data set, samplers and generator, that records."""
    kind = _recorded_kind(type(loader))  # type: ignore[arg-type]
    twin: RecordedLoader = kind.__new__(kind)
    vars(twin).update(vars(loader), _recording=recording)
    return twin


@functools.cache
def _recorded_kind(kind: type[DataLoader[Any]]) -> type[RecordedLoader]:
    return type(f"Recorded{kind.__name__}", (RecordedLoader, kind), {"unrecorded": kind})


class RecordedLoader(DataLoader[Any]):
    """A Torch loader that records what it delivers.

    What is watched are the iterators that Torch makes, below all that a class derived from
    its loader may do with them: their batches are those of the loader alone.

    Attributes:
        unrecorded: the class of the loader that is recorded.
    """

    unrecorded: ClassVar[type[DataLoader[Any]]]
    _recording: Recording | None = None  # none in one that a trainer makes of this class

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self._recording is None:
            return super()._get_iterator()
        iteration = self.begin_iteration()
        observed = self._observed(self._recording)
        state = vars(self).get("next_iter_state")
        with self._recording.breaks.noting():
            iterator: Any = observed._get_iterator()  # noqa: SLF001 - this class's own
        if "next_iter_state" in vars(self):
            # A checkpoint is taken up once.
            vars(self)["next_iter_state"] = vars(observed)["next_iter_state"]
        iterator.__class__ = _recorded_steps(type(iterator))  # type: ignore[arg-type]
        iterator.iteration = iteration
        if iteration is not None:
            iteration.note_seed()
        iterator.surplus = _surplus(iterator, state)
        return cast("_BaseDataLoaderIter", iterator)

    def _observed(self, recording: Recording) -> DataLoader[Any]:
        """Return a plain loader whose data set, collating and starting functions are watched."""
        watch = recording.watch()
        iterable = isinstance(self.dataset, IterableDataset)
        observed = self.unrecorded.__new__(self.unrecorded)
        vars(observed).update(
            vars(self),
            dataset=(watched_iterable if iterable else watched_map)(self.dataset, watch),
            collate_fn=WatchedCollate(self.collate_fn, watch),
            worker_init_fn=WatchedStart(self.worker_init_fn, watch),
        )
        return observed

    def begin_iteration(self) -> Iteration | None:
        """Note what is known of an iteration that is about to begin."""
        if self._recording is None or not self._recording.looks:
            return None
        resumed = vars(self).get("next_iter_state") is not None
        holder = epoch_holder(self)
        epoch = None if holder is None else holder.epoch
        return Iteration(self._recording, Beginning(epoch, seed_of_epoch(holder), resumed))

    def __copy__(self) -> Self:
        copied = type(self).__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    def __reduce_ex__(self, _: SupportsIndex) -> Any:
        """Let another process have the loader as it was; what is recorded there is its own."""
        if self._recording is not None:
            self._recording.require_adopted()
        plain = self.unrecorded.__new__(self.unrecorded)
        vars(plain).update(vars(self))
        vars(plain).pop("_recording", None)
        # By the oldest protocol, for the newer ones ask whether the object is of that class.
        return plain.__reduce_ex__(0)

    def close(self) -> None:
        """Seal the run."""
        if self._recording is not None:
            self._recording.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Seal the run; after an error it is a part of what it was meant to be."""
        if self._recording is not None:
            self._recording.close(broken_off=breaks_off(kind))


@functools.cache
def _recorded_steps(kind: type[_BaseDataLoaderIter]) -> type[_RecordedSteps]:
    return type(kind.__name__, (_RecordedSteps, kind), {})


def _surplus(iterator: Any, state: dict[str, Any] | None) -> int:
    """Return how many batches too many an iterator counts that took up a checkpoint.

    Torchdata counts a batch again that it reads again, to come to where the checkpoint stood.
    """
    if state is None:
        return 0
    snapshot = state.get("_snapshot")
    if snapshot is None:
        delivered = state.get("_num_yielded", 0)
    else:
        delivered = snapshot["_snapshot_step"] + state["_steps_since_snapshot"]
    return int(iterator._num_yielded - delivered)  # noqa: SLF001 - Torch's


class _RecordedSteps(_BaseDataLoaderIter):
    """An iterator of Torch's that hands over each batch without its witness."""

    iteration: Iteration | None
    surplus: int

    def __next__(self) -> Any:
        if self.iteration is not None:
            self.iteration.note_seed()
        with self.iteration.breaks if self.iteration else contextlib.nullcontext():
            delivery = super().__next__()
        if self.iteration is not None:
            self.iteration.put(delivery.witness, self._num_yielded - self.surplus - 1)
        return delivery.batch

    def _reset(self, loader: Any, first_iter: bool = False) -> None:  # noqa: FBT001, FBT002 - Torch's
        """Begin again, with the same workers."""
        # Workers that persist may outlive the recording of their loader.
        self.iteration = loader.begin_iteration() if isinstance(loader, RecordedLoader) else None
        self.surplus = 0
        super()._reset(loader, first_iter)
        if self.iteration is not None:
            self.iteration.note_seed()
