"""Programs that a program starts by `os.posix_spawn`: each knows which child it is."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.changes import Changes
from detloader.interception.frameworks.programs import command_name, told_number
from detloader.interception.lineage import is_starting, starting

__all__ = ["MODULE", "install"]

MODULE = "os"


def install(module: ModuleType, changes: Changes) -> None:
    """Change what starts a program, where the system has it."""
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(module, name):
            changes.replace(module, name, _numbered)


def _numbered(spawn: Any) -> Any:
    @functools.wraps(spawn)
    def begin(path: Any, argv: Any, env: Any, **options: Any) -> int:
        if is_starting():  # as `subprocess` does it
            return int(spawn(path, argv, env, **options))
        with starting(command_name(argv), env) as number:
            return int(spawn(path, argv, told_number(env, number), **options))

    return begin
