"""`record_all`: every loader that is iterated while a block, or a function, runs."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import logging
import os
from collections.abc import Callable, Generator, Iterable
from typing import Any, Self, TypeVar, cast

from detloader.breaking import breaks_off
from detloader.errors import UsageError
from detloader.interception.nothing import ranks_there, tell_nothing
from detloader.interception.session import Session, begin_session, end_session
from detloader.interception.steps import Steps
from detloader.manifest.layout import check_address, whole_address
from detloader.recording import checked

__all__ = ["record_all"]

_log = logging.getLogger("detloader")

Function = TypeVar("Function", bound=Callable[..., Any])


class record_all:  # noqa: N801 - reads as the function that it stands for
    """Record loops that one cannot reach, such as a trainer's, as a block or a decorator.

    Each loader of Torch, TensorFlow, Grain or detloader whose first iteration begins meanwhile
    is a stream of the run, named by `detloader.name`, by the line that made it in the block, or
    by the one that iterates it. When the block ends, streams are sealed, and loaders and
    frameworks are as they were; streams that an error cuts short say that they are parts. A
    decorated function is a block from call to return, a coroutine until it is done, and a
    generator until it is used up or closed, but for what its caller does between its steps;
    each call has streams of its own.

    >>> import tempfile, grain
    >>> from detloader import name, open_run, record_all
    >>> digits = name(grain.MapDataset.range(3), "digits")
    >>> folder = tempfile.mkdtemp()
    >>> with record_all(f"{folder}/run"):
    ...     print(*digits)
    0 1 2
    >>> open_run(f"{folder}/run").streams["digits"].rows
    3
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        *,
        level: str = "full",
        id_root: str | os.PathLike[str] | None = None,
        content: str | None = None,
        decimals: int | None = None,
        digest: str | None = None,
        id_hash: str | os.PathLike[str] | None = None,
        epochs: Iterable[int] | None = None,
        every: int | None = None,
        then: str | None = None,
    ) -> None:
        """Name the run; nothing is recorded yet.

        Args:
            run: folder of the run.
            level: "digest" keeps digests alone, "order" IDs, "full" draws and content too.
            id_root: folder of the data; record IDs below it are kept relative to it.
            content: type that floats are rounded to before content is digested.
            decimals: digits after the point that they are rounded to instead.
            digest: "sha256", to digest content by it; XXH3-64 by default.
            id_hash: file with a key; digests of IDs under it are kept in their place.
            epochs: numbers of the epochs to record; all by default.
            every: which batches of an epoch to record: 0, `every`, 2 `every`, ….
            then: "order", to keep no draws and no content after the first epoch.

        Raises:
            UsageError: an argument makes no sense.
        """
        check_address(run)
        self._run = whole_address(run)
        self._options = checked(
            level=level,
            id_root=id_root,
            content=content,
            decimals=decimals,
            digest=digest,
            id_hash=id_hash,
            epochs=epochs,
            every=every,
            then=then,
        )
        self._session: Session | None = None
        self._before: frozenset[str] = frozenset()

    def __call__(self, function: Function) -> Function:
        """Return a function that is recorded whenever it runs.

        Raises:
            UsageError: it is an asynchronous generator.
        """
        if inspect.isasyncgenfunction(function):
            raise UsageError("an asynchronous generator is no block: put one around its loop")
        return cast("Function", functools.wraps(function)(_spanned(function, self._another)))

    def __enter__(self) -> Self:
        """Begin to record.

        Raises:
            UsageError: this block has begun, and has not ended.
        """
        if self._session is not None:
            raise UsageError(f"this block records {self._run} already: make another record_all")
        self._before = ranks_there(self._run)
        self._session = Session(self._run, self._options)
        begin_session(self._session)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Seal what was recorded; an error broke off whatever still was."""
        session, self._session = self._session, None
        if session is None:
            return
        end_session(session, broken_off=breaks_off(kind))
        if kind is None and not (session.refused and self._before):  # which was said
            _say_if_nothing_was_recorded(self._run, session.tell_refused(), self._before)

    def _another(self) -> Self:
        another = copy.copy(self)
        another._session = None  # noqa: SLF001 - of this class
        return another


def _spanned(
    function: Callable[..., Any], block: Callable[[], contextlib.AbstractContextManager[Any]]
) -> Callable[..., Any]:
    async def coroutine(*arguments: Any, **options: Any) -> Any:
        with block():
            return await function(*arguments, **options)

    def generator(*arguments: Any, **options: Any) -> Generator[Any, Any, Any]:
        return (yield from Steps(_spanned_steps(function(*arguments, **options), block)))

    def plain(*arguments: Any, **options: Any) -> Any:
        with block():
            return function(*arguments, **options)

    if inspect.iscoroutinefunction(function):
        return coroutine
    return generator if inspect.isgeneratorfunction(function) else plain


def _spanned_steps(
    steps: Generator[Any, Any, Any],
    block: Callable[[], contextlib.AbstractContextManager[Any]],
) -> Generator[Any, Any, Any]:
    with block():
        return (yield from steps)


def _say_if_nothing_was_recorded(run: str, refused: str | None, before: frozenset[str]) -> None:
    if (told := tell_nothing(run, "the block", refused=refused, before=before)) is not None:
        _log.warning("%s", told)
