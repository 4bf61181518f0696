"""Structs in Thrift's compact protocol, in which Parquet writes its footer and page headers."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

__all__ = ["Struct", "read_struct"]

_DEEPEST = 8
_LONG_LIST = 15


@dataclass(slots=True)
class Struct:
    """Integers, structs and lists of structs, by their fields' numbers; the rest is left out."""

    integers: dict[int, int] = field(default_factory=dict)
    structs: dict[int, Struct] = field(default_factory=dict)
    lists: dict[int, list[Struct]] = field(default_factory=dict)


def read_struct(stream: io.BytesIO, depth: int = 0) -> Struct:
    """Read a struct; the stream then stands behind it.

    Raises:
        ValueError: it is none, or holds what Parquet has not.
    """
    if depth > _DEEPEST:
        raise ValueError("structs in structs")
    found = Struct()
    number = 0
    while head := _byte(stream):
        step, kind = divmod(head, 16)
        number = number + step if step else _integer(stream)
        match value := None if kind in (1, 2) else _value(stream, kind, depth):
            case int():
                found.integers[number] = value
            case Struct():
                found.structs[number] = value
            case list():
                found.lists[number] = value
    return found


def _value(stream: io.BytesIO, kind: int, depth: int) -> int | Struct | list[Struct] | None:
    match kind:
        case 1 | 2 | 3:  # true, false, a byte
            return _byte(stream)
        case 4 | 5 | 6:  # 16, 32 or 64 bits
            return _integer(stream)
        case 7:  # a double
            stream.seek(8, io.SEEK_CUR)
        case 8:  # text
            stream.seek(_natural(stream), io.SEEK_CUR)
        case 9:
            return _list(stream, depth)
        case 12:
            return read_struct(stream, depth + 1)
        case _:
            raise ValueError(f"a value of kind {kind}")
    return None


def _list(stream: io.BytesIO, depth: int) -> list[Struct]:
    count, kind = divmod(_byte(stream), 16)
    if count == _LONG_LIST:
        count = _natural(stream)
    values = (_value(stream, kind, depth) for _ in range(count))
    return [value for value in values if isinstance(value, Struct)]


def _integer(stream: io.BytesIO) -> int:
    zigzag = _natural(stream)
    return zigzag >> 1 ^ -(zigzag & 1)


def _natural(stream: io.BytesIO) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = _byte(stream)
        value |= (byte & 127) << shift
        if byte < 128:  # noqa: PLR2004 - the highest bit says that more follows
            return value
    raise ValueError("an integer of more than 64 bits")


def _byte(stream: io.BytesIO) -> int:
    byte = stream.read(1)
    if not byte:
        raise ValueError("it ends in the middle")
    return byte[0]
