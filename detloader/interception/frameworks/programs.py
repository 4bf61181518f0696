"""Subprocess: each program that a program starts knows which child it is."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from detloader.interception.changes import Changes
from detloader.interception.lineage import CHILD, starting

__all__ = ["MODULE", "install"]

MODULE = "subprocess"


def install(module: ModuleType, changes: Changes) -> None:
    """Change what starts a program."""
    changes.replace(module.Popen, "__init__", _numbered)


def _numbered(init: Any) -> Any:
    @functools.wraps(init)
    def begin(popen: Any, args: Any, *arguments: Any, **options: Any) -> None:
        environment = options.get("env")
        with starting(_command(args), environment) as number:
            if environment is not None and CHILD in environment:
                options["env"] = {**environment, CHILD: number}
            init(popen, args, *arguments, **options)

    return begin


def _command(args: Any) -> str:
    """Return the name of a command: that of another one is no number of this."""
    several = isinstance(args, Sequence) and not isinstance(args, str | bytes)
    words = str(args[0] if several and args else args).split(maxsplit=1)
    return Path(words[0]).name if words else ""
