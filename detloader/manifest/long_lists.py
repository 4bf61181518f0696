"""Canonical JSON (RFC 8785) in which long lists of digests take no time.

A header is little else: 45,000 digests where a run has a billion rows, and it is written anew
with each part. Item by item, that would cost more than the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import msgspec
import rfc8785

from detloader.findings import JsonValue

__all__ = ["members_of", "object_of"]

_Int: TypeAlias = Annotated[int, msgspec.Meta(gt=-(2**53), lt=2**53)]
_Plain: TypeAlias = list[dict[str, list[str] | str | bool | _Int | None]]
"""A list of columns or of files. Where all of its text is ASCII, and no letter of it is escaped,
there is one JSON for it but for the order of keys."""


def members_of(fields: Mapping[str, JsonValue]) -> dict[str, bytes]:
    """Return the canonical JSON of each member of an object.

    Raises:
        CanonicalizationError: there is no such JSON.
    """
    return {name: _dump(value) for name, value in fields.items()}


def object_of(members: Mapping[str, bytes]) -> bytes:
    """Return what `rfc8785.dumps` gives for the object that has these members."""
    # The standard orders names by the code units of UTF-16.
    names = sorted(members, key=lambda name: name.encode("utf-16-be"))
    return b"{" + b",".join(rfc8785.dumps(name) + b":" + members[name] for name in names) + b"}"


def _dump(value: JsonValue) -> bytes:
    try:
        msgspec.convert(value, _Plain)
    except msgspec.ValidationError:
        return rfc8785.dumps(value)
    data = msgspec.json.encode(value, order="sorted")
    return data if data.isascii() and b"\\" not in data else rfc8785.dumps(value)
