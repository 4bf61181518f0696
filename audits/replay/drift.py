"""What has changed since a run was recorded: the factory's source, packages, the hash seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.audits.measures.conditions import version_differences
from detloader.audits.replay.control import ALIKE
from detloader.audits.replay.trial import only
from detloader.findings import Finding, Severity
from detloader.manifest.reader import open_run

if TYPE_CHECKING:
    from collections.abc import Collection

    from detloader.audits.replay.control import Control
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Run, Stream

__all__ = ["drift", "edited"]

RULE = "recipe"

_UNKNOWN = (
    "What the factory reads, or what it runs on, has changed; or it delivers something else now "
    "and then, and did so when it was recorded."
)


def drift(
    recorded: Run, control: Control, difference: str, broken: Collection[str] = ()
) -> list[Finding]:
    """Say that the recipe gives something else now than was recorded, or that it is another one.

    Args:
        recorded: the run that was replayed.
        control: its unvaried replay.
        difference: what differs between the two, in words.
        broken: axes that break the run.
    """
    if control.recorded is None or control.recorded.verdict in ALIKE:
        return edited(recorded, control)
    (stream,) = recorded.streams.values()
    causes = [
        _source_changed(stream, control),
        *_versions(stream, control),
        *_hash_seed(stream, broken),
    ]
    told = " ".join(filter(None, causes))
    evidence: dict[str, JsonValue] = {"verdict": control.recorded.verdict}
    return [
        Finding(
            rule=RULE,
            # What an axis explains is no fault of its own.
            severity=Severity.NOTE if _hash_seed(stream, broken) else Severity.FAIL,
            message="Run again unvaried, the recipe repeats itself, but not the recorded run: "
            f"{difference}.",
            cause=told or _UNKNOWN,
            evidence=evidence,
        )
    ]


def edited(recorded: Run, control: Control) -> list[Finding]:
    """Say that the factory's source was edited since, where that may change nothing."""
    (stream,) = recorded.streams.values()
    message = _source_changed(stream, control)
    if not message:
        return []
    cause = "It was edited since."
    return [Finding(rule=RULE, severity=Severity.NOTE, message=message, cause=cause)]


def _source_changed(stream: Stream, control: Control) -> str:
    before = stream.recipe.source_sha256 if stream.recipe else None
    now = control.job.learnt.source_sha256 if control.job.learnt else None
    if before is None or now is None or before == now:
        return ""
    return f"The source file of {control.job.factory} is not the one that was recorded."


def _versions(recorded: Stream, control: Control) -> list[str]:
    (now,) = only(open_run(control.run), recorded.name).streams.values()
    changed = version_differences(recorded, now)
    if not changed:
        return []
    told = ", ".join(
        f"{name} {values[0]} is now {values[1]}"
        for name, values in changed.items()
        if isinstance(values, list)
    )
    return [f"Versions differ: {told}."]


def _hash_seed(recorded: Stream, broken: Collection[str]) -> list[str]:
    fixed = (recorded.environment.env.get("PYTHONHASHSEED") or "").isdecimal()
    if fixed or not any("hash_seed" in name for name in broken):
        return []
    return ["It was recorded with a random hash seed; the replay has a fixed one."]
