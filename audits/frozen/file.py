"""The text of a frozen run: JSON in lines, sorted, with a digest over all that it says.

The digest is the SHA-256 over the canonical JSON (RFC 8785) of everything else, so another
layout of the same values, such as other line ends, is no edit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
import rfc8785

from detloader.audits.frozen.form import SCHEMA_VERSION, Frozen
from detloader.errors import FrozenError
from detloader.manifest.canonical import canonical_bytes
from detloader.manifest.layout import write_atomically

if TYPE_CHECKING:
    from detloader.findings import JsonValue

__all__ = ["load", "save"]

_FORMAT = "detloader frozen run"
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: |$)", re.MULTILINE)


def save(frozen: Frozen, path: str | os.PathLike[str]) -> None:
    """Write a frozen run, whole or not at all; a file that is there is replaced.

    Equal frozen runs give equal bytes.

    Raises:
        FrozenError: the file cannot be written.
    """
    try:
        write_atomically(Path(path), _text(frozen).encode())
    except OSError as error:
        raise FrozenError(f"{path} cannot be written: {error.strerror or error}") from error


def load(path: str | os.PathLike[str]) -> Frozen:
    """Read what `save` wrote.

    Raises:
        FrozenError: there is no such file, it is something else, a newer detloader wrote it,
            a merge left conflict markers in it, or it was edited by hand.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FrozenError(f"{path} does not exist: {_WRITE}") from error
    except IsADirectoryError as error:
        raise FrozenError(f"{path} is a folder, and no frozen file: {_WRITE}") from error
    except OSError as error:
        raise FrozenError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FrozenError(f"{path} is no frozen file, nor any text: {_WRITE}") from error
    return _frozen(text, os.fspath(path))


_WRITE = "write one with `detloader freeze RUN -o FILE`"
_MEND = "restore it, or freeze the run again"


def _text(frozen: Frozen) -> str:
    said = cast("dict[str, JsonValue]", msgspec.to_builtins(frozen, str_keys=True))
    fields: dict[str, JsonValue] = {
        "format": _FORMAT,
        "schema_version": SCHEMA_VERSION,
        **said,
    }
    fields["sha256"] = _digest(fields)
    return json.dumps(fields, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _frozen(text: str, path: str) -> Frozen:
    if marker := _CONFLICT.search(text):
        line = text.count("\n", 0, marker.start()) + 1
        raise FrozenError(
            f"{path} has conflict markers of a merge, the first in line {line}: "
            "keep one side whole, or freeze the run again"
        )
    fields = _fields(text, path)
    version = fields.pop("schema_version", None)
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise FrozenError(
            f"{path} has schema version {version}, and this detloader reads {SCHEMA_VERSION}: "
            "upgrade detloader"
        )
    stated = fields.pop("sha256", None)
    try:
        if stated != _digest({**fields, "schema_version": version}):
            raise FrozenError(f"{path} was edited by hand: its SHA-256 does not fit; {_MEND}")
        del fields["format"]
        return msgspec.convert(fields, Frozen, str_keys=True)
    except (msgspec.ValidationError, rfc8785.CanonicalizationError, RecursionError) as error:
        raise FrozenError(f"{path} is damaged: {error}; {_MEND}") from error


def _fields(text: str, path: str) -> dict[str, JsonValue]:
    """Read the text as JSON in which no key stands twice."""
    try:
        fields = json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise FrozenError(f"{path} is no frozen file, or damaged: {what}; {_MEND}") from error
    if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
        raise FrozenError(f"{path} is no frozen file: {_WRITE}")
    return fields


def _without_doubles(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for key, value in pairs:
        if key in found:
            message = f"the key {key!r} stands twice"
            raise ValueError(message)
        found[key] = value
    return found


def _digest(fields: dict[str, JsonValue]) -> str:
    return hashlib.sha256(canonical_bytes(fields)).hexdigest()
