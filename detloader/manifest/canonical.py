"""The bytes of `manifest.json`: canonical JSON (RFC 8785) that carries its own digest.

RFC 8785 knows no integer beyond 2**53 and no NaN, and writes a float that is an integer as
one. Such integers stand as `{"$int": "…"}`; NaN, infinities and floats from 2**53 on as
`{"$float": "…"}`; and a user's own mapping of that form as `{"$object": {…}}`.
"""

from __future__ import annotations

import hashlib
from typing import cast

import msgspec
import rfc8785

from detloader.errors import DamageError
from detloader.findings import JsonValue
from detloader.manifest.schema import SCHEMA_VERSION, Header

__all__ = ["canonical_bytes", "decode_header", "encode_header"]

_EXACT = 2**53
_DIGEST = "sha256"
_TAGS = {"$int", "$float", "$object"}


def canonical_bytes(value: JsonValue) -> bytes:
    """Return the one JSON text that stands for a value, in UTF-8."""
    return rfc8785.dumps(_tag(value))


def encode_header(header: Header) -> bytes:
    """Return the bytes of `manifest.json`, with the SHA-256 over all else that it says."""
    fields = _tag(cast("dict[str, JsonValue]", msgspec.to_builtins(header)))
    return _with_digest(cast("dict[str, JsonValue]", fields))


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
    ) as error:
        what = " ".join(str(error).split())
        message = f"{where} is damaged: {what}; restore it from a copy"
        raise DamageError(message) from error


def _with_digest(fields: dict[str, JsonValue]) -> bytes:
    digest = hashlib.sha256(rfc8785.dumps(fields)).hexdigest()
    return rfc8785.dumps({**fields, _DIGEST: digest})


def _tag(value: JsonValue) -> JsonValue:
    match value:
        case bool():
            return value
        case int() if abs(value) >= _EXACT:
            return {"$int": str(value)}
        case float() if not abs(value) < _EXACT:  # NaN, too
            return {"$float": repr(value)}
        case list():
            return [_tag(item) for item in value]
        case dict():
            tagged: dict[str, JsonValue] = {key: _tag(item) for key, item in value.items()}
            return {"$object": tagged} if len(value) == 1 and value.keys() <= _TAGS else tagged
    return value


def _untag(value: JsonValue) -> JsonValue:
    match value:
        case {"$int": str(text), **rest} if not rest:
            return int(text)
        case {"$float": str(text), **rest} if not rest:
            return float(text)
        case {"$object": dict(fields), **rest} if not rest:
            return {key: _untag(item) for key, item in fields.items()}
        case list():
            return [_untag(item) for item in value]
        case dict():
            return {key: _untag(item) for key, item in value.items()}
    return value
