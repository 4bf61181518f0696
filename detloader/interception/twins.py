"""The twins of loaders: what is iterated in their place while there is a session."""

from __future__ import annotations

import os
from typing import Any
from weakref import WeakKeyDictionary, ref

from detloader.interception.session import Session, beginning, current_session

__all__ = ["twin_of"]

_TWINS = "_detloader_twins"


def twin_of(loader: Any, made_from: Any = None) -> Any | None:
    """Return what is to be iterated in a loader's place; None where it is the loader itself.

    Args:
        loader: what the program iterates.
        made_from: what the program made, and named, where a framework made the loader of that.
    """
    with beginning():
        session = current_session()
        if session is None:
            return None
        twins = vars(loader).get(_TWINS)
        if twins is None or not twins.stand_for(loader):
            twins = _Twins(loader)
            setattr(loader, _TWINS, twins)
        if session not in twins.by_session:
            twins.by_session[session] = session.record(loader, made_from=made_from)
        return twins.by_session[session]


class _Twins:
    """What is iterated in one loader's place in each session; a copy of the loader has none.

    Attributes:
        by_session: the twins; None where the loader cannot be recorded.
    """

    def __init__(self, loader: Any) -> None:
        # With the loader, and not with the session, which would keep both: a twin knows its loader.
        self.by_session: WeakKeyDictionary[Session, Any | None] = WeakKeyDictionary()
        self._loader = ref(loader)
        self._process = os.getpid()

    def stand_for(self, loader: object) -> bool:
        return self._loader() is loader and self._process == os.getpid()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        # Whoever is sent the loader may have no recorder.
        return type(None), ()
