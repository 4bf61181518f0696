"""Seeds that were given and seeds that were used, as runs declare them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from detloader.audits.measures.conditions import UNKNOWN, effective_seed

if TYPE_CHECKING:
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Stream

__all__ = [
    "Made",
    "Misuse",
    "Seeds",
    "first_given_otherwise",
    "first_made_otherwise",
    "have_other_seeds",
    "is_same_seed",
    "misuse_of",
]

DERIVED = "derived_seeds"
"""Entry of a configuration: pairs of a part of the loader, and the seed that was made for it."""

OF_TRANSFORMS = "transform_seeds"
"""Entry of a configuration: pairs of a transform that draws, and the seed that it was given."""

Made: TypeAlias = tuple[str, int]
"""A part of a loader, and the seed that was made for it, or given to it."""

WIDTHS = (31, 32, 53, 63, 64)
"""Bits that generators keep of a seed."""


@dataclass(frozen=True, slots=True)
class Misuse:
    """A seed that was given, and another one that was used.

    Attributes:
        kind: "zero", "fraction", "truncated", "out-of-range" or "ignored".
        given: the one, in its own type.
        used: the other.
    """

    kind: str
    given: Any
    used: Any

    @property
    def reading(self) -> str:
        """Say what the loader made of the seed."""
        return {
            "zero": "0 counts as no seed",
            "fraction": "the fraction is cut off",
            "truncated": "only its low bits are kept",
            "out-of-range": "it is out of the range that generators take",
            "ignored": "it is not used",
        }[self.kind]


@dataclass(frozen=True, slots=True)
class Seeds:
    """Seeds of one run, or of the baseline and the other run; `UNSET` where undeclared."""

    given: list[Any]
    used: list[Any]

    @classmethod
    def of(cls, *streams: Stream) -> Seeds:
        """Read the seeds that streams declare."""
        return cls(
            [stream.declared.seed for stream in streams],
            [stream.declared.seed_used for stream in streams],
        )

    def evidence(self) -> dict[str, JsonValue]:
        """Give what is known of them, under the names that the rule documents."""
        evidence: dict[str, JsonValue] = {}
        if UNKNOWN not in self.given:
            evidence["given"] = [*self.given]
            evidence["types"] = [type(seed).__name__ for seed in self.given]
        if UNKNOWN not in self.used:
            evidence["used"] = [*self.used]
        return evidence


def misuse_of(stream: Stream) -> Misuse | None:
    """Tell what became of a seed that was given; None where it was used, or nobody knows."""
    given, used = stream.declared.seed, stream.declared.seed_used
    if given is UNKNOWN or given is None or used is UNKNOWN or is_same_seed(given, used):
        return None
    return Misuse(_kind(given, used), given, used)


def is_same_seed(one: Any, other: Any) -> bool:
    """Tell whether two seeds are one: 7, 7.0 and "7" are."""
    return bool(one == other) or str(one) == str(other)


def _kind(given: Any, used: Any) -> str:
    if given in (0, "0"):
        return "zero"
    if not isinstance(given, (int, float)) or not isinstance(used, (int, float)):
        return "ignored"
    if not math.isfinite(given):
        return "out-of-range"
    if given != int(given):
        return "fraction" if used in (int(given), round(given)) else "ignored"
    if any(used == int(given) % 2**width for width in WIDTHS):
        return "truncated" if given >= 0 else "out-of-range"
    return "out-of-range" if given < 0 or given >= 2**32 else "ignored"


def first_made_otherwise(a: Stream, b: Stream) -> tuple[Made | None, Made | None] | None:
    """Give the first seeds, each with its part of the loader, that two runs made otherwise.

    None where no seed was made of the one that was given, or all were made alike; one of the two
    is None where a run made none for that part.
    """
    return _first_otherwise(a, b, DERIVED)


def first_given_otherwise(a: Stream, b: Stream) -> tuple[Made | None, Made | None] | None:
    """Give the first transforms, each with its own seed, that two runs were given otherwise."""
    return _first_otherwise(a, b, OF_TRANSFORMS)


def have_other_seeds(a: Stream, b: Stream) -> bool:
    """Tell whether two runs are known to have used other seeds, for all or for a transform."""
    seeds = [effective_seed(a), effective_seed(b)]
    if first_given_otherwise(a, b) is not None:
        return True
    return UNKNOWN not in seeds and None not in seeds and not is_same_seed(*seeds)


def _first_otherwise(a: Stream, b: Stream, entry: str) -> tuple[Made | None, Made | None] | None:
    pairs = zip_longest(_pairs_of(a, entry), _pairs_of(b, entry))
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


def _pairs_of(stream: Stream, entry: str) -> list[Made]:
    config = stream.declared.config
    made = None if config is UNKNOWN else config.get(entry)
    try:
        return msgspec.convert(made or [], list[Made])
    except msgspec.ValidationError:  # an entry of that name, of something else
        return []
