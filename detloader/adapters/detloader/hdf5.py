"""Records the HDF5 Dataloader, and the streams that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import grain
import pyarrow as pa

from detloader.adapters.detloader.hdf5_rows import (
    Delivered,
    RowMaker,
    declared_seeds,
    origin_of,
)
from detloader.adapters.request import Request
from detloader.breaking import breaks_off
from detloader.errors import UsageError
from detloader.grain.elements import Witnessing
from detloader.grain.iterators import PassingIterator
from detloader.hdf5.delivery.finishing import Witness
from detloader.hdf5.loader import Dataloader
from detloader.hdf5.order.epochs import Pass, epoch_seed
from detloader.hdf5.plan import Plan
from detloader.hdf5.stream import Stream
from detloader.manifest.rounding import EXACT, Digester
from detloader.manifest.schema import Level
from detloader.recorder import Recorder, Sealing

__all__ = ["RecordedDataloader", "RecordedEpoch", "remake", "wrap"]


def wrap(loader: Dataloader | Stream, request: Request) -> RecordedDataloader | RecordedEpoch:
    """Start recording."""
    plan = loader.plan
    full = request.level is not Level.ORDER
    rows = RowMaker(plan, request.ids, full=full)
    pass_ = _first_pass(loader)
    declared = _declared(plan) | declared_seeds(plan, [origin_of(plan, pass_)])
    if rows.ids_differ:
        declared["replacement"] = False
    if isinstance(loader, Stream) and _is_of_no_epoch(plan, pass_):
        declared["config"]["order_seed"] = pass_.seed
    writer = request.writer(**declared)

    def tell(origins: Iterable[int]) -> None:
        told = declared_seeds(plan, origins).items()
        writer.redeclare(**{name: seed for name, seed in told if name not in request.declared})

    rows.tell_origins = tell
    recorder = Recorder[Delivered](writer, rows.encode, rows.seeds, sees_steps=True)
    witnessing = Witnessing(digester=request.digester if full else None)
    if isinstance(loader, Stream):
        return RecordedEpoch(loader.witnessed(witnessing), recorder)
    return RecordedDataloader(loader, recorder, witnessing)


def remake(
    loader: Dataloader | Stream, start: int, stop: int, digester: Digester = EXACT
) -> pa.Table:
    """Make rows of a loader's first iteration again, without those before them.

    Args:
        loader: the loader, of which nothing was asked yet.
        start: number of the first row.
        stop: number behind the last one.
        digester: what digests content.

    Returns:
        The rows as they are recorded, in delivery order.

    Raises:
        UsageError: its augmentation may depend on the batches before.
    """
    plan = loader.plan
    if plan.settings.augmentation is not None and not plan.finisher.gives_generator:
        raise UsageError(
            "an augmentation without a parameter rng may depend on all batches before: "
            "no row can be made alone"
        )
    pass_ = _first_pass(loader)
    maker = plan.maker(pass_, Witnessing(digester=digester))
    size = plan.settings.batch_size or 1
    first = start // size
    made = (plan.finisher.finish(maker, maker(n))[1] for n in range(first, -(-stop // size)))
    told = [Delivered(witness, pass_.epoch, resumed=False) for witness in made]
    return RowMaker(plan, None, full=True).encode(told).slice(start - first * size, stop - start)


def _first_pass(loader: Dataloader | Stream) -> Pass:
    return loader.maker.pass_ if isinstance(loader, Stream) else loader.epochs.show()


def _is_of_no_epoch(plan: Plan, pass_: Pass) -> bool:
    """Tell whether an order is none that `for batch in loader` has in the epoch of that number."""
    settings = plan.settings
    if pass_.chosen or not (settings.shuffle and settings.reshuffle_each_epoch):
        return False
    return pass_.seed != epoch_seed(plan.seed, pass_.epoch)


def _declared(plan: Plan) -> dict[str, Any]:
    settings, size = plan.settings, len(plan.pipeline.table)
    whole_pass = plan.order(plan.seed).whole_pass
    fixed = not settings.shuffle or not settings.reshuffle_each_epoch
    return {
        "loader": "Dataloader",
        "shuffle": settings.shuffle,
        "source_size": size,
        **({"num_samples": whole_pass} if whole_pass != size else {}),
        **({"order_policy": "fixed"} if fixed else {}),
        "batch_size": settings.batch_size,
        "drop_remainder": settings.drop_remainder,
        "threads": settings.num_threads,
        "world_size": settings.num_shards,
        "stream_mode": "global",
        "cache": settings.cache,
        "config": {**settings.described(), "commits": dict(plan.commits)},
    }


_RECORDING = {"_recorder", "_witnessing"}


class RecordedDataloader(Dataloader):
    """A Dataloader that records what it delivers; it shares all it has with the original.

    What is only looked at, through `dataset` and `to_iter_dataset()`, is not recorded: to
    record a stream of `to_iter_dataset()`, wrap that.
    """

    def __init__(
        self, original: Dataloader, recorder: Recorder[Delivered], witnessing: Witnessing
    ) -> None:
        # Not the loader's own __init__: the files were looked into already.
        vars(self).update(vars(original))
        self._recorder = recorder
        self._witnessing = witnessing

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Iterate the next epoch, and record it."""
        return _RecordedIterator(super().__iter__(), self._recorder, _own_epoch)

    def close(self) -> None:
        """Close the files, and seal the run."""
        super().close()
        self._recorder.close()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Seal the run; after an error it is a part of what it was meant to be."""
        super().close()
        self._recorder.close(broken_off=breaks_off(kind))

    def __reduce__(self) -> tuple[Any, ...]:
        # A recorder stays in its process; what is sent elsewhere is the loader.
        plain = {name: value for name, value in vars(self).items() if name not in _RECORDING}
        return _plain_loader, (plain,)

    def _stream(self, pass_: Pass) -> Stream:
        return super()._stream(pass_).witnessed(self._witnessing)


class RecordedEpoch(Sealing, grain.IterDataset[Any]):
    """A stream of `to_iter_dataset()` that records what it delivers.

    It repeats one epoch. Its passes are counted on, as they come.
    """

    def __init__(self, witnessed: Stream, recorder: Recorder[Delivered]) -> None:
        super().__init__(witnessed)
        self.has_child = True  # as in Stream: keeps `__next__` from being replaced
        self.plan = witnessed.plan
        self._recorder = recorder
        self._iterations = 0

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin at the first element, in the next pass."""
        return _RecordedIterator(self._parent.__iter__(), self._recorder, self._next_epoch)

    def _next_epoch(self, witness: Witness) -> int:
        self._iterations += 1
        return witness.pass_.epoch + self._iterations - 1


def _plain_loader(state: dict[str, Any]) -> Dataloader:
    loader = object.__new__(Dataloader)
    vars(loader).update(state)
    return loader


def _own_epoch(witness: Witness) -> int:
    return witness.pass_.epoch


class _RecordedIterator(PassingIterator):
    def __init__(
        self,
        parent: grain.DatasetIterator[Any],
        recorder: Recorder[Delivered],
        begin: Callable[[Witness], int],
    ) -> None:
        super().__init__(parent)
        self._recorder = recorder
        self._begin = begin
        self._epoch: int | None = None
        self._resumed = False

    def __next__(self) -> Any:
        with self._recorder.breaks:
            element, witness = next(self._parent)
        if self._epoch is None:
            self._epoch = self._begin(witness)
        self._recorder.put(Delivered(witness, self._epoch, self._resumed))
        return element

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self._epoch = None
        self._resumed = True
