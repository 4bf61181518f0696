"""One question to the messages of Arrow's streams, which are tables of FlatBuffers."""

from __future__ import annotations

import struct

import pyarrow as pa

__all__ = ["is_compressed"]

_HEADER = 2
"""Field of a message: the table that tells its batch."""
_COMPRESSION = 3
"""Field of a batch, which only a compressed one has."""


def is_compressed(message: pa.Buffer) -> bool:
    """Tell whether a batch is compressed, before anything of it is unpacked.

    Raises:
        ValueError: the message is cut short.
    """
    data = memoryview(message)
    try:
        batch = _field(data, _target(data, 0), _HEADER)
        return batch != 0 and _field(data, _target(data, batch), _COMPRESSION) != 0
    except struct.error as error:
        raise ValueError(f"a message of {len(data)} bytes is cut short") from error


def _target(data: memoryview, at: int) -> int:
    offset: int = struct.unpack_from("<I", data, at)[0]
    return at + offset


def _field(data: memoryview, table: int, number: int) -> int:
    """Return where a field of a table lies, 0 where the table has it not."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", data, vtable)[0]:
        return 0
    offset = struct.unpack_from("<H", data, vtable + 4 + 2 * number)[0]
    return table + offset if offset else 0
