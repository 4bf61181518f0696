"""Which axes are asked for, and which values of each: the words of `--vary`.

workers=0,1,2    this axis alone, with these values (and any other that is named so)
workers          this axis alone, with those it tries by itself
+seed            this one too, beside all that are offered (or are named); +seed=1,2 as well
-cwd             all but this one
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.axes import resume_at
from detloader.audits.replay.axis import Axis, all_axes, find_axis, in_order
from detloader.audits.rule import Stage
from detloader.errors import UsageError
from detloader.recipe import parse_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from detloader.audits.replay.job import Job
    from detloader.findings import JsonValue

__all__ = ["Variation", "variations", "wanted"]


@dataclass(frozen=True, slots=True)
class Variation:
    """One axis with one value."""

    axis: Axis
    value: JsonValue

    def __str__(self) -> str:
        return f"{self.axis.name}={spell(self.value)}"


def wanted(words: Iterable[str]) -> list[tuple[str, str, list[JsonValue]]]:
    """Read the words of `--vary`: sign, axis and values of each.

    Raises:
        UsageError: a word names no axis, or no values behind its "=".
    """
    return [_wanted(word) for word in words]


def variations(job: Job, words: Iterable[str]) -> list[Variation]:
    """Return what is to be tried, in causal order.

    Args:
        job: the unvaried job, with what was learnt of its factory.
        words: those of `--vary`.

    Raises:
        UsageError: an axis is named that the factory does not offer, or has no such value.
    """
    asked = wanted(words)
    named, added, left_out = (_gathered(asked, sign) for sign in ("", "+", "-"))
    by_default: dict[str, list[JsonValue]] = {}
    if not named:
        by_default = {axis.name: [] for axis in all_axes() if axis.by_default}
    chosen = {**by_default, **named, **added}
    found: list[Variation] = []
    for axis in in_order(map(find_axis, chosen)):
        if axis.name not in left_out:
            demanded = axis.name in named or axis.name in added
            found += _of(axis, job, chosen[axis.name], demanded=demanded)
    return found


def spell(value: JsonValue) -> str:
    """Return a value as `--vary` reads it.

    >>> spell(1), spell("C"), spell(True)
    ('1', 'C', 'true')
    """
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _wanted(word: str) -> tuple[str, str, list[JsonValue]]:
    sign = word[:1] if word[:1] in {"+", "-"} else ""
    name, separator, text = word.removeprefix(sign).partition("=")
    axis = find_axis(name)
    name = axis.name
    if not separator:
        return sign, name, []
    if not text or sign == "-":
        raise UsageError(f"--vary {word} makes no sense: write {name}=v1,v2, +{name} or -{name}")
    return sign, name, [*text.split(",")] if axis.text else _values(text)


def _gathered(
    asked: Iterable[tuple[str, str, list[JsonValue]]], wanted_sign: str
) -> dict[str, list[JsonValue]]:
    """Put together what several words say of one axis."""
    found: dict[str, list[JsonValue]] = {}
    for sign, name, values in asked:
        if sign == wanted_sign:
            found[name] = list(dict.fromkeys([*found.get(name, []), *values]))
    return found


def _values(text: str) -> list[JsonValue]:
    try:
        listed: list[JsonValue] = msgspec.json.decode(f"[{text}]", type=list)
    except msgspec.DecodeError:
        return [parse_value(part) for part in text.split(",")]
    return listed


def _of(axis: Axis, job: Job, values: list[JsonValue], *, demanded: bool) -> list[Variation]:
    tried = values or axis.values(job)
    if demanded and not tried:
        _explain(axis, job)
    current = axis.current(job)
    found = [Variation(axis, value) for value in tried if value != current or value is None]
    for variation in found:
        axis.vary(job, variation.value)  # refuses what makes no sense before anything is run
    return found


def _explain(axis: Axis, job: Job) -> None:
    """Refuse an axis that has nothing to try by itself.

    Raises:
        UsageError: always.
    """
    if axis.stage is Stage.RESUME and (why := resume_at.refused(job)):
        raise UsageError(why)
    takes = f"it takes {', '.join(job.learnt.parameters) or 'nothing'}" if job.learnt else ""
    mend = "leave it out" if axis.change is None else f"name values: {axis.name}=v1,v2"
    raise UsageError("; ".join(filter(None, [f"{job.factory} offers no {axis.name}", takes, mend])))
