"""What a recording could not keep, told in one line."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

from detloader.errors import RunError
from detloader.reports.plain import plural

if TYPE_CHECKING:
    from types import TracebackType

    from detloader.manifest.reader import Run

__all__ = ["Losses"]


class Losses(logging.Handler):
    """Takes what the recorder warns of, so that it is said once and with its count.

    A recorder raises nothing into the loop that it watches: it warns, and goes on counting.
    """

    def __init__(self) -> None:
        """Hold no warning yet."""
        super().__init__(logging.WARNING)
        self._logger = logging.getLogger("detloader")
        self._warnings: list[str] = []

    def __enter__(self) -> Self:
        """Take the place of whatever else would show the warnings."""
        self._logger.addHandler(self)
        self._logger.propagate = False
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the warnings back."""
        self._logger.propagate = True
        self._logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning."""
        self._warnings.append(record.getMessage())

    def refuse(self, run: Run) -> None:
        """Say what the run lacks.

        Raises:
            RunError: rows were lost, or the run could not be sealed.
        """
        lost = sum(rank.header.seen.lost for s in run.streams.values() for rank in s.ranks)
        why = "; ".join(self._warnings)
        if lost:
            rows = plural(lost, "row")
            raise RunError(f"{rows} could not be recorded: {why or 'the run does not say why'}")
        if self._warnings:
            raise RunError(why)
