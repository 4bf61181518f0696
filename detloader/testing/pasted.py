"""A failing case as a test."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from detloader.testing.factory import Factory, module_of

__all__ = ["pasted"]


def pasted(factory: Factory, axes: Mapping[str, list[Any]], module: str | None) -> str:
    """Return a test that makes one assertion of invariance, or its arguments where it cannot.

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
    arguments = [f"{key}={_literal(value)}," for key, value in said.items()]
    home = module_of(factory.function)
    foreign = next(_foreign(said), None)
    if home is None or foreign:
        why = f"a {foreign} has no literal" if foreign else f"{name} is made while the tests run"
        return _under(f"the smallest case found; it is no test to paste, for {why}:", arguments)
    lines = [
        *_imported(home, name, module),
        f"def test_{_word(name)}_is_the_same_with_other_{'_and_'.join(axes)}(detloader):",
        "    detloader.assert_invariant(",
        f"        {name},",
        *(f"        {argument}" for argument in arguments),
        "    )",
    ]
    return _under("the smallest case found, as a test:", lines)


def _under(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, "", *(f"    {line}".rstrip() for line in lines)])


def _imported(home: ModuleType, name: str, module: str | None) -> list[str]:
    if home.__name__ == module:
        return []
    return [f"from {home.__name__} import {name.partition('.')[0]}", "", ""]


def _foreign(value: Any) -> Iterator[str]:
    """Yield the types of what cannot be spelt without an import."""
    if type(value) is dict:
        value = [*value, *value.values()]
    if type(value) in {list, tuple}:
        for each in value:
            yield from _foreign(each)
        return
    is_number = type(value) is float and math.isfinite(value)
    is_builtin = getattr(builtins, getattr(value, "__name__", ""), None) is value
    if not (value is None or type(value) in {bool, int, str} or is_number or is_builtin):
        yield type(value).__name__


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
