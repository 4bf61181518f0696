"""Reads the plain stream of the small recorder, whose docstring defines it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

__all__ = ["CutOffError", "decode", "read_line"]


class CutOffError(Exception):
    """The stream ended where it should go on."""


def read_line(stream: BinaryIO) -> dict[str, Any]:
    """Return the next line; an element's comes with its bytes as `pieces`.

    Raises:
        CutOffError: there is none, or not all of it.
    """
    text = stream.readline()
    if not text.endswith(b"\n"):
        raise CutOffError
    line: dict[str, Any] = json.loads(text)
    if "bytes" in line:
        line["pieces"] = stream.read(line["bytes"])
        if len(line["pieces"]) < line["bytes"]:
            raise CutOffError
    return line


def decode(tree: object, pieces: bytes) -> Any:
    """Return the element of a tree: what has the same digest as the element that was sent."""
    return _built(tree, _Bytes(pieces))


class _Bytes:
    def __init__(self, pieces: bytes) -> None:
        self._pieces = memoryview(pieces)

    def take(self, count: int) -> memoryview:
        taken, self._pieces = self._pieces[:count], self._pieces[count:]
        return taken


def _built(tree: Any, pieces: _Bytes) -> Any:
    if isinstance(tree, list):
        return [_built(child, pieces) for child in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, told),) = tree.items()
    return _KINDS[kind](told, pieces)


def _mapping(children: dict[str, Any], pieces: _Bytes) -> dict[str, Any]:
    return {key: _built(child, pieces) for key, child in children.items()}


def _array(told: tuple[str, list[int]], pieces: _Bytes) -> np.ndarray[Any, Any]:
    code, shape = told
    dtype = np.dtype(code)
    data = pieces.take(math.prod(shape) * dtype.itemsize)
    # Of nothing, NumPy makes no array out of bytes.
    return np.frombuffer(data, dtype).reshape(shape) if data else np.empty(shape, dtype)


def _scalar(code: str, pieces: _Bytes) -> Any:
    return _array((code, []), pieces)[()]


def _bytes(count: int, pieces: _Bytes) -> bytes:
    return bytes(pieces.take(count))


def _text(count: int, pieces: _Bytes) -> str:
    return _bytes(count, pieces).decode("utf-8", "surrogatepass")


def _opaque(_kind: str, _pieces: _Bytes) -> object:
    """Stand for what has no bytes of its own: nor has this."""
    return object()


_KINDS: dict[str, Callable[[Any, _Bytes], Any]] = {
    "array": _array,
    "bytes": _bytes,
    "mapping": _mapping,
    "opaque": _opaque,
    "scalar": _scalar,
    "text": _text,
}
