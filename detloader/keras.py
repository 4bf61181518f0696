"""What Keras's `fit` really trains on: recorded by a callback, on any backend."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from typing import Any

from detloader.adapters.declaring import checked_fields
from detloader.adapters.fit import FitWatch
from detloader.adapters.request import IdSource
from detloader.errors import DetloaderError
from detloader.manifest.layout import check_address, check_stream, numbered_stream
from detloader.recording import checked, record

__all__ = ["RecordFit"]

_log = logging.getLogger("detloader")


class RecordFit(FitWatch):
    """Records the batches that `fit` takes, in the order in which it takes them.

    Each pass of `fit` over its data is an epoch of the run; validation is no part of it. The run
    is sealed when `fit` returns or raises. Each further `fit` that the callback is given to is a
    further stream of the run, `main-2`, `main-3` and so on; one that cannot be recorded trains
    all the same, and a warning says why.

        model.fit(x, y, epochs=3, callbacks=[RecordFit("runs/a")])
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        *,
        stream: str = "main",
        level: str = "full",
        ids: IdSource | None = None,
        id_root: str | os.PathLike[str] | None = None,
        content: str | None = None,
        decimals: int | None = None,
        digest: str | None = None,
        id_hash: str | os.PathLike[str] | None = None,
        epochs: Iterable[int] | None = None,
        every: int | None = None,
        then: str | None = None,
        declared: Mapping[str, object] | None = None,
    ) -> None:
        """Name the run; nothing is recorded before `fit` begins.

        Args:
            run: folder of the run.
            stream: name of this loader, where a program has several.
            level: "digest" keeps digests alone, "order" IDs, "full" content too.
            ids: a function of a batch, such as `(x, y)`, that gives the ID of each sample.
                Without it, the digest of a sample's content is its ID.
            id_root: folder of the data; IDs that are paths below it are kept relative to it.
            content: type that floats are rounded to before content is digested.
            decimals: digits after the point that they are rounded to instead.
            digest: "sha256", to digest content by it; XXH3-64 by default.
            id_hash: file with a key; digests of IDs under it are kept in their place.
            epochs: numbers of the epochs to record; all by default.
            every: which batches of an epoch to record: 0, `every`, 2 `every`, ….
            then: "order", to keep no draws and no content after the first epoch.
            declared: what the run is meant to be; it stands above what `fit` says.

        Raises:
            UsageError: Keras is too old, or an argument makes no sense.
        """
        super().__init__()
        check_address(run)
        check_stream(stream)
        self._options = {"ids": ids, "batched": True} | checked(
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
        self._run = run
        self._stream = stream
        self._recorded = 0
        self._declared = checked_fields(declared)

    def begin(self, loader: Any, adapter: Any, declared: dict[str, object]) -> Any:  # noqa: ARG002 - the watch's
        """Return the twin of what `fit` iterates; None where a further one is not recorded."""
        stream = numbered_stream(self._stream, self._recorded + 1)
        declared = {**declared, **self._declared}
        try:
            twin = record(loader, self._run, stream=stream, declared=declared, **self._options)
        except DetloaderError as error:
            if not self._recorded:
                raise
            # What was trained before would be lost.
            _log.warning("fit is not recorded: %s", error)
            return None
        self._recorded += 1
        return twin
