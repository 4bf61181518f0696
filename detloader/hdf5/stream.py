"""An epoch of the Dataloader as a Grain dataset, and its iterators."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from detloader.errors import UsageError
from detloader.grain.elements import Witnessing
from detloader.grain.iterators import (
    SteadyIterator,
    UnsharingIterator,
    grain,
    in_workers,
    make_flag_readable,
)
from detloader.hdf5.delivery.batches import BatchMaker
from detloader.hdf5.delivery.read_ahead import Batches, ReadAhead
from detloader.hdf5.delivery.state import State, no_state, write_state

if TYPE_CHECKING:
    from detloader.hdf5.plan import Plan

__all__ = ["EpochIterator", "Stream"]


class Workers(NamedTuple):
    """What Grain's `mp_prefetch` was given."""

    options: grain.MultiprocessingOptions
    further: dict[str, Any]


class Stream(grain.IterDataset[Any]):
    """One epoch of a Dataloader, to iterate again and again.

    Attributes:
        plan: what its loader does in any epoch.
        maker: makes the epoch's batches.
    """

    def __init__(self, plan: Plan, maker: BatchMaker, workers: Workers | None = None) -> None:
        batches = ReadAhead(Batches(maker), plan.read_options())
        super().__init__(
            batches if workers is None else in_workers(batches, workers.options, **workers.further)
        )
        # As of an inner node: of an outermost one Grain replaces the iterator's `__next__`, to
        # cut its own frames out of tracebacks and to say so in a note to each error.
        self.has_child = True
        self.plan = plan
        self.maker = maker
        self._workers = workers

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin at the first element."""
        make_flag_readable()
        batches = self._parent.__iter__()
        if self._workers is not None:
            batches = _OfWorkers(batches)
        return SteadyIterator(_Steps(batches, self))

    def mp_prefetch(
        self, options: grain.MultiprocessingOptions | None = None, **further: Any
    ) -> Stream:
        """Read in worker processes, as Grain's own; augmentations and tensors stay in this one.

        Elements are the same with any number of workers.
        """
        options = options or grain.MultiprocessingOptions(num_workers=10)
        return Stream(self.plan, self.maker, Workers(options, further))

    def witnessed(self, witnessing: Witnessing) -> Stream:
        """Return the same stream with each element paired with its `Witness`."""
        maker = self.plan.maker(self.maker.pass_, witnessing)
        return Stream(self.plan, maker, self._workers)

    def __str__(self) -> str:
        return "Dataloader"


class _OfWorkers(UnsharingIterator):
    """What the worker processes of one process read; to a forked child they give nothing."""

    def __init__(self, parent: grain.DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._process = os.getpid()

    def __next__(self) -> Any:
        if os.getpid() != self._process:
            raise UsageError(
                f"the workers of this iterator belong to process {self._process}, from which this "
                "one was forked: begin another iterator, and set_state() of this one's get_state()"
            )
        return super().__next__()


class _Steps(grain.DatasetIterator[Any]):
    """Finishes what was read; its state says of which loader and epoch it is."""

    def __init__(self, batches: grain.DatasetIterator[Any], stream: Stream) -> None:
        super().__init__(batches)
        self._stream = stream

    def __next__(self) -> Any:
        stream = self._stream
        return stream.plan.finisher.finish(stream.maker, next(self._parent))

    def get_state(self) -> dict[str, Any]:
        fingerprint, pass_ = self._stream.plan.fingerprint, self._stream.maker.pass_
        return write_state(State(fingerprint, pass_, self._parent.get_state()))

    def set_state(self, state: dict[str, Any]) -> None:
        found = self._stream.plan.read_state(state)
        if found.pass_.order != self._stream.maker.pass_.order:
            raise UsageError(
                f"the state is of epoch {found.pass_.epoch}, the stream of another order: "
                "set it on iter() of the Dataloader, which goes to that epoch"
            )
        try:
            self._parent.set_state(found.steps)
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise no_state() from error


class EpochIterator(grain.DatasetIterator[Any]):
    """Iterates a loader's next epoch, which begins when the first element is asked for.

    An iterator that is made and never used leaves the epochs as they are.
    """

    def __init__(
        self,
        show: Callable[[], Stream],
        begin: Callable[[], Stream],
        resume: Callable[[dict[str, Any]], grain.DatasetIterator[Any]],
    ) -> None:
        """Take the loader's ways to a stream.

        Args:
            show: the epoch that would begin now.
            begin: begins it.
            resume: goes to the epoch of a state, and in it to where that stands.
        """
        super().__init__()
        self._show = show
        self._begin = begin
        self._resume = resume
        self._steps: grain.DatasetIterator[Any] | None = None

    def __next__(self) -> Any:
        self._assert_not_closed()
        return next(self.start())

    def start(self) -> grain.DatasetIterator[Any]:
        """Begin the epoch, where that has not yet happened."""
        if self._steps is None:
            self._steps = self._begin().__iter__()
        return self._steps

    def start_prefetch(self) -> None:
        """Begin the epoch, and to read ahead."""
        self.start().start_prefetch()

    def get_state(self) -> dict[str, Any]:
        """Return where it stands; before the first element, the beginning of the next epoch."""
        steps = self._show().__iter__() if self._steps is None else self._steps
        return steps.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to the epoch of a state, and in it to where that stands.

        Raises:
            UsageError: the state is that of another loader.
        """
        self._steps = self._resume(state)

    def close(self) -> None:
        """Stop reading ahead; nothing comes any more."""
        super().close()
        if self._steps is not None:
            self._steps.close()
