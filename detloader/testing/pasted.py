"""A failing case as a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detloader.testing.factory import Factory, module_of

__all__ = ["pasted"]


def pasted(factory: Factory, axes: Mapping[str, list[Any]], module: str | None) -> str:
    """Return a test that makes one assertion of invariance.

    Args:
        factory: makes the loader.
        axes: what is varied.
        module: name of the module that the test will stand in; what it defines is not imported.
    """
    said: dict[str, Any] = {"over": dict(axes), **factory.fixed}
    if factory.given:
        said["arguments"] = dict(factory.given)
    said |= factory.recording
    name = factory.name
    lines = [
        *_imported(factory, module),
        f"def test_{_word(name)}_is_the_same_with_other_{'_and_'.join(axes)}(detloader):",
        "    detloader.assert_invariant(",
        f"        {name},",
        *(f"        {key}={_literal(value)}," for key, value in said.items()),
        "    )",
    ]
    return "\n".join(f"    {line}".rstrip() for line in lines)


def _imported(factory: Factory, module: str | None) -> list[str]:
    home = module_of(factory.function)
    if home is None:
        return [f"# Where {factory.name} is made:"]
    if home.__name__ == module:
        return []
    return [f"from {home.__name__} import {factory.name.partition('.')[0]}", "", ""]


def _word(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name).strip("_")


def _literal(value: Any) -> str:
    """Spell a value as a program does, with the quotes that formatters choose."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, str) and '"' not in value and "'" not in value:
        return '"' + repr(value)[1:-1] + '"'
    return getattr(value, "__name__", None) or repr(value)
