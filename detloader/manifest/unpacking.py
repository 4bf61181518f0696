"""How much a part would unpack to, asked before it is unpacked.

A few bytes may unpack to gigabytes, whatever a file's footer says. So a part, which may come
from anybody, is looked through first: it is laid out as a writer lays it out, and what its
pages claim, and what its text comes to, is no more than a writer would have put there.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from detloader.manifest.arrays import to_numpy
from detloader.manifest.digests import column_type
from detloader.manifest.schema import BLOCK_ROWS
from detloader.manifest.thrift import Struct, read_struct

__all__ = ["MOST_BYTES", "check_unpacking"]

MOST_BYTES = 2**30
"""Bytes of a part, packed or not; a reader takes no more into memory at once."""

_MOST_COLUMNS = 1000
_MOST_PAGES = 100_000
_MOST_FOOTER = 2**24

# Numbers of the fields of Parquet's footer: of the file, of its row groups, of their columns.
_GROUPS = 4
_COLUMNS, _ROWS = 1, 3
_COLUMN = 3
_SIZE, _DATA, _DICTIONARY = 7, 9, 11
# The same of a page's header, and of the part of it that tells how its values are encoded.
_UNPACKED, _PACKED = 2, 3
_ENCODINGS = {5: 2, 8: 4}
_PLAIN, _BY_DICTIONARY = {0}, {2, 8}

# Bytes of the text of a column's block, which may be by a dictionary.
_TextMeasure: TypeAlias = Callable[[pq.ParquetFile, int, str], int]


def check_unpacking(part: pq.ParquetFile, data: bytes, rows: int) -> None:
    """Look through a part before a value of it is read.

    Args:
        part: the part, opened.
        data: its bytes.
        rows: rows that it should have.

    Raises:
        ValueError: no writer wrote this; the message says what is wrong.
        KeyError: its footer, or the header of a page, lacks a field.
    """
    if len(part.schema_arrow) > _MOST_COLUMNS:
        raise ValueError(f"it has {len(part.schema_arrow):,} columns")
    for field in part.schema_arrow:
        if column_type(field.type) is None:
            raise ValueError(f"its column {field.name!r} is {field.type}")
    groups = _read_footer(data).lists[_GROUPS]
    blocks = [min(BLOCK_ROWS, rows - start) for start in range(0, rows, BLOCK_ROWS)]
    if [group.integers[_ROWS] for group in groups] != blocks:
        raise ValueError(f"its row groups are not the blocks of {rows} rows")
    for measure in (_most_text, _text):
        if _fits(_claims(groups, part.schema_arrow, data, measure)):
            return
    raise ValueError(f"it would unpack to more than {MOST_BYTES:,} bytes")


def _read_footer(data: bytes) -> Struct:
    # By ourselves: Arrow's view of a column ends the process where the footer contradicts itself.
    size = int.from_bytes(data[-8:-4], "little")
    if size > _MOST_FOOTER:
        raise ValueError(f"its footer has {size:,} bytes")
    return read_struct(io.BytesIO(data[-8 - size : -8]))


def _fits(claims: Iterator[int]) -> bool:
    total = 0
    for pages, claim in enumerate(claims):
        total += claim
        if claim < 0 or pages > _MOST_PAGES or total > MOST_BYTES:
            return False
    return True


def _claims(
    groups: list[Struct], schema: pa.Schema, data: bytes, measure: _TextMeasure
) -> Iterator[int]:
    """Yield what each page would unpack to, and what the text of each block would come to."""
    for number, group in enumerate(groups):
        for field, column in zip(schema, group.lists[_COLUMNS], strict=True):
            headers = _page_headers(column.structs[_COLUMN].integers, data)
            if field.type != pa.string():
                yield from (header.integers[_UNPACKED] for header in headers)
                continue
            encodings = []
            for header in headers:
                encodings += _encoding(header)
                yield header.integers[_UNPACKED]
            if _are_by_dictionary(encodings):
                with pq.ParquetFile(pa.BufferReader(data), read_dictionary=[field.name]) as part:
                    yield measure(part, number, field.name)


def _page_headers(column: Mapping[int, int], data: bytes) -> Iterator[Struct]:
    first = min(column[_DATA], column.get(_DICTIONARY) or column[_DATA])
    if first < 0 or column[_SIZE] < 0:
        raise ValueError("a column lies before the beginning")
    pages = memoryview(data)[first : first + column[_SIZE]]
    stream = io.BytesIO(pages)
    while stream.tell() < len(pages):
        header = read_struct(stream)
        yield header
        stream.seek(header.integers[_PACKED], io.SEEK_CUR)


def _encoding(header: Struct) -> list[int]:
    """Return how a page of values is encoded; of a page of a dictionary, nothing."""
    parts = header.structs
    return [parts[part].integers[field] for part, field in _ENCODINGS.items() if part in parts]


def _are_by_dictionary(encodings: list[int]) -> bool:
    """Tell whether pages of text refer to a dictionary; a writer gives it up once or never.

    In other encodings a text may repeat the beginning of the one before it.
    """
    plain = [encoding in _PLAIN for encoding in encodings]
    if not {*encodings} <= _PLAIN | _BY_DICTIONARY or plain != sorted(plain):
        raise ValueError(f"its text has encodings {encodings}")
    return not all(plain)


def _most_text(part: pq.ParquetFile, group: int, name: str) -> int:
    """Return what a block's text is at most, if all of it were the dictionary's longest."""
    for batch in part.iter_batches(batch_size=1, row_groups=[group], columns=[name]):
        first: Any = batch.column(0)
        return BLOCK_ROWS * int(_numbers(pc.binary_length(first.dictionary)).max(initial=0))
    raise ValueError("a block of text has no rows")


def _text(part: pq.ParquetFile, group: int, name: str) -> int:
    """Return what a block's text comes to; its dictionary is not repeated to find it."""
    chunks: list[Any] = part.read_row_group(group, [name])[name].chunks
    return sum(_length(each.dictionary, each.indices) for each in chunks)


def _length(texts: Any, places: Any) -> int:
    lengths: Any = pc.binary_length(texts)
    return int(_numbers(lengths.take(places)).sum(dtype="int64"))


def _numbers(array: pa.Array[Any]) -> Any:
    return to_numpy(array)[0]
