"""The twins of loaders: what is iterated in their place while there is a session."""

from __future__ import annotations

import os
from typing import Any
from weakref import ref

from detloader.interception.session import Session, beginning, current_session

__all__ = ["twin_of"]

_TWIN = "_detloader_twin"


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
        known = vars(loader).get(_TWIN)
        if known is None or not known.stands_for(loader, session):
            known = _Twin(session.record(loader, made_from=made_from), loader, session)
            setattr(loader, _TWIN, known)
        return known.twin


class _Twin:
    """What is iterated in one loader's place in one session; a copy of the loader has none."""

    def __init__(self, twin: Any, loader: Any, session: Session) -> None:
        self.twin = twin
        self._loader = ref(loader)
        self._session = session
        self._process = os.getpid()

    def stands_for(self, loader: object, session: Session) -> bool:
        is_ours = self._session is session and self._process == os.getpid()
        return self._loader() is loader and is_ours

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        # Whoever is sent the loader may have no recorder.
        return type(None), ()
