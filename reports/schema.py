"""The JSON Schema of a result: `python -m detloader.reports.schema > docs/result.schema.json`."""

from __future__ import annotations

import sys

import msgspec

from detloader.findings import SCHEMA_VERSION, Result

__all__ = ["schema_text"]


def schema_text() -> str:
    """Return the schema as it is published."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A result of detloader, schema_version {SCHEMA_VERSION}",
        **msgspec.json.schema(Result),
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
