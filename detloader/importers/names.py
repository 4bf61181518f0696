"""The names that a log's columns have in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from detloader.errors import LogError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["rename_columns"]


def rename_columns(log: Path, raw: pa.Table, columns: Mapping[str, str]) -> pa.Table:
    """Return the log's columns under the names of the run.

    Args:
        log: the file, for messages.
        raw: its columns, as they are named there.
        columns: from the run's name to the log's, where they are not the same.

    Raises:
        LogError: if a column is missing, nameless, or there more than once, or if its
            name begins or ends with white space.
    """
    found = raw.column_names
    _refuse_blanks(log, [name for name in found if name not in columns.values()])
    for name, source in columns.items():
        if source not in found:
            raise LogError(f"{log} has no column {source!r} to read as {name}: {_has(found)}")
    in_run = {source: name for name, source in columns.items()}
    names = [in_run.get(name, name) for name in found]
    _refuse_unusable(log, names)
    if "record" not in names:
        raise LogError(
            f"{log} has no column record, the IDs of what was delivered: {_has(found)}; "
            "say which it is with --column record=NAME"
        )
    fields = [field.with_name(name) for field, name in zip(raw.schema, names, strict=True)]
    return pa.table(raw.columns, schema=pa.schema(fields))


def _refuse_blanks(log: Path, names: Sequence[str]) -> None:
    """A blank that nobody sees would make `batch` a column that no rule knows."""
    for name in names:
        if name != name.strip():
            raise LogError(
                f"{log}: the name of column {name!r} begins or ends with white space: remove it, "
                f"or give the column a name with --column {name.strip() or 'NAME'}={name!r}"
            )


def _refuse_unusable(log: Path, names: Sequence[str]) -> None:
    for place, name in enumerate(names, start=1):
        if not name:
            raise LogError(f"{log}: column {place} has no name: give it one, or remove it")
        if names.count(name) > 1:
            raise LogError(f"{log} has more than one column {name}: rename or remove one")
    if "position" in names:
        raise LogError(
            f"{log} has a column position, which in a run is the place that the order of rows "
            "gives: call it something else with --column NAME=position"
        )


def _has(found: Sequence[str]) -> str:
    return f"it has {', '.join(found)}"
