"""What is declared of a run: what its loader says, and above it what its user says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["overlaid"]


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
