"""Multiprocessing: each process that a program starts knows which child it is."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.changes import Changes
from detloader.interception.lineage import keep_number, starting

__all__ = ["MODULE", "install"]

MODULE = "multiprocessing.process"

_BY_CHANCE = {
    "concurrent.futures.process",
    "joblib.externals.loky.process_executor",
    "loky.process_executor",
    "multiprocessing.managers",
    "multiprocessing.pool",
}
"""Modules of what serves whoever asks: which of them does is no property of the program."""


def install(module: ModuleType, changes: Changes) -> None:
    """Change what starts a process, in whichever way."""
    changes.replace(module.BaseProcess, "start", _numbered)


def _numbered(start: Any) -> Any:
    @functools.wraps(start)
    def begin(process: Any) -> None:
        target = vars(process).get("_target")
        by_chance = getattr(target, "__module__", None) in _BY_CHANCE
        with starting(None if by_chance else "") as number:
            keep_number(process, number)
            start(process)

    return begin
