"""Between a loader and a rank's folder: takes what was delivered, writes it from a thread.

The loader's thread only appends to a list. Encoding, digesting and writing happen in a
thread of the recorder's own, several times a second, so that a killed process loses less
than a second even while its training loop stands still.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from detloader.manifest.writer import RankWriter

__all__ = ["Chunk", "Recorder"]

_FLUSH_SECONDS = 0.25

_log = logging.getLogger("detloader")


class Chunk(Protocol):
    """What an adapter hands over at once: one element, seldom more."""

    @property
    def rows(self) -> int:
        """Number of records."""


ChunkT = TypeVar("ChunkT", bound=Chunk)


class Recorder(Generic[ChunkT]):
    """Records the chunks of one rank of one stream.

    Once it has started it raises nothing into the loop that it watches: what cannot be
    written is counted as lost, and the run says so.
    """

    def __init__(self, writer: RankWriter, encode: Callable[[Sequence[ChunkT]], pa.Table]) -> None:
        """Take a writer that has begun, and the function that makes rows of chunks."""
        self._writer = writer
        self._encode = encode
        self._chunks: list[ChunkT] = []
        self._lost = 0
        self._stopped = False
        self._closed = False
        self._draining = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="detloader-recorder", daemon=True)
        self._thread.start()
        _recorders.add(self)

    def put(self, chunk: ChunkT) -> None:
        """Take what was delivered; costs the loop one append."""
        if self._stopped:
            self._lost += chunk.rows
        else:
            self._chunks.append(chunk)

    def lose(self, error: Exception) -> None:
        """Stop at an element that could not be read, for what follows would close up the gap."""
        if not self._stopped:
            _log.warning("%s records no further rows: %s", self._writer, error)
        self._stopped = True
        self._lost += 1

    def close(self) -> None:
        """Write what is left and seal the run; again, or in a forked child, does nothing."""
        if self._closed:
            return
        self._closed = True
        self._stop.set()
        self._thread.join()
        self._drain()
        try:
            self._writer.close(lost=self._lost)
        except Exception as error:  # noqa: BLE001  # the training is over, but not the program
            _log.warning("%s stays open, it could not be sealed: %s", self._writer, error)

    def forget(self) -> None:
        """In a forked child: leave the run to the process that records it."""
        self._closed = True
        self._chunks = _Ignored()

    def _run(self) -> None:
        while not self._stop.wait(_FLUSH_SECONDS):
            self._drain()

    def _drain(self) -> None:
        with self._draining:
            # Taken first: what the loop appends meanwhile waits for the next turn.
            count = len(self._chunks)
            chunks = self._chunks[:count]
            del self._chunks[:count]
            if not chunks:
                return
            try:
                self._writer.append(self._encode(chunks))
            except Exception as error:  # noqa: BLE001  # whatever it is, the training goes on
                self.lose(error)
                self._lost += sum(chunk.rows for chunk in chunks) - 1


class _Ignored(list[ChunkT]):
    """Swallows what a forked child delivers."""

    def append(self, item: ChunkT, /) -> None:
        pass


_recorders: weakref.WeakSet[Recorder[Any]] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for recorder in list(_recorders):
        recorder.close()


def _forget_all() -> None:
    for recorder in list(_recorders):
        recorder.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
