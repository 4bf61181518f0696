"""The digest of one delivered sample: the column `content`.

A sample is a tree of mappings and sequences with arrays, numbers and text at its leaves.
Its schema is the sorted list of [path, dtype, shape] of its leaves; the XXH3-64 of the
schema's canonical JSON seeds the XXH3-64 over the leaves' bytes, in the same order: C
order, little-endian, and for text its length (uint64) before its UTF-8. Python numbers
count as the arrays that NumPy makes of them, tuples as lists, and mappings whatever
their class: so that a sample has one digest, alone or as a row of a finished batch,
whichever framework delivered it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

__all__ = ["UndigestibleError", "batch_digests", "sample_digest"]

Value: TypeAlias = NDArray[Any] | str | bytes

_JOINED_ROW = 4096
"""Rows of several leaves up to this many bytes are joined by NumPy before they are hashed."""


class UndigestibleError(TypeError):
    """A leaf is of a type that has no bytes of its own."""


def sample_digest(sample: object) -> int:
    """Return the digest of one sample, 0 <= digest < 2**64.

    Raises:
        UndigestibleError: a leaf is neither an array, a number, text nor None.
    """
    leaves = sorted(_leaves(sample, ""), key=lambda leaf: leaf[0])
    state = xxhash.xxh3_64(seed=_seed([(path, leaf, np.shape(leaf)) for path, leaf in leaves]))
    for _, leaf in leaves:
        state.update(_leaf_bytes(leaf))
    return state.intdigest()


def batch_digests(batch: object) -> NDArray[np.uint64]:
    """Return the digest of each row of a batch whose leaves begin with the batch's axis.

    Returns:
        uint64, shape (rows,): what `sample_digest` gives for each row's sample.

    Raises:
        UndigestibleError: a leaf has no bytes of its own, or not as many rows as another.
    """
    leaves = sorted(_columns(batch, ""), key=lambda leaf: leaf[0])
    lengths = {len(leaf) if leaf.ndim else -1 for _, leaf in leaves}
    if len(lengths) != 1 or -1 in lengths:
        message = f"the leaves of a batch have {sorted(lengths)} rows, not one number"
        raise UndigestibleError(message)
    rows = lengths.pop()
    seed = _seed([(path, leaf, leaf.shape[1:]) for path, leaf in leaves])
    if any(leaf.dtype.kind in "US" for _, leaf in leaves):
        found = _hash_pieces([[_leaf_bytes(row) for row in leaf] for _, leaf in leaves], seed)
    elif len(leaves) == 1:
        found = _hash_rows(leaves[0][1], rows, seed)
    elif sum(leaf.nbytes for _, leaf in leaves) <= rows * _JOINED_ROW:
        joined = np.concatenate([_as_bytes(leaf, rows) for _, leaf in leaves], axis=1)
        found = _hash_rows(joined, rows, seed)
    else:
        found = _hash_pieces([list(_as_bytes(leaf, rows)) for _, leaf in leaves], seed)
    return np.fromiter(found, np.uint64, rows)


def _hash_rows(leaf: NDArray[Any], rows: int, seed: int) -> Iterator[int]:
    data = memoryview(_as_bytes(leaf, rows).data).cast("B") if leaf.size else memoryview(b"")
    width = len(data) // rows if rows else 0
    digest = xxhash.xxh3_64_intdigest
    return (digest(data[at * width : at * width + width], seed) for at in range(rows))


def _hash_pieces(columns: Sequence[Sequence[Any]], seed: int) -> Iterator[int]:
    for pieces in zip(*columns, strict=True):
        state = xxhash.xxh3_64(seed=seed)
        for piece in pieces:
            state.update(piece)
        yield state.intdigest()


def _as_bytes(leaf: NDArray[Any], rows: int) -> NDArray[np.uint8]:
    ordered = np.ascontiguousarray(leaf, leaf.dtype.newbyteorder("<"))
    return ordered.reshape(rows, -1).view(np.uint8) if leaf.size else np.empty((rows, 0), np.uint8)


def _leaf_bytes(leaf: Value) -> bytes | memoryview:
    if isinstance(leaf, str):
        return _prefixed(leaf.encode())
    if isinstance(leaf, bytes):
        return _prefixed(leaf)
    if leaf.dtype.kind == "U":
        return b"".join(_prefixed(text.encode()) for text in leaf.ravel().tolist())
    if leaf.dtype.kind == "S":
        return b"".join(map(_prefixed, leaf.ravel().tolist()))
    return memoryview(_as_bytes(np.atleast_1d(leaf), 1).data)


def _prefixed(data: bytes) -> bytes:
    return len(data).to_bytes(8, "little") + data


def _seed(leaves: Sequence[tuple[str, Value, tuple[int, ...]]]) -> int:
    schema = [(path, _dtype_name(leaf), shape) for path, leaf, shape in leaves]
    return xxhash.xxh3_64_intdigest(msgspec.json.encode(schema))


def _dtype_name(leaf: Value) -> str:
    if isinstance(leaf, str) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "U"):
        return "text"
    if isinstance(leaf, bytes) or leaf.dtype.kind == "S":
        return "bytes"
    return leaf.dtype.newbyteorder("<").str


def _leaves(tree: object, path: str) -> Iterator[tuple[str, Value]]:
    children = _children(tree, path)
    if children is None:
        # As arrays, text and bytes would lose the zeros that they end with.
        yield path, tree if isinstance(tree, str | bytes) else _as_array(tree)
        return
    for child_path, child in children:
        yield from _leaves(child, child_path)


def _columns(tree: object, path: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """Walk a batch; a list of plain values is a column, not a node of the tree."""
    children = _children(tree, path)
    if children is None or _is_plain_list(tree):
        yield path, _as_array(tree)
        return
    for child_path, child in children:
        yield from _columns(child, child_path)


def _is_plain_list(tree: object) -> bool:
    if not isinstance(tree, list | tuple):
        return False
    return bool(tree) and all(isinstance(item, str | bytes | int | float) for item in tree)


def _children(tree: object, path: str) -> list[tuple[str, object]] | None:
    if isinstance(tree, Mapping):
        return [(f"{path}/{key}", child) for key, child in tree.items()]
    if isinstance(tree, list | tuple):
        return [(f"{path}/{number}", child) for number, child in enumerate(tree)]
    return None


def _as_array(leaf: object) -> NDArray[Any]:
    if leaf is None:
        return np.empty(0, "V1")
    try:
        array = np.asarray(cast("Any", leaf))
    except (TypeError, ValueError, RuntimeError) as error:
        message = f"a leaf of type {type(leaf).__name__} is no array: {error}"
        raise UndigestibleError(message) from error
    if array.dtype.hasobject:
        message = f"a leaf of type {type(leaf).__name__} holds objects, which have no bytes"
        raise UndigestibleError(message)
    return array
