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
from typing import Generic, Protocol, TypeVar

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

    def __init__(
        self, writer: RankWriter, encode: Callable[[Sequence[ChunkT]], pa.Table]
    ) -> None:
        """Take a writer that has begun, and the function that makes rows of chunks."""
        self._writer = writer
        self._encode = encode
        self._chunks: list[ChunkT] = []
        self._lost = 0
        self._broken = False
        self._closed = False
        self._draining = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="detloader-recorder", daemon=True)
        self._thread.start()
        _recorders.add(self)

    def put(self, chunk: ChunkT) -> None:
        """Take what was delivered; costs the loop one append."""
        self._chunks.append(chunk)

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
        except Exception:
            _log.exception("%s could not be sealed and stays open", self._writer)

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
                if not self._broken:
                    self._writer.append(self._encode(chunks))
                    return
            except Exception:
                # What follows a failed write could not be told from what came before it.
                self._broken = True
                _log.exception("%s records no further rows", self._writer)
            self._lost += sum(chunk.rows for chunk in chunks)


class _Ignored(list[ChunkT]):
    """Swallows what a forked child delivers."""

    def append(self, item: ChunkT, /) -> None:
        pass


_recorders: weakref.WeakSet[Recorder[Chunk]] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for recorder in list(_recorders):
        recorder.close()


def _forget_all() -> None:
    for recorder in list(_recorders):
        recorder.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
