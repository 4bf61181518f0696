"""Keras's `fit`, recorded in a session; imports Keras."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from detloader.adapters.fit import FitWatch
from detloader.interception.places import place_of_caller
from detloader.interception.session import Session, is_recorded, without_recording

__all__ = ["SessionFit"]


class SessionFit(FitWatch):
    """Records what `fit` takes as a stream of the session, named by the line that calls `fit`."""

    def __init__(self, session: Session) -> None:
        """Take the session that `fit` begins in."""
        super().__init__()
        self._session = session

    def begin(self, loader: Any, adapter: Any, declared: dict[str, object]) -> Any | None:
        """Return the twin of what `fit` iterates; None where that records itself."""
        data = getattr(loader, "data", loader)
        # A loader of Torch's, which the program made: it knows more of its records.
        if is_recorded(data) or getattr(adapter, "_dataloader", None) is data:
            return None
        return self._session.record(
            loader if loader is data else _Parts(loader),
            stream=place_of_caller(),
            batched=True,
            declared=declared,
        )


class _Parts:
    """Iterates what Keras made as a part of `fit`, and as no loader of its own."""

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        with without_recording():
            return iter(self._loader)
