"""Waits for frameworks to be imported, and changes each when it is."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Protocol, cast

from detloader.interception import frameworks
from detloader.interception.changes import Changes

__all__ = ["Framework", "install", "undo"]


class Framework(Protocol):
    """What a module of the package `frameworks` defines."""

    MODULE: str
    """Name of the framework's module that is changed."""

    def install(self, module: ModuleType, changes: Changes) -> None:
        """Change it, right after it was imported."""


_changes = Changes()


def install() -> None:
    """Change what is imported already, and wait for the rest."""
    waiting = {found.MODULE: found for found in _frameworks()}
    for name in [name for name in waiting if name in sys.modules]:
        waiting.pop(name).install(sys.modules[name], _changes)
    sys.meta_path.insert(0, _Finder(waiting))


def undo() -> None:
    """Leave all as it was before `install`."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    _changes.undo()


def _frameworks() -> list[Framework]:
    modules = pkgutil.iter_modules(frameworks.__path__, f"{frameworks.__name__}.")
    return [cast("Framework", importlib.import_module(module.name)) for module in modules]


class _Finder(MetaPathFinder):
    """Finds nothing itself; lets the others find a module that is waited for, once."""

    def __init__(self, waiting: dict[str, Framework]) -> None:
        self._waiting = waiting

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = self._waiting.pop(fullname, None)
        if found is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _ThenInstall(spec.loader, found)
                return spec
        return None


class _ThenInstall(Loader):
    """Loads as another loader does, and changes what was loaded."""

    def __init__(self, loader: Loader, found: Framework) -> None:
        self._loader = loader
        self._found = found

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        # The module is to know the loader that it would know without us.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._found.install(module, _changes)
