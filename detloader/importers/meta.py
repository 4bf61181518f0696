"""What a run declared, from a JSON file beside its log."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import msgspec

from detloader.errors import LogError
from detloader.manifest.schema import Declared

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_meta"]


def read_meta(path: Path) -> Declared:
    """Return what the file declares.

    Raises:
        LogError: if it is no JSON object, or has an unknown field or a wrong type.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LogError(f"{path} is no JSON that can be read: {error}") from error
    if not isinstance(found, dict):
        raise LogError(f'{path} is no JSON object: write {{"seed": …, "workers": …}}')
    for name in found:
        if name not in Declared.__struct_fields__:
            raise LogError(f"{path}: {name} is no field that a run declares: {_mend(name)}")
    try:
        return msgspec.convert(found, Declared)
    except msgspec.ValidationError as error:
        raise LogError(f"{path} has a value that cannot be: {error}") from error


def _mend(name: str) -> str:
    near = difflib.get_close_matches(name, Declared.__struct_fields__)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return "what has no field of its own goes into config"
