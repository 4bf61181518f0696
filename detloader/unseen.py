"""Says, once for a run, that content of its samples is not seen: audits cannot speak of it then."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from detloader.manifest.writer import RankWriter

__all__ = ["UnseenContent"]

_NOBODY_SAID = "they cannot be told apart in their batch, or hold what has no bytes of its own"

_log = logging.getLogger("detloader")


class UnseenContent:
    """Looks for content that is null, in what is about to be written."""

    def __init__(self, writer: RankWriter) -> None:
        """Say whose rows they are."""
        self._writer = writer
        self._is_told = False

    def look(self, chunks: Iterable[Any], rows: pa.Table) -> None:
        """Look at rows, and the chunks that they are of; these may say why, as `unseen`."""
        if self._is_told:
            return
        reason = next(filter(None, (getattr(chunk, "unseen", None) for chunk in chunks)), None)
        is_null = "content" in rows.column_names and rows["content"].null_count
        if reason is None and not is_null:
            return
        self._is_told = True
        _log.warning(
            "%s: content of samples is not seen, and no audit can compare it: %s",
            self._writer,
            reason or _NOBODY_SAID,
        )
