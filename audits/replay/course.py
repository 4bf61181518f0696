"""What is tried, and in which order: each axis alone, then sets of those that broke nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from detloader.audits.replay.expectations import Asks, loosest
from detloader.audits.replay.search import BudgetSpentError, Search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.audits.replay.control import Control
    from detloader.audits.replay.job import Job
    from detloader.audits.replay.session import Session
    from detloader.audits.replay.trial import Answer
    from detloader.audits.replay.vary import Variation

__all__ = ["Tried", "alone", "by_axes", "together", "varied"]


@dataclass(frozen=True, slots=True)
class Tried:
    """One set of variations, and what came of it; None where the budget was spent before."""

    variations: tuple[Variation, ...]
    answer: Answer | None

    def __str__(self) -> str:
        return " with ".join(map(str, self.variations))

    @property
    def name(self) -> str:
        """Names of the axes."""
        return "+".join(variation.axis.name for variation in self.variations)

    @property
    def asks(self) -> Asks:
        """What was asked of the run."""
        return asks_of(self.variations)

    @property
    def broken(self) -> bool:
        """Whether the run is not as it should be."""
        return self.answer is not None and self.answer.holds is False

    @property
    def held(self) -> bool:
        """Whether the run is as it should be."""
        return self.answer is not None and self.answer.holds is True


def asks_of(variations: Sequence[Variation]) -> Asks:
    """Return what may be asked of a run that these have varied together."""
    return loosest(variation.axis.asks for variation in variations)


def varied(job: Job, variations: Sequence[Variation]) -> Job:
    """Return the job under all these conditions."""
    for variation in variations:
        job = variation.axis.vary(job, variation.value)
    return job


def by_axes(tried: Sequence[Tried]) -> list[list[Tried]]:
    """Return what broke the run, with the values of one axis put together."""
    groups: dict[str, list[Tried]] = {}
    for each in tried:
        if each.broken:
            groups.setdefault(each.name, []).append(each)
    return [*groups.values()]


def alone(session: Session, control: Control, variations: Sequence[Variation]) -> list[Tried]:
    """Try each variation by itself, as many as the budget allows."""
    trials = [
        session.trial(
            varied(control.job, [variation]),
            f"{number}-{variation.axis.name}",
            baseline=control.run,
            asks=variation.axis.asks,
        )
        for number, variation in enumerate(variations[: session.left], 1)
    ]
    answers: list[Answer | None] = [*session.answers(trials)]
    answers += [None] * (len(variations) - len(answers))
    return [Tried((v,), answer) for v, answer in zip(variations, answers, strict=True)]


def together(session: Session, control: Control, singles: Sequence[Tried]) -> list[Tried]:
    """Find the smallest sets of axes, harmless each alone, that break the run together."""
    members = _harmless(singles)
    answers: dict[tuple[Variation, ...], Answer] = {}

    def breaks(variations: Sequence[Variation]) -> bool:
        names = "+".join(variation.axis.name for variation in variations)
        trial = session.trial(
            varied(control.job, variations),
            f"{len(singles) + len(answers) + 1}-{names}"[:100],
            baseline=control.run,
            asks=asks_of(variations),
        )
        answer = answers[tuple(variations)] = session.answer(trial)
        return answer.holds is False

    search = Search(members, breaks, session.left)
    for place in range(len(members)):
        search.know(place, breaks=False)
    if len(members) < 2:  # noqa: PLR2004 - a set of axes
        return []
    try:
        found = [tuple(each) for each in search.minimal_sets(range(len(members)))]
    except BudgetSpentError:
        return [Tried(tuple(members), None)]
    if not found and answers[tuple(members)].holds is None:
        found = [tuple(members)]
    return [Tried(each, answers[each]) for each in found]


def _harmless(singles: Sequence[Tried]) -> list[Variation]:
    """Return the last value of each axis of which every value held."""
    last: dict[str, Variation | None] = {}
    for tried in singles:
        (variation,) = tried.variations
        name = variation.axis.name
        fits = tried.held and variation.axis.asks is not Asks.OTHER_ROWS
        last[name] = variation if fits and last.get(name, variation) is not None else None
    return [variation for variation in last.values() if variation is not None]
