"""The bytes of `manifest.json`: canonical JSON (RFC 8785) that carries its own digest.

RFC 8785 knows no integer beyond 2**53 and no NaN, and writes a float that is an integer as
one. Such integers stand as `{"$int": "…"}`; NaN, infinities and floats from 2**53 on as
`{"$float": "…"}`; and a user's own mapping of that form as `{"$object": {…}}`. A thousand floats
or more in one list, such as weights, stand as `{"$floats": "…"}`, float64 little-endian in Base64:
as text each would take 15 us, whenever the header is read.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Callable
from typing import cast

import msgspec
import rfc8785

from detloader.errors import DamageError, UsageError
from detloader.findings import JsonValue
from detloader.manifest.long_lists import members_of, object_of
from detloader.manifest.schema import SCHEMA_VERSION, Header

__all__ = ["MOST_BYTES", "canonical_bytes", "check_json", "decode_header", "encode_header"]

MOST_BYTES = 2**26
"""Bytes of a header; those of a billion rows have ten million."""

_EXACT = 2**53
_DIGEST = "sha256"
_TAGS = {"$int", "$float", "$floats", "$object"}
_MANY = 1000


def canonical_bytes(value: JsonValue) -> bytes:
    """Return the one JSON text that stands for a value, in UTF-8."""
    return rfc8785.dumps(_tag(value))


def check_json(declared: msgspec.Struct) -> None:
    """Refuse what a user declared, alone or in a header, and no header can hold.

    Raises:
        UsageError: a value is of a kind that JSON has not.
    """
    try:
        canonical_bytes(msgspec.to_builtins(declared))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"what was declared cannot be written as JSON: {error}"
        raise UsageError(message) from error


def encode_header(header: Header) -> bytes:
    """Return the bytes of `manifest.json`, with the SHA-256 over all else that it says."""
    fields = cast("dict[str, JsonValue]", msgspec.to_builtins(header))
    # Of these two, which grow with the run, the types say that there is nothing to tag.
    tagged = {k: v if k in {"columns", "files"} else _tag(v) for k, v in fields.items()}
    return _with_digest(tagged)


def decode_header(data: bytes, where: str) -> Header:
    """Read what `encode_header` wrote.

    Raises:
        DamageError: the bytes are not JSON, not a manifest, not those that were
            written, or of a newer form than this version of detloader reads.
    """
    try:
        fields = msgspec.json.decode(data, type=dict[str, JsonValue])
        version = fields.get("schema_version")
        if isinstance(version, int) and version > SCHEMA_VERSION:
            message = f"{where} has schema version {version}: upgrade detloader to read it"
            raise DamageError(message)
        fields.pop(_DIGEST, None)
        # Byte for byte: another spelling of the same values is not what was written.
        if data != _with_digest(fields):
            message = f"{where} is damaged: its own SHA-256 does not fit; restore it from a copy"
            raise DamageError(message)
        return msgspec.convert(_untag(fields), Header)
    except (
        msgspec.DecodeError,
        rfc8785.CanonicalizationError,
        RecursionError,
        ValueError,
        struct.error,
    ) as error:
        what = " ".join(str(error).split())
        message = f"{where} is damaged: {what}; restore it from a copy"
        raise DamageError(message) from error


def _with_digest(fields: dict[str, JsonValue]) -> bytes:
    members = members_of(fields)
    digest = hashlib.sha256(object_of(members)).hexdigest()
    return object_of({**members, _DIGEST: rfc8785.dumps(digest)})


def _tag(value: JsonValue) -> JsonValue:
    match value:
        case bool():
            return value
        case int() if abs(value) >= _EXACT:
            return {"$int": str(value)}
        case float() if not abs(value) < _EXACT:  # NaN, too
            return {"$float": repr(value)}
        case list():
            return _tag_list(value)
        case dict():
            tagged: dict[str, JsonValue] = {key: _tag(item) for key, item in value.items()}
            return {"$object": tagged} if len(value) == 1 and value.keys() <= _TAGS else tagged
    return value


def _tag_list(values: list[JsonValue]) -> JsonValue:
    if len(values) >= _MANY and all(type(item) is float for item in values):
        return {"$floats": base64.b64encode(struct.pack(f"<{len(values)}d", *values)).decode()}
    return values if _are_texts(values) else [_tag(item) for item in values]


def _are_texts(values: list[JsonValue]) -> bool:
    return all(type(item) is str for item in values)


def _floats(text: str) -> list[JsonValue]:
    return [number for (number,) in struct.iter_unpack("<d", base64.b64decode(text))]


_READ: dict[str, Callable[[str], JsonValue]] = {"$int": int, "$float": float, "$floats": _floats}


def _untag(value: JsonValue) -> JsonValue:
    if isinstance(value, dict) and len(value) == 1:
        ((tag, text),) = value.items()
        if tag in _READ and isinstance(text, str):
            return _READ[tag](text)
    match value:
        case {"$object": dict(fields), **rest} if not rest:
            return {key: _untag(item) for key, item in fields.items()}
        case list():
            return value if _are_texts(value) else [_untag(item) for item in value]
        case dict():
            return {key: _untag(item) for key, item in value.items()}
    return value
