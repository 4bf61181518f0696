"""Subprocess: each program that a program starts knows which child it is."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from detloader.interception.changes import Changes
from detloader.interception.lineage import CHILD, starting

__all__ = ["MODULE", "command_name", "install", "told_number"]

MODULE = "subprocess"

_ENV = 9
"""Place of `env` behind the command."""


def install(module: ModuleType, changes: Changes) -> None:
    """Change what starts a program."""
    changes.replace(module.Popen, "__init__", _numbered)


def _numbered(init: Any) -> Any:
    @functools.wraps(init)
    def begin(popen: Any, args: Any, *arguments: Any, **options: Any) -> None:
        given = [*arguments]
        # Who gives it by its place gives all before it, too.
        is_placed = len(given) > _ENV
        environment = given[_ENV] if is_placed else options.get("env")
        with starting(command_name(args), environment) as number:
            if is_placed:
                given[_ENV] = told_number(environment, number)
            elif "env" in options:
                options["env"] = told_number(environment, number)
            init(popen, args, *given, **options)

    return begin


def told_number(environment: Any, number: str) -> Any:
    """Return a child's environment with its number; one that knows of no recording as it is."""
    if environment is None or CHILD not in environment:
        return environment
    return {**environment, CHILD: number}


def command_name(args: Any) -> str:
    """Return the name of a command: that of another one is no number of this."""
    if isinstance(args, Sequence) and not isinstance(args, str | bytes):
        return Path(os.fsdecode(args[0])).name if args else ""
    line = os.fsdecode(args).split(maxsplit=1)  # of a shell, or the command alone
    return Path(line[0].strip("\"'")).name if line else ""
