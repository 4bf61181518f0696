"""The course of a preflight: the control first, then the candidate, then what follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.frozen import Difference, Frozen, differences, freeze
from detloader.audits.preflight.answer import CANDIDATE, compared, silent, undecided, unseen
from detloader.audits.preflight.control import Control, Standing, control, repeats_itself
from detloader.audits.preflight.findings import asides, races
from detloader.audits.preflight.forms import comparable
from detloader.audits.preflight.places import HERE, Place
from detloader.audits.replay.control import NOISY
from detloader.errors import DetloaderError, FactoryError

if TYPE_CHECKING:
    from detloader.audits.preflight.question import Question
    from detloader.audits.preflight.replays import Replays
    from detloader.findings import Result
    from detloader.manifest.reader import Run

__all__ = ["DRIFTED", "judge"]

DRIFTED = (
    "run again where it was frozen, the recipe repeats itself, but not the frozen run: what it "
    "reads has changed, or a version that the file does not name"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Delivered:
    """What the candidate delivers.

    Attributes:
        run: its run.
        known: what is frozen of the columns that can be compared.
        found: how they differ.
        repeats: whether the candidate delivers the same each time.
    """

    run: Run
    known: Frozen
    found: list[Difference]
    repeats: bool


def judge(
    question: Question, replays: Replays, original: Run | None
) -> tuple[Result, Frozen | None]:
    """Run the control and the candidate, and say what follows.

    Args:
        question: what is asked.
        replays: runs the recipe.
        original: the run that was frozen, where it is still there.

    Returns:
        The answer, and the frozen form of what the candidate delivers; None where it delivers
        nothing, or something else each time.
    """
    before = control(question.frozen, replays, question.origin)
    try:
        now = _delivered(question, replays)
    except DetloaderError as error:
        return _without(question, before, error), None
    if now.found:
        rows = _rows(question, before, replays, original)
        result = _differing(question, before, now, rows)
    else:
        result = _compared(question, before, now, (now.run, now.run))
        result = _with_limits(result, question.frozen, now.known)
    return result, _frozen_again(question, now.run) if now.repeats else None


def _delivered(question: Question, replays: Replays) -> _Delivered:
    run = replays.run(question.candidate)
    known = comparable(question.frozen, run, question.candidate)
    found = differences(known, run)
    repeats = not found or _repeats(replays, question.candidate)
    return _Delivered(run=run, known=known, found=found, repeats=repeats)


def _repeats(replays: Replays, place: Place) -> bool:
    try:
        return repeats_itself(replays, place)
    except DetloaderError:
        return False


def _without(question: Question, before: Control, error: DetloaderError) -> Result:
    """Answer where there is nothing of the candidate's to compare."""
    reason = f"the candidate delivers nothing that could be compared: {error}"
    if before.standing is Standing.FAITHFUL and isinstance(error, FactoryError):
        return silent(question, reason)
    return undecided(question, reason)


def _rows(
    question: Question, before: Control, replays: Replays, original: Run | None
) -> tuple[Run, Run] | None:
    """Return the frozen rows and the candidate's, recorded alike; None where those are gone."""
    places = question.origin, question.candidate
    if original is not None and question.candidate is HERE:
        return original, replays.run(HERE)
    if before.standing is Standing.FAITHFUL:
        plain = places != (HERE, HERE)
        return replays.run(places[0], plain=plain), replays.run(places[1], plain=plain)
    if original is not None and question.recipe.ids:
        return original, replays.run(question.candidate)
    return None


def _differing(
    question: Question, before: Control, now: _Delivered, rows: tuple[Run, Run] | None
) -> Result:
    """Answer where the candidate does not deliver what was frozen."""
    if reason := _unjudged(before, now, rows):
        told = [*races(before, repeats=now.repeats), *asides(question, before, now.run)]
        return undecided(question, reason, told)
    if rows is None:
        return unseen(question, before, replace(now.run, path=CANDIDATE), now.found)
    return _compared(question, before, now, rows)


def _unjudged(before: Control, now: _Delivered, rows: tuple[Run, Run] | None) -> str | None:
    """Say why nothing follows; None where something does."""
    if before.standing is Standing.DRIFTED:
        return DRIFTED
    if before.standing is Standing.NOISY and rows is None:
        return f"{NOISY}: name the run that was frozen with --run"
    return NOISY if before.standing is Standing.NOISY and not now.repeats else None


def _compared(
    question: Question, before: Control, now: _Delivered, rows: tuple[Run, Run]
) -> Result:
    frozen, delivered = rows
    return compared(
        question,
        before,
        replace(frozen, path=question.file),
        replace(delivered, path=CANDIDATE),
        repeats=now.repeats,
    )


def _with_limits(result: Result, frozen: Frozen, known: Frozen) -> Result:
    """Name among what was not compared the frozen columns that could not be."""
    (before,), (among,) = frozen.streams.values(), known.streams.values()
    missing = [name for name in before.columns if name not in among.columns]
    named = [*dict.fromkeys([*(result.not_compared or []), *missing])]
    streams = [msgspec.structs.replace(each, not_compared=named) for each in result.streams]
    return msgspec.structs.replace(result, not_compared=named, streams=streams)


def _frozen_again(question: Question, now: Run) -> Frozen:
    """Freeze what the candidate delivers, with the recipe that was followed."""
    frozen = freeze(now)
    ((name, stream),) = frozen.streams.items()
    made = stream.recipe
    assert made is not None
    recipe = msgspec.structs.replace(
        question.recipe,
        source_sha256=made.source_sha256,
        packages=question.candidate.packages or made.packages,
    )
    return msgspec.structs.replace(
        frozen, streams={name: msgspec.structs.replace(stream, recipe=recipe)}
    )
