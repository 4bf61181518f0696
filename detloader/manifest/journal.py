"""Rows that no sealed part holds yet: an append-only Arrow IPC stream.

Each batch reaches the operating system before `append` returns, so a killed process
loses none of them. The stream's schema says at which row of the rank it begins, and which
parts before it no header lists: a process that dies between sealing a part and starting the
next journal leaves rows in both, and the reader then takes each once.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from detloader.errors import RunError
from detloader.manifest.digests import column_type
from detloader.manifest.flatbuffers import is_compressed
from detloader.manifest.layout import sync
from detloader.manifest.unlisted import Unlisted, decode_unlisted, encode_unlisted

__all__ = ["Journal", "Journaled", "read_journal"]

_FIRST_ROW = b"first_row"


class Journal:
    """The journal of a rank that is being recorded.

    It is open only while rows are added: a process may record as many loaders as it has.
    """

    def __init__(
        self, path: Path, schema: pa.Schema, first_row: int, unlisted: Unlisted | None = None
    ) -> None:
        """Replace the journal at `path` by an empty one that begins at `first_row`.

        The parts that it lists are listed even after a power cut.
        """
        carried = {} if unlisted is None else encode_unlisted(unlisted)
        marked = schema.with_metadata({_FIRST_ROW: str(first_row).encode(), **carried})
        beginning = path.with_name(f"{path.name}.tmp")
        self._path = path
        self._whole = True
        try:
            beginning.write_bytes(marked.serialize())
            if unlisted is not None:
                sync(beginning)
            beginning.replace(path)
            if unlisted is not None:
                sync(path.parent)
        except BaseException:
            beginning.unlink(missing_ok=True)
            raise

    def append(self, rows: pa.Table) -> None:
        """Hand rows to the operating system; after a failure no more are taken.

        What stood behind a torn batch could not be read. Its room is given back: on a full
        disk the header may need it to say what was lost.

        Raises:
            OSError: they could not be written.
            RunError: rows before them could not.
        """
        if not self._whole:
            message = f"{self._path} is torn where it could not be written: choose another folder"
            raise RunError(message)
        # It has to be there: a journal that was removed is not begun amid its rows.
        with self._path.open("r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            try:
                for batch in rows.to_batches():
                    rest = memoryview(batch.serialize())
                    while rest:
                        rest = rest[file.write(rest) :]
            except BaseException:
                self._whole = False
                with contextlib.suppress(OSError):
                    file.truncate(size)
                raise


class Journaled(NamedTuple):
    """What a journal has.

    Attributes:
        first_row: row of the rank at which it begins.
        rows: its whole batches.
        unlisted: the parts before it that no header lists.
    """

    first_row: int
    rows: pa.Table
    unlisted: Unlisted | None


def read_journal(data: bytes, where: str = "a journal") -> Journaled | None:
    """Return what a journal has, even a torn one; None where it was torn before its schema.

    Raises:
        DamageError: its list of parts is not what was written.
    """
    messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(data))
    try:
        marked = pa.ipc.read_schema(messages.read_next_message())
        schema = marked.remove_metadata()
        carried = marked.metadata or {}
        first_row = int(carried[_FIRST_ROW])
        _ = schema.names  # which names that are no text would fail at
    except (pa.ArrowException, OSError, KeyError, ValueError, StopIteration):
        return None
    if any(column_type(field.type) is None for field in schema):
        return None
    rows = pa.Table.from_batches(_whole_batches(messages, schema), schema)
    return Journaled(first_row, rows, decode_unlisted(carried, where))


def _whole_batches(messages: pa.MessageReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while True:
        try:
            message = messages.read_next_message()
            if is_compressed(message.metadata):
                return  # which no recorder writes, and which may unpack to any size
            batch = pa.ipc.read_record_batch(message, schema)
            batch.validate(full=True)
        except (StopIteration, pa.ArrowException, OSError, ValueError):
            # The end, or the tail that was being written when the process died.
            return
        yield batch
