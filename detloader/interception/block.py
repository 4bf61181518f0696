"""`record_all`: every loader that is iterated while a block, or a function, runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ContextDecorator
from typing import Self

from detloader.interception.session import Session, begin_session, end_session
from detloader.manifest.layout import whole_address

__all__ = ["record_all"]


class record_all(ContextDecorator):  # noqa: N801 - reads as the function that it stands for
    """Record loops that one cannot reach, such as a trainer's, as a block or a decorator.

    Each loader of Torch, TensorFlow, Grain or detloader whose first iteration begins meanwhile
    is a stream of the run, named by `detloader.name`, by the line that made it in the block, or
    by the one that iterates it. When the block ends, streams are sealed, and loaders and
    frameworks are as they were.

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
        """
        self._run = whole_address(run)
        self._options = {
            "level": level,
            "id_root": id_root,
            "content": content,
            "decimals": decimals,
            "digest": digest,
            "id_hash": id_hash,
            "epochs": epochs,
            "every": every,
            "then": then,
        }
        self._session: Session | None = None

    def __enter__(self) -> Self:
        """Begin to record."""
        self._session = Session(self._run, self._options)
        begin_session(self._session)
        return self

    def __exit__(self, *_: object) -> None:
        """Seal what was recorded."""
        if self._session is not None:
            end_session(self._session)
            self._session = None
