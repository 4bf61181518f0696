"""Loaders by name: a factory that the user named, called with the user's arguments.

This is the only module that imports and runs code because a name says so. Reading
a run never comes here.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import inspect
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from detloader.errors import FactoryError
from detloader.manifest.schema import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from detloader.findings import JsonValue

__all__ = ["build_loader", "load_factory", "parse_value"]


def build_loader(
    factory: str, arguments: Mapping[str, JsonValue] | None = None
) -> tuple[object, Recipe]:
    """Call a factory, and say how to call it again.

    The current folder is importable, and so is that of a file.

    Args:
        factory: "MODULE:FACTORY" or "FILE:FACTORY", such as "train.data:make_loader" or
            "train/data.py:make_loader".
        arguments: keyword arguments, of values that JSON has.

    Returns:
        What the factory gave, and its recipe with the SHA-256 of its source file.

    Raises:
        FactoryError: there is no such factory, or it failed.
    """
    function = load_factory(factory)
    given = dict(arguments or {})
    try:
        loader = function(**given)
    except (Exception, SystemExit) as error:
        raise FactoryError(f"{factory} failed: {_what(error)}; mend it or its -p values") from error
    if loader is None:
        raise FactoryError(f"{factory} gave None: let it return the loader")
    return loader, Recipe(
        factory=factory, arguments=given, source_sha256=_source_sha256(function, factory)
    )


def parse_value(text: str) -> JsonValue:
    """Return what the text says as JSON, or the text itself where it is none.

    >>> parse_value("3"), parse_value("[1, null]"), parse_value("train")
    (3, [1, None], 'train')
    """
    try:
        return cast("JsonValue", msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeError):
        return text


def load_factory(factory: str) -> Callable[..., object]:
    """Import a factory; the current folder is importable, and so is that of a file.

    Raises:
        FactoryError: there is no such factory.
    """
    module_name, separator, attributes = factory.partition(":")
    if not separator or not module_name or not attributes:
        raise FactoryError(f"{factory} names no factory: write MODULE:FACTORY")
    found: object = _load(module_name) if module_name.endswith(".py") else _import(module_name)
    for attribute in attributes.split("."):
        if not hasattr(found, attribute):
            raise FactoryError(f"{module_name} has no {attribute}: {_mend(found, attribute)}")
        found = getattr(found, attribute)
    if not callable(found):
        raise FactoryError(f"{factory} cannot be called: name a function that makes the loader")
    return found


def _load(file: str) -> ModuleType:
    """Import a file as Python runs a program: its folder comes first, its name is the module's."""
    path = Path(file).absolute()
    if not path.is_file():
        raise FactoryError(f"{file} does not exist: name a file as seen from the current folder")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    module = _import(path.stem)
    if module.__file__ is None or not path.samefile(module.__file__):
        raise FactoryError(f"{file} cannot be imported, for {module.__file__} is: rename it")
    return module


def _import(name: str) -> ModuleType:
    folder = os.getcwd()  # noqa: PTH109 - sys.path holds text
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise FactoryError(
                f"there is no module {name} here or among what is installed: "
                "name it as import would, from the current folder"
            ) from error
        raise FactoryError(f"{name} cannot be imported: {error}; install it") from error
    except (Exception, SystemExit) as error:
        raise FactoryError(f"{name} failed while it was imported: {_what(error)}") from error


def _mend(holder: object, attribute: str) -> str:
    near = difflib.get_close_matches(attribute, dir(holder))
    return f"did you mean {near[0]}?" if near else "name a function that it defines"


def _what(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _source_sha256(function: Callable[..., object], factory: str) -> str | None:
    try:
        path = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        # An instance that can be called, such as a partial: its module stands for it.
        name = factory.partition(":")[0]
        path = name if name.endswith(".py") else getattr(sys.modules[name], "__file__", None)
    if path is None or not Path(path).is_file():
        return None
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
