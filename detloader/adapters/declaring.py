"""What is declared of a run: what its loader says, and above it what its user says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from detloader.adapters.weights import with_weights
from detloader.errors import UsageError
from detloader.manifest.canonical import check_json
from detloader.manifest.schema import Declared

__all__ = ["as_fields", "checked_fields", "overlaid", "settled"]


def as_fields(declared: object) -> Mapping[str, Any]:
    """Return what the user declared, which may be nothing.

    Raises:
        UsageError: it is no mapping.
    """
    if declared is None:
        return {}
    if not isinstance(declared, Mapping):
        message = f'declared is a mapping of fields, such as {{"shuffle": True}}, not {declared!r}'
        raise UsageError(message)
    return declared


def checked_fields(declared: object) -> Mapping[str, Any]:
    """Return what the user declared, where it is told long before a run begins.

    Raises:
        UsageError: it is no mapping, a field is unknown or of the wrong type, or cannot be written
            as JSON.
    """
    fields = as_fields(declared)
    check_json(settled({}, fields))
    return fields


def settled(observed: Mapping[str, Any], said: Mapping[str, Any]) -> Declared:
    """Return what is declared, as a header holds it.

    Raises:
        UsageError: a declared field is unknown or of the wrong type.
    """
    try:
        return msgspec.convert(with_weights(overlaid(observed, said)), Declared)
    except msgspec.ValidationError as error:
        message = f"declared: {error}; known fields are {', '.join(Declared.__struct_fields__)}"
        raise UsageError(message) from error


def overlaid(observed: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return declared fields: those that were said, and of the others those that were observed.

    Entries of `config` stand above each other one by one; what either calls inert is.
    """
    fields = {**observed, **said}
    below, above = observed.get("config"), said.get("config")
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        inert = [*_inert(below), *_inert(above)]
        fields["config"] = {**below, **above, **({"inert": inert} if inert else {})}
    return fields


def _inert(config: Mapping[str, Any]) -> list[Any]:
    names = config.get("inert")
    return names if isinstance(names, list) else []
