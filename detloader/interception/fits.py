"""Keras's `fit`, `evaluate` and `predict`, recorded in a session; imports Keras."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from detloader.adapters.fit import FitWatch
from detloader.interception.aside import without_recording
from detloader.interception.places import place_of_caller
from detloader.interception.session import Session, is_recorded

__all__ = ["SessionFit"]


class SessionFit(FitWatch):
    """Records what `fit`, `evaluate` and `predict` take, as streams named by lines."""

    phases = frozenset({"train", "test", "predict"})

    def __init__(self, session: Session) -> None:
        """Take the session that `fit` begins in."""
        super().__init__()
        self._session = session

    def begin(self, loader: Any, adapter: Any, declared: dict[str, object]) -> Any | None:
        """Return the twin of what is iterated; None where that records itself."""
        data = getattr(loader, "data", loader)
        if is_recorded(data) or _is_the_programs(data, adapter, declared["purpose"]):
            return None
        return self._session.record(
            loader if loader is data else _Parts(loader),
            stream=place_of_caller(),
            batched=True,
            declared=declared,
        )


def _is_the_programs(data: Any, adapter: Any, purpose: object) -> bool:
    """Tell whether the program made what is iterated, and knows it by another name.

    A loader of Torch's knows more of its records, too. A dataset that `fit` trains on is what
    `fit` made of it, shuffled and weighted, whoever made it.
    """
    if getattr(adapter, "_dataloader", None) is data:
        return True
    if purpose != "eval":
        return False
    made = data, getattr(data, "_original_dataset", data)  # of one that Keras distributed
    return any(getattr(adapter, "_dataset", None) is one for one in made)


class _Parts:
    """Iterates what Keras made as a part of `fit`, and as no loader of its own."""

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        with without_recording():
            return iter(self._loader)
