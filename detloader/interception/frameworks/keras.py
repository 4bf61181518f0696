"""Keras: each `fit` gets a callback that records the batches it takes."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.changes import Changes
from detloader.interception.session import current_session

__all__ = ["MODULE", "install"]

MODULE = "keras.src.callbacks.callback_list"


def install(module: ModuleType, changes: Changes) -> None:
    """Change the list of callbacks, which `fit` makes when it begins."""
    changes.replace(module.CallbackList, "__init__", _with_one_more)


def _with_one_more(init: Any) -> Any:
    @functools.wraps(init)
    def initialise(callbacks: Any, *arguments: Any, **options: Any) -> None:
        init(callbacks, *arguments, **options)
        if (session := current_session()) is None:
            return
        from detloader.errors import UsageError
        from detloader.interception.fits import SessionFit

        try:
            # After all else: how Keras calls callbacks depends on those that it is given.
            watch = SessionFit(session)
            watch.set_params(callbacks.params)
            callbacks.callbacks.append(watch)
        except UsageError as error:
            session.refuse(error)

    return initialise
