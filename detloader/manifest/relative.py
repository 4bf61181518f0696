r"""Record IDs that are paths, told relative to a root that each machine has elsewhere.

Below the root `/data/imagenet`, the ID `/data/imagenet/train/1.png` becomes `train/1.png`;
`D:\imagenet\train\1.png` does below `D:\imagenet`. Every other ID stays as it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import compute

from detloader.errors import UsageError

__all__ = ["RECORD_IDS", "IdRoot"]

RECORD_IDS = ("record", "asked")
"""Columns of record IDs."""

_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_UPWARDS = r"(?:^|/)\.\.(?:/|$)"


class IdRoot:
    """A folder, and the names that it goes by.

    An ID may name the root as the user did, by its absolute path, or by the one that is left
    when links are followed.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        """Take the folder; it need not be there, for a log may come from another machine.

        Raises:
            UsageError: that is no folder's name.
        """
        try:
            name: object = os.fspath(root)
        except TypeError as error:
            raise UsageError(f"id_root names a folder, not {root!r}") from error
        if not isinstance(name, str) or not name.strip() or "\0" in name:
            raise UsageError(f"id_root names a folder, not {root!r}")
        if Path(name).is_file():
            raise UsageError(f"id_root {name} is a file: name the folder that IDs lie below")
        self._name = name
        self._windows = bool(_WINDOWS.match(name))
        self._separator = r"[\\/]+" if self._windows else "/(?:[.]?/)*"
        names = {name} if self._windows or "://" in name else _names_of(name)
        forms = "|".join(map(self._form, sorted(names, key=len, reverse=True)))
        flags = "(?is)" if self._windows else "(?s)"
        self._pattern = rf"{flags}^(?:\.{self._separator})?(?:{forms}){self._separator}([^\\/])"
        try:
            self._pattern.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"id_root {name!r} is no UTF-8: no ID lies below it") from error
        self._below, self._between = re.compile(self._pattern), re.compile(self._separator)

    def __str__(self) -> str:
        return self._name

    def tell(self, name: str) -> str:
        """Return one ID as `relative` does, which takes a hundred times as long for one."""
        below = self._below.match(name)
        if below is None:
            return name
        rest = self._between.sub("/", name[below.start(1) :])
        return name if ".." in rest.split("/") else rest

    def relative(self, ids: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
        """Return text IDs, those below the root relative to it, with slashes."""
        below = compute.match_substring_regex(ids, self._pattern)
        rest = compute.replace_substring_regex(ids, self._pattern, r"\1")
        rest = compute.replace_substring_regex(rest, self._separator, "/")
        inside = compute.invert(compute.match_substring_regex(rest, _UPWARDS))
        told: pa.ChunkedArray[Any] = compute.if_else(compute.and_(below, inside), rest, ids)
        return told

    def apply(self, rows: pa.Table) -> pa.Table:
        """Return rows with relative record IDs."""
        for name in RECORD_IDS:
            place = rows.schema.get_field_index(name)
            if place >= 0 and pa.types.is_string(rows.schema.field(place).type):
                rows = rows.set_column(place, name, self.relative(rows.column(place)))
        return rows

    def _form(self, name: str) -> str:
        # The root of all is one empty part.
        parts = re.split(self._separator, name.rstrip("\\/" if self._windows else "/"))
        return self._separator.join(map(re.escape, parts))


def _names_of(folder: str) -> set[str]:
    return {
        os.path.normpath(folder),
        os.path.abspath(folder),  # noqa: PTH100 - `resolve` follows links
        os.path.realpath(folder),
    }
