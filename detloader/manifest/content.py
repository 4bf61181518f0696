"""The digest of one delivered sample: the column `content`.

A sample is a tree of mappings and sequences with arrays, numbers and text at its leaves.
Its schema is the sorted list of [path, dtype, shape] of its leaves, a path being the list
of keys (as text) and places (as numbers) that lead to the leaf; the XXH3-64 of the schema's
canonical JSON seeds the XXH3-64 over the leaves' bytes, in the same order: C order,
little-endian, and for text its length (uint64) before its UTF-8. Python numbers count as
the arrays that NumPy makes of them, tuples as lists, and mappings and the fields of
structured arrays whatever their class: so that a sample has one digest, alone or as a row
of a finished batch, whichever framework delivered it. Empty containers have no leaves.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

__all__ = [
    "UndigestibleError",
    "as_bytes",
    "batch_digests",
    "batch_parts",
    "row_digests",
    "sample_digest",
    "sample_parts",
    "schema_seed",
    "shows_rows",
]

Value: TypeAlias = NDArray[Any] | str | bytes
Path: TypeAlias = tuple[str | int, ...]
Schema: TypeAlias = tuple[tuple[Path, str, tuple[int, ...]], ...]
Column: TypeAlias = "NDArray[Any] | Sequence[object]"

_JOINED_ROW = 4096
"""Rows of several leaves up to this many bytes are joined by NumPy before they are hashed."""

_PLAIN = (str, bytes, int, float, complex, np.generic)

_path = operator.itemgetter(0)
_last = operator.itemgetter(-1)


class UndigestibleError(TypeError):
    """A leaf is of a type that has no bytes of its own."""


def sample_digest(sample: object) -> int:
    """Return the digest of one sample, 0 <= digest < 2**64.

    Raises:
        UndigestibleError: a leaf is neither an array, a number, text nor None.
    """
    return _digest(*sample_parts(sample))


def sample_parts(sample: object) -> tuple[Schema, list[Any]]:
    """Return the schema of a sample, and the bytes of its leaves in that order.

    Raises:
        UndigestibleError: a leaf is neither an array, a number, text nor None.
    """
    leaves: list[tuple[Path, Value]] = []
    _collect_leaves(sample, (), leaves)
    leaves.sort(key=_path)
    return _parts(leaves)


def batch_digests(batch: object) -> NDArray[np.uint64]:
    """Return the digest of each row of a batch whose leaves begin with the batch's axis.

    A list of plain values is a leaf here, too.

    Returns:
        uint64, shape (rows,): what `sample_digest` gives for each row's sample.

    Raises:
        UndigestibleError: a leaf has no bytes of its own, or not as many rows as another.
    """
    columns = _columns(batch)
    rows = _row_count(columns)
    arrays = [(path, leaf) for path, leaf in columns if isinstance(leaf, np.ndarray)]
    if len(arrays) < len(columns) or any(leaf.dtype.kind in "US" for _, leaf in arrays):
        return np.fromiter(itertools.starmap(_digest, _each(columns, rows)), np.uint64, rows)
    each = [(path, _type_name(leaf.dtype), leaf.shape[1:]) for path, leaf in arrays]
    seed = schema_seed(tuple(each))
    return row_digests([as_bytes(leaf, rows) for _, leaf in arrays], rows, seed)


def batch_parts(batch: object) -> Iterator[tuple[Schema, list[Any]]]:
    """Yield for each row of a batch what `sample_parts` gives for its sample.

    Raises:
        UndigestibleError: a leaf has no bytes of its own, or not as many rows as another.
    """
    columns = _columns(batch)
    yield from _each(columns, _row_count(columns))


def shows_rows(element: object) -> bool:
    """Tell whether an element can be a batch: all its leaves begin with as many rows."""
    try:
        _row_count(_columns(element))
    except UndigestibleError:
        return False
    return True


def _columns(batch: object) -> list[tuple[Path, Column]]:
    columns: list[tuple[Path, Column]] = []
    _collect_columns(batch, (), columns)
    columns.sort(key=_path)
    return columns


def _each(columns: Sequence[tuple[Path, Column]], rows: int) -> Iterator[tuple[Schema, list[Any]]]:
    for row in range(rows):
        yield _parts([(path, _as_leaf(leaf[row], path)) for path, leaf in columns])


def row_digests(columns: Sequence[NDArray[np.uint8]], rows: int, seed: int) -> NDArray[np.uint64]:
    """Digest the rows of leaves, each of shape (rows, bytes of a row), sorted by their paths."""
    found: Iterator[int]
    if len(columns) > 1 and sum(column.shape[1] for column in columns) > _JOINED_ROW:
        state = xxhash.xxh3_64(seed=seed)  # once, for it takes longer than a row
        # A row's calls in turn, without a line of Python for each: that would cost as much again.
        begins = itertools.starmap(state.reset, itertools.repeat(()))
        updates = [map(state.update, column) for column in columns]
        ends = itertools.starmap(state.intdigest, itertools.repeat(()))
        found = map(_last, zip(begins, *updates, ends))  # noqa: B905 - two have no end
    else:
        joined = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
        found = map(xxhash.xxh3_64_intdigest, joined, itertools.repeat(seed))
    return np.fromiter(found, np.uint64, rows)


def _hash(pieces: Iterable[Any], seed: int) -> int:
    state = xxhash.xxh3_64(seed=seed)
    for piece in pieces:
        state.update(piece)
    return state.intdigest()


def _parts(leaves: Sequence[tuple[Path, Value]]) -> tuple[Schema, list[Any]]:
    schema = tuple([(path, *_form(leaf)) for path, leaf in leaves])
    return schema, [_leaf_bytes(leaf) for _, leaf in leaves]


def _form(leaf: Value) -> tuple[str, tuple[int, ...]]:
    if isinstance(leaf, str):
        return "text", ()
    if isinstance(leaf, bytes):
        return "bytes", ()
    return _type_name(leaf.dtype), leaf.shape


def _digest(schema: Schema, pieces: Sequence[Any]) -> int:
    return _hash(pieces, schema_seed(schema))


@functools.lru_cache(256)
def schema_seed(schema: Schema) -> int:
    """Return what seeds the digests of samples with these leaves, sorted by their paths."""
    return xxhash.xxh3_64_intdigest(msgspec.json.encode(schema))


@functools.lru_cache(256)
def _type_name(dtype: np.dtype[Any]) -> str:
    match dtype.kind:
        case "U":
            return "text"
        case "S":
            return "bytes"
        case "V":
            # Types from other packages, such as bfloat16, share a code but not a name.
            return dtype.name
    return _little_endian(dtype.str)


def _little_endian(code: str) -> str:
    return code.replace(">", "<")


def as_bytes(leaf: NDArray[Any], rows: int) -> NDArray[np.uint8]:
    """Return a leaf as the bytes of its rows, shape (rows, bytes of a row)."""
    return _flat_bytes(leaf).reshape(rows, -1) if leaf.size else np.empty((rows, 0), np.uint8)


def _flat_bytes(leaf: NDArray[Any]) -> NDArray[np.uint8]:
    if not leaf.dtype.isnative:
        leaf = leaf.astype(leaf.dtype.newbyteorder("<"))
    return np.ascontiguousarray(leaf).reshape(-1).view(np.uint8)


def _leaf_bytes(leaf: Value) -> Any:
    if isinstance(leaf, str | bytes):
        return _prefixed(leaf)
    if leaf.dtype.kind in "US":
        return b"".join(map(_prefixed, leaf.ravel().tolist()))
    return _flat_bytes(leaf)


def _prefixed(text: str | bytes) -> bytes:
    # File names that are no UTF-8 come as lone surrogates.
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "little") + data


def _collect_leaves(tree: object, path: Path, found: list[tuple[Path, Value]]) -> None:
    children = _children(tree, path)
    if children is None:
        found.append((path, _as_leaf(tree, path)))
        return
    for child_path, child in children:
        _collect_leaves(child, child_path, found)


def _collect_columns(tree: object, path: Path, found: list[tuple[Path, Column]]) -> None:
    """Walk a batch; a list of plain values is a column, not a node of the tree."""
    if isinstance(tree, list | tuple) and tree and all(isinstance(item, _PLAIN) for item in tree):
        # Not as an array: it would make equal types of different ones, and cut zeros off text.
        found.append((path, tree))
        return
    children = _children(tree, path)
    if children is None:
        found.append((path, _as_array(tree, path)))
        return
    for child_path, child in children:
        _collect_columns(child, child_path, found)


def _row_count(columns: Sequence[tuple[Path, Column]]) -> int:
    found = {_length(leaf): ".".join(map(str, path)) or "it" for path, leaf in columns}
    if len(found) == 1 and None not in found:
        return len(columns[0][1])
    told = " and ".join(f"{name} has {rows or 'no'} rows" for rows, name in found.items())
    message = (
        f"a batch in which {told or 'there is nothing'} does not show its rows: give each leaf "
        "one value for each row, or record it as one, with batched=False"
    )
    raise UndigestibleError(message)


def _length(leaf: Column) -> int | None:
    return None if isinstance(leaf, np.ndarray) and not leaf.ndim else len(leaf)


def _children(tree: object, path: Path) -> list[tuple[Path, object]] | None:
    if isinstance(tree, (np.ndarray, np.void)):
        # Between the fields of an aligned array lie bytes that nobody sets.
        names = tree.dtype.names
        return None if names is None else [((*path, name), tree[name]) for name in names]
    if isinstance(tree, _PLAIN):
        return None
    if isinstance(tree, (dict, Mapping)):  # dict first: to ask whether it is a Mapping takes long
        return [((*path, str(key)), child) for key, child in tree.items()]
    if isinstance(tree, list | tuple):
        return [((*path, place), child) for place, child in enumerate(tree)]
    return None


def _as_leaf(leaf: object, path: Path) -> Value:
    # As arrays, text and bytes would lose the zeros that they end with.
    return leaf if isinstance(leaf, str | bytes) else _as_array(leaf, path)


def _as_array(leaf: object, path: Path) -> NDArray[Any]:
    if leaf is None:
        return np.empty(0, "V1")
    if isinstance(leaf, np.ma.MaskedArray):
        raise UndigestibleError("a masked array has values that are none: fill them, filled(0)")
    try:
        array = np.asarray(cast("Any", leaf))
    except (TypeError, ValueError, RuntimeError) as error:
        raise UndigestibleError(_why_no_array(leaf, path, error)) from error
    # A long double's last bytes are set by nobody.
    if array.dtype.hasobject or array.dtype.char in "gG":
        raise UndigestibleError(f"{_named(leaf, path)} ({array.dtype}) has no bytes of its own")
    return array


def _why_no_array(leaf: object, path: Path, error: Exception) -> str:
    """Say what keeps an object from being an array: what it says itself, if it means to be one."""
    is_meant = hasattr(leaf, "__array__")
    why = str(error) if is_meant else "let the data set give what it holds as a dict or a tuple"
    return f"{_named(leaf, path)} is no array: {why}"


def _named(leaf: object, path: Path) -> str:
    where = f"the leaf {'.'.join(map(str, path))!r}" if path else "a sample"
    return f"{where} of type {type(leaf).__name__}"
