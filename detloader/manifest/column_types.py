"""Which columns a manifest holds, and under which types."""

from __future__ import annotations

import pyarrow as pa

from detloader.errors import UsageError
from detloader.manifest.digests import column_type
from detloader.manifest.schema import RESERVED, ColumnType, allowed_types

__all__ = ["column_types"]


def column_types(schema: pa.Schema) -> dict[str, ColumnType]:
    """Return the type of each column of some rows.

    Raises:
        UsageError: a column has another type than its name allows, a name of the reader's own,
            or the name of another one.
    """
    types: dict[str, ColumnType] = {}
    for field in schema:
        type_ = column_type(field.type)
        allowed = allowed_types(field.name)
        if type_ is None or type_ not in allowed:
            message = f"column {field.name!r} is {field.type}, not {' or '.join(allowed)}"
            raise UsageError(message)
        types[field.name] = type_
    if len(types) < len(schema.names):
        message = f"two columns have one name: {', '.join(schema.names)}"
        raise UsageError(message)
    if reserved := RESERVED & types.keys():
        message = f"column {min(reserved)!r} is the reader's own: give it another name"
        raise UsageError(message)
    return types
