"""`record_all`: every loader that is iterated while a block, or a function, runs."""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from pathlib import Path
from typing import Self

from detloader.interception import hooks
from detloader.interception.session import Session, begin_session, end_session

__all__ = ["record_all"]


class record_all(ContextDecorator):  # noqa: N801 - reads as the function that it stands for
    """Record loops that one cannot reach, such as a trainer's, as a block or a decorator.

    Each loader of Torch, TensorFlow or Grain whose first iteration begins meanwhile is a
    stream of the run, named by `detloader.name` or by the line that made it. When the block
    ends, streams are sealed and loaders are as they were.

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
    ) -> None:
        """Name the run; nothing is recorded yet.

        Args:
            run: folder of the run.
            level: "digest" keeps digests alone, "order" IDs, "full" draws and content too.
            id_root: folder of the data; record IDs below it are kept relative to it.
            content: type that floats are rounded to before content is digested.
            decimals: digits after the point that they are rounded to instead.
        """
        self._run = Path(run).absolute()
        self._options = {
            "level": level,
            "id_root": id_root,
            "content": content,
            "decimals": decimals,
        }
        self._session: Session | None = None

    def __enter__(self) -> Self:
        """Begin to record."""
        self._session = Session(self._run, self._options)
        begin_session(self._session)
        hooks.install()
        return self

    def __exit__(self, *_: object) -> None:
        """Seal what was recorded."""
        if self._session is not None:
            end_session(self._session)
            self._session = None
