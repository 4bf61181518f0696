"""Which arguments two runs were made with otherwise, in a sentence.

What rules blame is a guess as long as an argument differs that no rule knows: a person must
see that argument first.
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.measures.conditions import (
    config_differences,
    declared_differences,
    topology_differences,
)
from detloader.findings import Severity, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.findings import Finding, JsonValue, StreamResult
    from detloader.manifest.reader import Stream

__all__ = ["with_arguments"]

DIFFERENT = frozenset({Verdict.REGROUPED, Verdict.REORDERED, Verdict.CHANGED})

NAMED = 8
"""Arguments that a sentence names."""

LONGEST = 40
"""Characters of a value that a sentence shows."""

BEFORE = 20
"""Characters that are shown before the first one in which two long values differ."""


def with_arguments(result: StreamResult, a: Stream, b: Stream) -> StreamResult:
    """Add to the reason of a difference which arguments differ that no finding names."""
    if result.verdict not in DIFFERENT:
        return result
    loud = [finding for finding in result.findings if finding.severity is not Severity.NOTE]
    differing = {**declared_differences(a, b), **config_differences(a, b)}
    if loud:
        differing.pop("loader", None)  # a run by another loader, whose faults are named
    else:
        differing |= topology_differences(a, b)
        differing.pop("world_size", None)  # which ranks there are is seen anyway
    differing.pop("num_epochs", None)  # which epochs are in one run alone is said anyway
    told = {
        name: values
        for name, values in differing.items()
        if not any(_names(finding, name, values) for finding in loud)
    }
    if not told:
        return result
    before = result.reason or (None if loud else _unexplained(result))
    return msgspec.structs.replace(result, reason="; ".join(filter(None, [before, _tell(told)])))


def _unexplained(result: StreamResult) -> str:
    return "no rule finds a fault" if result.findings else "no rule names a cause"


def _names(finding: Finding, name: str, values: JsonValue) -> bool:
    """Tell whether the evidence of a finding shows both values of an argument."""
    config = finding.evidence.get("config")
    shown = finding.evidence | (config if isinstance(config, dict) else {})
    return shown.get(name) == values


def _tell(differing: dict[str, JsonValue]) -> str:
    shown = [f"{name} ({_both(values)})" for name, values in islice(differing.items(), NAMED)]
    more = [f"and {len(differing) - NAMED:,} more"] if len(differing) > NAMED else []
    return f"arguments that differ: {', '.join([*shown, *more])}"


def _both(values: JsonValue) -> str:
    if not isinstance(values, list):
        return _cut(_text(values), 0)
    entries = [_entries(value) for value in values]
    if all(len(each) > 1 for each in entries) and max(map(len, map(_text, values))) > LONGEST:
        return _first_other(*entries)
    shown = [*map(_text, values)]
    start = max(0, _alike(shown) - BEFORE) if max(map(len, shown)) > LONGEST else 0
    return " and ".join(_cut(value, start) for value in shown)


def _entries(value: JsonValue) -> dict[str, JsonValue]:
    if isinstance(value, list):
        return {str(place): entry for place, entry in enumerate(value)}
    return value if isinstance(value, dict) else {}


def _first_other(left: dict[str, JsonValue], right: dict[str, JsonValue]) -> str:
    """Show the first entry that differs, of lists or mappings that may have millions."""
    count = " and ".join(f"{count:,}" for count in dict.fromkeys(map(len, (left, right))))
    other = (name for name in left | right if left.get(name) != right.get(name))
    name = next(other)
    return f"{count} entries; {name}: {_both([left.get(name), right.get(name)])}"


def _alike(shown: Sequence[str]) -> int:
    """Count the first characters that all have in common."""
    pairs = zip(*shown, strict=False)
    return sum(1 for _ in takewhile(lambda pair: len({*pair}) == 1, pairs))


def _text(value: JsonValue) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _cut(shown: str, start: int) -> str:
    """Take so much of a value as a sentence shows, from where two begin to differ."""
    rest = f"…{shown[start:]}" if start else shown
    return rest if len(rest) <= LONGEST else f"{rest[: LONGEST - 1]}…"
