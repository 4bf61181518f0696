"""What came of a replay's conditions, in sentences and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from detloader.findings import AxisOutcome, Severity, Verdict
from detloader.reports.evidence import labelled
from detloader.reports.plain import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from detloader.findings import AxisResult, JsonValue, Result

__all__ = ["axes_lines", "replay_meaning"]

_LABELS = {
    AxisOutcome.HOLDS: "holds under",
    AxisOutcome.DIED: "died",
    AxisOutcome.NOT_RUN: "not run",
}


def replay_meaning(result: Result) -> str:
    """Say which conditions break a run, or that none does."""
    path = result.runs[0].path
    if result.verdict is Verdict.INCONCLUSIVE:
        return result.reason or "nothing could be compared"
    if result.reason and not result.axes:
        return f"{path}: {result.reason}"
    broken = [one for one in result.axes if one.outcome is AxisOutcome.BROKEN]
    if broken:
        return " and ".join(_broken(broken, path))
    if any(one.severity is not Severity.NOTE for one in result.findings):
        return f"{path} is not what its recipe gives now"
    if not result.axes:
        return f"{path} repeats itself; no other condition was tried"
    return f"{path} holds under {plural(len(result.axes), 'other condition')}"


def axes_lines(result: Result) -> Iterator[str]:
    """Yield what came of the conditions that no finding speaks of."""
    if result.not_compared:
        yield labelled("not compared", ", ".join(result.not_compared))
    for outcome, label in _LABELS.items():
        these = [one for one in result.axes if one.outcome is outcome]
        if outcome is AxisOutcome.DIED:
            yield from (line for one in these for line in _died_lines(one, label))
        elif these:
            yield labelled(label, ", ".join(_gathered(these)))


def _broken(broken: Sequence[AxisResult], path: str) -> Iterator[str]:
    """Yield which axes change what they should not, and which do not what they should."""
    idle = [one for one in broken if one.asks == "other rows"]
    names = _names([one for one in broken if one not in idle])
    if names:
        verb = "breaks" if len(names) == 1 and "+" not in names[0] else "break"
        yield f"{_joined([name.replace('+', ' together with ') for name in names])} {verb} {path}"
    if idle:
        yield f"{_joined(_names(idle))} has no effect on {path}"


def _died_lines(one: AxisResult, label: str) -> Iterator[str]:
    yield labelled(label, f"{_setting(one.settings)}: {one.reason}")
    yield from (labelled("", f"| {line}") for line in one.last_lines)


def _gathered(these: Sequence[AxisResult]) -> list[str]:
    """Write the values of one axis side by side."""
    values: dict[str, list[str]] = {}
    together = []
    for one in these:
        if len(one.settings) > 1:
            together.append(_setting(one.settings))
            continue
        ((name, value),) = one.settings.items()
        values.setdefault(name, []).append(_spelled(value))
    return [f"{name}={','.join(listed)}" for name, listed in values.items()] + together


def _setting(settings: dict[str, JsonValue]) -> str:
    return " with ".join(f"{name}={_spelled(value)}" for name, value in settings.items())


def _spelled(value: JsonValue) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _names(these: Sequence[AxisResult]) -> list[str]:
    return [*dict.fromkeys("+".join(one.settings) for one in these)]


def _joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
