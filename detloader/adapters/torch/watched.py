"""What Torch is given in place of the user's data set, collating and starting functions.

In the worker the user's own data set is at work, and is what `get_worker_info` shows: it is
watched from outside, one call at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from torch.utils.data import get_worker_info

from detloader.adapters import find_iterate
from detloader.adapters.torch.at_once import looking_on, reads_at_once
from detloader.adapters.torch.watch import Watch
from detloader.adapters.torch.witness import Delivery

__all__ = ["WatchedCollate", "WatchedStart", "watched_iterable", "watched_map"]


def watched_map(dataset: Any, watch: Watch) -> _Map:
    """Return what stands for a data set that is read by indices."""
    return _StatefulMap(dataset, watch) if _is_stateful(dataset) else _Map(dataset, watch)


def watched_iterable(dataset: Any, watch: Watch) -> _Iterable:
    """Return what stands for a data set that is iterated."""
    return _StatefulIterable(dataset, watch) if _is_stateful(dataset) else _Iterable(dataset, watch)


class _Watched:
    """Stands for an object: what is not watched is that object's own."""

    def __init__(self, original: Any, watch: Watch) -> None:
        self._original = original
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        if name == "_original":
            # Not yet set, as while it is unpickled: there is nobody to ask.
            raise AttributeError(name)
        return getattr(self._original, name)

    def __repr__(self) -> str:
        return repr(self._original)

    @property
    def original(self) -> Any:
        """The user's own object."""
        return self._original


class _Map(_Watched):
    def __getitem__(self, index: Any) -> Any:
        self._watch.begin([index])
        try:
            sample = self._original[index]
        except BaseException:
            self._watch.forget()
            raise
        self._watch.look()
        return sample

    def __getitems__(self, indices: Sequence[Any]) -> Any:
        """Read the samples of a batch: at once where the data set can, else one by one."""
        self._watch.begin(indices)
        try:
            return self._read(indices)
        except BaseException:
            self._watch.forget()
            raise

    def _read(self, indices: Sequence[Any]) -> Any:
        original, look = self._original, self._watch.look
        if at_once := getattr(original, "__getitems__", None):
            if self._watch.looks and not reads_at_once(original):
                return looking_on(original, look).__getitems__(indices)
            samples = at_once(indices)
            look()
            return samples
        if not self._watch.looks:
            return [original[index] for index in indices]
        samples = []
        for index in indices:
            samples.append(original[index])
            look()
        return samples


class _Iterator(_Watched):
    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        watch = self._watch
        if watch.idle:
            watch.begin(None)
        try:
            sample = next(self._original)
        except StopIteration:
            # What came before it in this batch may still be delivered.
            raise
        except BaseException:
            watch.forget()
            raise
        watch.count += 1
        watch.look()
        return sample


class _Iterable(_Iterator):
    def __iter__(self) -> Any:
        self._watch.begin_pass()
        iterate = find_iterate(self._original)
        if iterate is not None:
            return _Iterator(iterate(self._original, self._watch.note), self._watch)
        iterator = iter(self._original)
        if iterator is self._original:
            # Checkpoints ask whether a data set is its own iterator.
            return self
        kind = _StatefulIterator if _is_stateful(iterator) else _Iterator
        return kind(iterator, self._watch)


class _Stateful(_Watched):
    """Has in its class what checkpoints look for, and do not find through `__getattr__`."""

    def state_dict(self) -> Any:
        return self._original.state_dict()

    def load_state_dict(self, state: Any) -> None:
        self._original.load_state_dict(state)


class _StatefulMap(_Stateful, _Map):
    pass


class _StatefulIterable(_Stateful, _Iterable):
    pass


class _StatefulIterator(_Stateful, _Iterator):
    pass


def _is_stateful(value: object) -> bool:
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


class WatchedCollate:
    """Makes the user's batch, and pairs it with its witness."""

    def __init__(self, collate: Callable[[Any], Any], watch: Watch) -> None:
        self._collate = collate
        self._watch = watch

    def __call__(self, samples: Any) -> Delivery:
        """Put samples together."""
        parts = self._watch.read(samples)
        try:
            batch = self._collate(samples)
        except BaseException:
            self._watch.forget()
            raise
        return Delivery(batch, self._watch.witness(parts, batch))


class WatchedStart:
    """Shows a worker the user's own data set, before the user's function starts it."""

    def __init__(self, start: Callable[[int], None] | None, watch: Watch) -> None:
        self._start = start
        self._watch = watch

    def __call__(self, worker: int) -> None:
        """Start a worker."""
        self._watch.begin_worker(worker)
        info: Any = get_worker_info()
        # Where workers are threads, they have one, which may be shown already, or gone.
        if info is not None and isinstance(info.dataset, _Watched):
            # It is meant to be read alone, by those who come after this.
            object.__setattr__(info, "dataset", info.dataset.original)
        if self._start is not None:
            self._start(worker)
