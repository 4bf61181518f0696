"""The run that intercepted loaders are recorded in: one stream for each."""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet, finalize

from detloader.interception import hooks
from detloader.interception.aside import is_aside, without_recording
from detloader.interception.changes import Changes
from detloader.interception.lineage import count_anew, lineage
from detloader.interception.places import place_of_caller
from detloader.naming import declared_with_name, name_of

if TYPE_CHECKING:
    from detloader.manifest.folders import Folder

__all__ = [
    "Session",
    "adopt",
    "begin_session",
    "beginning",
    "current_session",
    "end_session",
    "is_recorded",
    "note_places",
    "sessions_of_context",
]

_log = logging.getLogger("detloader")

_MOST = 10_000
"""Streams of one name; a program that makes more has made its loaders in a loop."""


class Session:
    """A run, while the loaders that are iterated go to it."""

    def __init__(self, run: str | Path, options: Mapping[str, Any]) -> None:
        """Name the folder, and what `record` is told for each loader."""
        self._run = run
        self._options = options
        self._numbers: dict[str, Iterator[int]] = {}
        self._endings: list[Callable[[], object]] = []
        self._folders: list[Folder] = []
        self.refused = 0
        self._reason: object = None
        self._not_adopted: WeakSet[Any] = WeakSet()
        self.waits = False  # as the generator does whose session this is

    def record(
        self,
        loader: Any,
        owner: object | None = None,
        stream: str | None = None,
        made_from: object | None = None,
        **options: Any,
    ) -> Any | None:
        """Begin a stream for a loader, and return its twin; None where it cannot be recorded.

        The stream is sealed when the session ends, or the owner does: the loader itself
        where it becomes its own twin, else the twin.

        Args:
            loader: what is iterated.
            owner: whose end is that of the stream.
            stream: its name; that of the loader by default.
            made_from: what the name is of, where a framework made the loader of that.
            options: what `record` is told beside what the session says.
        """
        from detloader.errors import DetloaderError

        if is_recorded(loader):
            return None
        named = loader if made_from is None or name_of(loader) else made_from
        options = {"declared": declared_with_name(named), **self._options, **options}
        with without_recording():
            try:
                return self._begin(loader, owner, stream or _name(named), options)
            except (DetloaderError, ImportError) as error:
                self.refuse(error)
            except Exception as error:  # noqa: BLE001  # whatever it is, the program goes on
                self.refuse(f"{type(error).__name__}: {error}")
            return None

    def refuse(self, reason: object) -> None:
        """Say why a loader is not recorded."""
        self.refused += 1
        self._reason = self._reason or reason
        _log.warning("not recorded: %s", reason)

    def tell_refused(self) -> str | None:
        """Say how many loaders are not recorded, and why; None where there was none."""
        if self.refused == 0:
            return None
        first = "1 loader could not be recorded"
        if self.refused > 1:
            first = f"{self.refused:,} loaders could not be recorded, of which the first"
        return f"{first}: {self._reason}"

    def adopt(self, loader: Any) -> None:
        """Make a loader its own twin; one that was refused is not tried again at each epoch."""
        from detloader.adapters.adopted import Adopted

        with contextlib.suppress(TypeError):  # one that has no hash is tried again
            if loader in self._not_adopted:
                return
        before = self.refused
        # None, too, where another thread was first.
        if (twin := self.record(loader, owner=loader)) is not None:
            self.at_end(Adopted(loader, twin))
        elif self.refused > before:
            with contextlib.suppress(TypeError):
                self._not_adopted.add(loader)

    def at_end(self, ending: Callable[[], object]) -> None:
        """Do something when the session ends."""
        self._endings.append(ending)

    def end(self, *, broken_off: bool = False) -> None:
        """Seal all streams, and leave the loaders as they were."""
        for ending in reversed(self._endings):
            ending()
        if self._folders:
            from detloader.at_work import seal_all

            # The last first: one that is not needed takes along the folders that it made.
            seal_all(reversed(self._folders), broken_off=broken_off)

    def begin_anew(self) -> None:
        """Leave the streams to the parent, in a forked child; what it iterates is its own."""
        for ending in self._endings:
            ending()
        self._endings.clear()
        self._folders.clear()

    def _begin(
        self, loader: Any, owner: object | None, name: str, options: Mapping[str, Any]
    ) -> Any:
        """Begin the first stream whose name is free.

        Raises:
            RunExistsError: none is, or the folder belongs to another run.
        """
        from detloader.adapters import told_rank
        from detloader.at_work import recorder_of
        from detloader.errors import RunExistsError
        from detloader.manifest.layout import numbered_stream
        from detloader.manifest.run_id import choose_run_id
        from detloader.recording import record

        _, ranks = told_rank(loader) or (0, 1)
        child = lineage() if ranks == 1 else ""  # or ranks tell them apart
        name = f"{name}@{child}" if child else name
        for number in itertools.islice(self._numbers.setdefault(name, itertools.count(1)), _MOST):
            try:
                twin = record(loader, self._run, stream=numbered_stream(name, number), **options)
            except RunExistsError:
                choose_run_id(os.fspath(self._run))  # which refuses the folder of another run
                continue  # another process has one of that name
            if (recorder := recorder_of(twin)) is not None:
                # Or the loader would live as long as the program.
                recorder.wrapped = None
                recorder.needed = False
                ending = finalize(twin if owner is None else owner, recorder.close, let_go=True)
                ending.atexit = False  # the recorder knows how the program ends
                self.at_end(ending.detach)
                self._folders.append(recorder.folder)
            return twin
        message = f"{self._run} has {_MOST:,} streams {name!r} already: choose another folder"
        raise RunExistsError(message)


_places: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
_sessions: list[Session] = []
sessions_of_context: ContextVar[tuple[Session, ...]] = ContextVar("detloader_sessions", default=())
_beginning = threading.RLock()


def beginning() -> contextlib.AbstractContextManager[bool]:
    """Let one thread at a time begin sessions and streams, so that no loader has two of one."""
    return _beginning


def begin_session(session: Session) -> None:
    """Let loaders that are iterated from here on go to a session.

    The innermost one has them: of the thread or task that iterates, or of all, where that has
    none of its own, such as a thread that a block starts.
    """
    with beginning():
        if not _sessions:
            hooks.install()
            count_anew()
        _sessions.append(session)
    sessions_of_context.set((*_own_sessions(), session))


def end_session(session: Session, *, broken_off: bool = False) -> None:
    """Let them no longer, and seal what was recorded: a part where an error broke it off."""
    with beginning():
        _sessions.remove(session)
        if not _sessions:
            hooks.undo()
    sessions_of_context.set((*_own_sessions(),))
    session.end(broken_off=broken_off)


def note_places(kind: Any, changes: Changes) -> None:
    """Let the objects of a class, a framework's own, remember where they were made."""

    def wrapped(init: Any) -> Any:
        @functools.wraps(init)
        def initialise(loader: Any, *arguments: Any, **options: Any) -> None:
            init(loader, *arguments, **options)
            _note_place(loader)

        return initialise

    changes.replace(kind, "__init__", wrapped)


def _note_place(loader: object) -> None:
    """Remember where the program made a loader, if it is made now and for the first time."""
    if not is_aside():
        with contextlib.suppress(TypeError):  # one that cannot be referred to weakly
            _places.setdefault(loader, place_of_caller())


def is_recorded(loader: object) -> bool:
    """Tell whether this is a twin already: of a program that records its loaders itself."""
    return type(loader).__module__.startswith("detloader.adapters.")


def adopt(loader: Any) -> None:
    """Make a loader its own twin, until the session ends."""
    with beginning():
        if (session := current_session()) is not None:
            session.adopt(loader)


def current_session() -> Session | None:
    """Return the session that a loader that is iterated now would go to."""
    if is_aside() or not _sessions:
        return None
    of_all = [session for session in _sessions if not session.waits]
    return next(reversed(_own_sessions() or of_all), None)


def _own_sessions() -> list[Session]:
    return [session for session in sessions_of_context.get() if session in _sessions]


def _name(loader: object) -> str:
    place = None
    with contextlib.suppress(TypeError):
        place = _places.get(loader)
    return name_of(loader) or place or place_of_caller()


def _begin_anew() -> None:
    global _beginning  # noqa: PLW0603 - another thread of the parent may have held it
    _beginning = threading.RLock()
    for session in _sessions:
        session.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
