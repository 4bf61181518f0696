"""Sealed rows: Parquet files with one row group for each digest block.

Encodings are chosen for size. Record IDs of a shuffled run have no repeats for a
dictionary to find; their bytes, split by significance, do compress. Counters compress
as differences. Digests are noise and are stored as they are.

The first reading proves a part's SHA-256, so that a bit that flipped is an error and no other
value. Pages carry checksums, too, for other readers of Parquet.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from detloader.errors import DamageError
from detloader.manifest.schema import BLOCK_ROWS
from detloader.manifest.unpacking import MOST_BYTES, check_unpacking

if TYPE_CHECKING:
    from detloader.manifest.folders import Folder
    from detloader.manifest.schema import FileEntry

__all__ = ["part_bytes", "read_part"]


def part_bytes(rows: pa.Table) -> bytes:
    """Return a Parquet file of these rows."""
    rows = rows.replace_schema_metadata(
        {b"pandas": msgspec.json.encode(_pandas_types(rows.schema))}
    )
    sink = pa.BufferOutputStream()
    encodings = {field.name: found for field in rows.schema if (found := _encoding(field))}
    plain = [name for name in rows.schema.names if name not in encodings]
    pq.write_table(
        rows,
        sink,
        row_group_size=BLOCK_ROWS,
        # The stubs know the boolean form alone.
        use_dictionary=plain,  # type: ignore[arg-type]
        column_encoding=encodings,
        compression="zstd",
        write_statistics=False,
        write_page_checksum=True,
    )
    return sink.getvalue().to_pybytes()


def read_part(
    folder: Folder,
    file: FileEntry,
    columns: Sequence[str] | None = None,
    rows: range | None = None,
) -> pa.Table:
    """Read a sealed part: all columns or some, all rows or some; no block without any of them.

    Raises:
        DamageError: it is not what its header says, or cannot be read.
    """
    path = f"{folder}/{file.path}"
    proved = file.path in folder.proved
    try:
        data = b"" if proved else _proved_bytes(folder, file)
        source = folder.file(file.path) if proved else pa.BufferReader(data)
        with pq.ParquetFile(source, page_checksum_verification=True) as part:
            if not proved:
                check_unpacking(part, data, file.rows)
            found = _read_groups(part, None if columns is None else list(columns), rows)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        message = f"{path} is damaged: {' '.join(str(error).split())}; restore it from a copy"
        raise DamageError(message) from error
    folder.proved.add(file.path)
    return found.replace_schema_metadata()


def _proved_bytes(folder: Folder, file: FileEntry) -> bytes:
    data = folder.read(file.path, MOST_BYTES)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        message = (
            f"{folder}/{file.path} is damaged: its SHA-256 does not fit; restore it from a copy"
        )
        raise DamageError(message)
    return data


def _read_groups(part: pq.ParquetFile, columns: list[str] | None, rows: range | None) -> pa.Table:
    threads = columns is None or len(columns) > 1
    if rows is None:
        return part.read(columns, use_threads=threads)
    metadata = part.metadata
    counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    ends = list(accumulate(counts))
    first, last = bisect_right(ends, rows.start), bisect_left(ends, rows.stop)
    found = part.read_row_groups([*range(first, last + 1)], columns, use_threads=threads)
    return found.slice(rows.start - (ends[first] - counts[first]), len(rows))


def _pandas_types(schema: pa.Schema) -> dict[str, list[dict[str, str | None]]]:
    """Tell pandas to read digests into UInt64: by itself it turns nulls into floats."""
    columns = [
        {
            "name": field.name,
            "field_name": field.name,
            "pandas_type": "uint64",
            "numpy_type": "UInt64",
            "metadata": None,
        }
        for field in schema
        if field.type == pa.uint64()
    ]
    return {"index_columns": [], "column_indexes": [], "columns": columns}


def _encoding(field: pa.Field[Any]) -> str | None:
    if field.name == "record" and pa.types.is_integer(field.type):
        return "BYTE_STREAM_SPLIT"
    if field.type == pa.int64():
        return "DELTA_BINARY_PACKED"
    if field.type == pa.uint64():
        return "PLAIN"
    return None
