"""The control: does the frozen run come out again where it was frozen?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from detloader.audits.engine import audit
from detloader.audits.frozen import differences
from detloader.audits.preflight.forms import comparable
from detloader.audits.replay.control import ALIKE
from detloader.errors import DetloaderError

if TYPE_CHECKING:
    from detloader.audits.frozen import Frozen
    from detloader.audits.preflight.places import Place
    from detloader.audits.preflight.replays import Replays
    from detloader.manifest.reader import Run

__all__ = ["Control", "Standing", "control", "is_edited", "repeats_itself"]


class Standing(Enum):
    """What came of the control."""

    FAITHFUL = auto()
    """What was frozen came out again."""
    EDITED = auto()
    """Something else came out, and the factory's source is another."""
    NOISY = auto()
    """Something else came out each time."""
    DRIFTED = auto()
    """Something else came out, the same each time, from the same source."""
    UNKNOWN = auto()
    """Nothing came out: the environment could not be made, or the factory failed in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What came of running a frozen recipe where it was frozen.

    Attributes:
        standing: how that is to be taken.
        reason: why nothing came out, where nothing did.
    """

    standing: Standing
    reason: str | None = None


def control(frozen: Frozen, replays: Replays, place: Place) -> Control:
    """Run a frozen recipe where it was frozen; twice where something else comes out."""
    try:
        run = replays.run(place)
        if not differences(comparable(frozen, run, place), run):
            return Control(standing=Standing.FAITHFUL)
        if is_edited(frozen, run):
            return Control(standing=Standing.EDITED)
        repeats = repeats_itself(replays, place)
    except DetloaderError as error:
        return Control(standing=Standing.UNKNOWN, reason=str(error))
    return Control(standing=Standing.DRIFTED if repeats else Standing.NOISY)


def is_edited(frozen: Frozen, run: Run) -> bool:
    """Tell whether the factory's source is known to be another than the frozen one."""
    ((name, stream),) = frozen.streams.items()
    before, now = stream.recipe, run.streams[name].recipe
    sources = {recipe.source_sha256 for recipe in (before, now) if recipe is not None}
    return None not in sources and len(sources) > 1


def repeats_itself(replays: Replays, place: Place) -> bool:
    """Tell whether a second run in that place gives the same.

    Raises:
        DetloaderError: it gives nothing.
    """
    first, second = replays.run(place), replays.run(place, again=True)
    return audit(first, second).verdict in ALIKE
