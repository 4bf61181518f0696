"""What two runs declared otherwise, and what they ran on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.picture import Scene, Sketch, brief

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.findings import JsonValue
    from detloader.manifest.reader import Stream

__all__ = ["PLACE", "TITLE", "sketch"]

TITLE = "Declaration and environment"
PLACE = 80

FIELDS = 100
"""Fields that are listed at most."""

NAMED = 3
"""Fields that the sentence names."""


def sketch(scene: Scene) -> Sketch | None:
    """List the fields in which the headers of two runs differ."""
    if scene.b is None:
        return None
    a, b = (dict(_fields(view.stream)) for view in (scene.a, scene.b))
    known = [*dict.fromkeys([*a, *b])]
    other = [name for name in known if a.get(name) != b.get(name)]
    return Sketch(
        sentence=_sentence(other, len(known)),
        columns=["field", *scene.views],
        rows=[[*map(brief, (name, a.get(name), b.get(name)))] for name in other[:FIELDS]],
    )


def _fields(stream: Stream) -> Iterator[tuple[str, str]]:
    """Give what the header says, field by field, each value as text."""
    yield "level", str(stream.level)
    parts = {"": stream.declared, "environment.": stream.environment, "recipe.": stream.recipe}
    for prefix, part in parts.items():
        if part is not None:
            yield from _flat(msgspec.to_builtins(part), prefix)


def _flat(values: dict[str, JsonValue], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, dict) and value and name != "weights":
            yield from _flat(value, f"{prefix}{name}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield prefix + name, text


def _sentence(other: list[str], known: int) -> str:
    if not other:
        return f"All {known:,} fields of declaration and environment agree."
    more = f" and {len(other) - NAMED:,} more" if len(other) > NAMED else ""
    verb = "differs" if len(other) == 1 else "differ"
    named = ", ".join(str(brief(name)) for name in other[:NAMED])
    return f"{len(other):,} of {known:,} fields {verb}: {named}{more}."
