"""The recorders at work in this process: one thread writes for all, and its end seals them."""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # noqa: F401 - its own end is to come after ours
import logging
import multiprocessing.util
import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from detloader.ending import ends_by_error, keeping_status
from detloader.manifest.layout import is_remote

if TYPE_CHECKING:
    from detloader.manifest.folders import Folder
    from detloader.manifest.writer import RankWriter
    from detloader.recorder import Recorder

__all__ = [
    "begin_work",
    "end_work",
    "find_recorder",
    "is_writing_thread",
    "note_left",
    "recorder_of",
    "seal_all",
]

_FLUSH_SECONDS = 0.25

_log = logging.getLogger("detloader")

_recorders: dict[Folder, Recorder[Any]] = {}
_left: dict[Folder, RankWriter] = {}
_thread: _Thread | None = None
# Of one thread, twice: what a signal or the garbage collector ends, amid this, may be a recorder's.
_changing = threading.RLock()


class _Thread(threading.Thread):
    """Writes what came, several times a second, for as long as there are recorders."""

    def __init__(self) -> None:
        super().__init__(name="detloader-recorder", daemon=True)
        self._ending = threading.Event()

    def run(self) -> None:
        while not self._ending.wait(_FLUSH_SECONDS):
            for recorder in list(_recorders.values()):
                recorder.flush()

    def end(self) -> None:
        self._ending.set()
        if not is_writing_thread():
            self.join()


def is_writing_thread() -> bool:
    """Tell whether this thread is the one that writes."""
    return isinstance(threading.current_thread(), _Thread)


def begin_work(folder: Folder, recorder: Recorder[Any]) -> None:
    """Let a recorder's `flush` be called until its work ends."""
    global _thread  # noqa: PLW0603 - the one of this process
    with _changing:
        if _thread is None:
            thread = _Thread()
            thread.start()
            _thread = thread
        _recorders[folder] = recorder


def end_work(folder: Folder) -> None:
    """Let it no longer be called; the thread ends with the last recorder."""
    global _thread
    with _changing:
        _recorders.pop(folder, None)
        if _recorders or _thread is None:
            return
        thread, _thread = _thread, None
    thread.end()


def note_left(writer: RankWriter) -> None:
    """Note that a loader is gone that was left midway: by an error, as its end may show."""
    _left[writer.folder] = writer


def seal_all(folders: Iterable[Folder], *, broken_off: bool) -> None:
    """Seal what is recorded in some folders; an error broke off what was no longer whole."""
    for folder in folders:
        if (recorder := _recorders.get(folder)) is not None:
            recorder.close(broken_off=broken_off)
        if (writer := _left.pop(folder, None)) is not None and broken_off:
            _declare_part(writer)


def find_recorder(folder: Folder) -> Recorder[Any] | None:
    """Return the recorder that is at work in a rank's folder."""
    return _recorders.get(folder)


def recorder_of(twin: object) -> Recorder[Any] | None:
    """Return the recorder at work behind a recorded loader."""
    recorders = list(_recorders.values())
    return next((each for each in recorders if each.wrapped and each.wrapped[1] is twin), None)


def _declare_part(writer: RankWriter) -> None:
    try:
        writer.redeclare(complete=False)
    except Exception as error:  # noqa: BLE001  # the training is over, but not the program
        _log.warning("%s does not say that an error broke it off: %s", writer, error)


@atexit.register
def _close_all() -> None:
    _end_by([*_recorders, *_left])


def _close_remote() -> None:
    _end_by([folder for folder in [*_recorders, *_left] if is_remote(folder.run)])


def _end_by(folders: Iterable[Folder]) -> None:
    with keeping_status():
        for recorder in list(_recorders.values()):
            recorder.raises = False  # there is no loop any more
        seal_all(folders, broken_off=ends_by_error())


# Before `atexit` comes the end of all executors, without which some stores cannot be reached.
vars(threading).get("_register_atexit", atexit.register)(_close_remote)


def _close_at_end_of_child(close_all: Callable[[], None]) -> None:
    multiprocessing.util.Finalize(None, close_all, exitpriority=10)


def _leave_all() -> None:
    """Leave all to the parent, in a forked child, in which its threads are not."""
    global _changing, _thread  # noqa: PLW0603 - another thread of the parent may have held it
    _changing = threading.RLock()
    _thread = None
    _left.clear()
    for recorder in list(_recorders.values()):
        recorder.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)
# A process that multiprocessing forked ends without `atexit`. It may be this one, or a later one.
_close_at_end_of_child(_close_all)
multiprocessing.util.register_after_fork(_close_all, _close_at_end_of_child)
