"""Between a loader and a rank's folder: takes what was delivered, writes it from a thread.

The loader's thread only appends to a list. Encoding, digesting and writing happen in another
one, the same for all recorders, several times a second, so that a killed process loses less
than a second even while its training loop stands still.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import logging
import multiprocessing.process
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import pyarrow as pa

from detloader.at_work import begin_work, end_work, is_writing_thread, note_left
from detloader.breaking import Breaks, breaks_off
from detloader.errors import RunError
from detloader.manifest.sampling import Sampler
from detloader.manifest.strong import with_strong_content
from detloader.unseen import UnseenContent

if TYPE_CHECKING:
    from detloader.manifest.folders import Folder
    from detloader.manifest.writer import RankWriter

__all__ = ["Chunk", "Recorder", "Sealing"]

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

    Attributes:
        wrapped: the loader that is recorded and its twin, while it is recorded.
        raises: whether a loss is raised into the loop after all.
        needed: whether there is to be a run of a loader that was never asked for an element.
        breaks: stands around each step of the loader; one that broke off is a part.
    """

    def __init__(
        self,
        writer: RankWriter,
        encode: Callable[[Sequence[ChunkT]], pa.Table],
        seeds: Iterable[int] = (),
        *,
        ready: Callable[[Sequence[ChunkT]], int] = len,
        sees_steps: bool = False,
    ) -> None:
        """Take a writer that has begun, and the function that makes rows of chunks.

        Args:
            writer: writes the rank's folder.
            encode: makes rows of chunks.
            seeds: those that the loader used, in order of first use; asked at the end.
            ready: returns how many of the chunks that wait can be written before the end: fewer
                than all, where what is still to come says more of one.
            sees_steps: whether each step of the loader is told to `breaks`.
        """
        self.wrapped: tuple[object, Any] | None = None
        self.raises = False
        self.needed = True
        self.breaks = Breaks(asked=False if sees_steps else None)
        self._writer = writer
        self._encode = encode
        self._seeds = seeds
        self._ready = ready
        self._unseen = UnseenContent(writer)
        self._sampler = None if writer.sampling is None else Sampler(writer.sampling)
        self._chunks: list[ChunkT] = []
        # Of one thread, twice: a signal may close what is being written.
        self._writing = threading.RLock()
        # A daemon, such as a worker of a pool, is ended by a signal: nothing may wait there.
        self._waits = not multiprocessing.process.current_process().daemon
        self._lost = 0
        self._noted = False
        self._counting = threading.Lock()
        self._stopped = False
        self._broken = False
        self._error: Exception | None = None
        self._closing = False
        self._closed = False
        self._left = False
        self._asked: Callable[[], None] | None = None
        # At its first value Arrow looks for pandas, and at the end of the interpreter, where a
        # short program's rows are first written, that import fails.
        pa.scalar(0)
        begin_work(writer.folder, self)

    @property
    def folder(self) -> Folder:
        """The rank's folder."""
        return self._writer.folder

    def put(self, chunk: ChunkT) -> None:
        """Take what was delivered; costs the loop one append."""
        if self._stopped:
            self._say_if_left()
            self._lose(chunk.rows)
            self._raise_if_asked()
        else:
            self._chunks.append(chunk)
            if not self._waits:
                with self._writing:
                    self._write_what_came()

    def lose(self, error: Exception) -> None:
        """Stop at an element that could not be read, for what follows would close up the gap."""
        self._stop_at(error)
        self._lose(1)
        self._raise_if_asked()

    def close(self, *, broken_off: bool = False, let_go: bool = False) -> None:
        """Write what is left and seal the run; again, or in a forked child, does nothing.

        What the loader delivers later is no part of the run.

        Args:
            broken_off: whether an error ended it.
            let_go: whether nobody holds the loader any more; one that was left midway may have
                been left by an error, as will be seen.

        Raises:
            RunError: rows were lost, or the run could not be sealed, and that is to be raised.
        """
        if is_writing_thread():
            # Where the garbage collector found the loader, amid the writing of this, or of another.
            self._asked = functools.partial(self._close, broken_off=broken_off, let_go=let_go)
            return
        with self._writing:
            if self._closed or self._closing:  # the latter by this thread, amid its end
                return
            self._close(broken_off=broken_off, let_go=let_go)
        if not broken_off:
            self._raise_if_asked()

    def flush(self) -> None:
        """Write what came; the thread that writes for all calls it."""
        if not self._writing.acquire(blocking=False):
            return  # another thread ends it, and writes what came
        try:
            if self._closed:
                return
            self._write_what_came()
            if self._lost and not self._noted:
                self._note_loss()
            if self._asked is not None:
                self._asked()
        finally:
            self._writing.release()

    def _close(self, *, broken_off: bool, let_go: bool) -> None:
        self._stopped = True
        self._closing = True
        self._ready = len
        try:
            self._write_what_came()
            self._warn_of_root()
            self._seal_or_discard(broken_off=broken_off or self.breaks.noted)
            if let_go and self.breaks.midway:
                note_left(self._writer)
            # Not before: a signal that raised on the way here leaves it to the program's end.
            self.forget()
        finally:
            self._closing = False

    def _seal_or_discard(self, *, broken_off: bool) -> None:
        try:
            if not self.needed and self.breaks.asked is False:
                self._writer.discard()
                return
            self._writer.close(
                seeds=self._seeds,
                lost=self._lost,
                skipped=None if self._sampler is None else self._sampler.skipped,
                broken_off=broken_off,
            )
        except Exception as error:  # noqa: BLE001  # the training is over, but not the program
            self._error = self._error or error
            self._note_loss()
            _log.warning("%s stays open, it could not be sealed: %s", self._writer, error)

    def leave(self) -> None:
        """Leave the run to the parent, in a forked child; it says so at a row that it loses."""
        # Threads of the parent may have held them.
        self._writing = threading.RLock()
        self._counting = threading.Lock()
        self.forget()
        self._left = True

    def forget(self) -> None:
        """Leave the run, and the loader."""
        self._closed = True
        self._stopped = True
        self._chunks = []
        self.wrapped = None
        end_work(self._writer.folder)

    def _write_what_came(self) -> None:
        # Taken first: what the loop appends meanwhile waits for the next turn.
        waiting = self._chunks[:]
        chunks = waiting[: self._ready(waiting)]
        del self._chunks[: len(chunks)]
        if not chunks:
            return
        rows = sum(chunk.rows for chunk in chunks)
        if self._broken:
            self._lose(rows)
            return
        before = self._writer.rows
        # A copy, for what is interrupted is done again.
        sampler = copy.deepcopy(self._sampler)
        try:
            table = self._encode(chunks)
            self._unseen.look(chunks, table)
            if self._writer.strong:
                table = with_strong_content(table)
            if sampler is not None:
                table = sampler.pick(table)
                rows = len(table)
            self._writer.append(table)
            self._sampler = sampler
        except Exception as error:  # noqa: BLE001  # whatever it is, the training goes on
            self._broken = True
            self._stop_at(error)
            self._lose(rows - (self._writer.rows - before))
        except BaseException:
            if self._writer.rows == before:
                # A signal's: whoever closes next finds them here again.
                self._chunks[:0] = chunks
            raise

    def _stop_at(self, error: Exception) -> None:
        self._stopped = True
        if self._error is None:
            self._error = error
            _log.warning("%s records no further rows: %s", self._writer, error)

    def _say_if_left(self) -> None:
        if self._left and self._error is None:
            self._error = RunError(f"a forked child takes rows of {self._writer}, its parent's")
            _log.warning("not recorded: %s; begin, or record, the loader in the child", self._error)

    def _note_loss(self) -> None:
        # A process that is killed later has said that it lost rows, if not how many.
        with contextlib.suppress(OSError, RunError):
            self._writer.note_loss(self._lost)
        self._noted = True

    def _raise_if_asked(self) -> None:
        if self.raises and self._error is not None:
            message = f"{self._writer} does not hold all that was delivered: {self._error}"
            raise RunError(message) from self._error

    def _warn_of_root(self) -> None:
        writer = self._writer
        if writer.id_root is not None and writer.rows and not writer.below_root:
            _log.warning("%s: no record ID lies below %s", writer, writer.id_root)

    def _lose(self, rows: int) -> None:
        # Two threads count: that of the loop, and the one that writes.
        with self._counting:
            self._lost += rows


class Sealing:
    """What every recorded loader has: `close()`, and to be a context manager.

    A class that mixes this in keeps its recorder as `_recorder`.
    """

    _recorder: Recorder[Any]

    def close(self, *, broken_off: bool = False) -> None:
        """Seal the run; one that was broken off is a part of what it was meant to be."""
        self._recorder.close(broken_off=broken_off)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Seal the run; an error broke it off."""
        self.close(broken_off=breaks_off(kind))
