"""A replay: the control first, then each axis alone, then sets of axes, then the smallest case."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.replay.answer import judged, unjudged
from detloader.audits.replay.confirm import confirmed
from detloader.audits.replay.control import control
from detloader.audits.replay.course import alone, together, varied
from detloader.audits.replay.elsewhere import control_elsewhere
from detloader.audits.replay.launch import inspect_factory
from detloader.audits.replay.recipes import job_of
from detloader.audits.replay.session import Session
from detloader.audits.replay.shrink import Case, shrink
from detloader.audits.replay.trial import only
from detloader.audits.replay.vary import variations, wanted
from detloader.errors import FactoryError
from detloader.manifest.reader import Run, open_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    from detloader.audits.replay.control import Control
    from detloader.audits.replay.course import Tried
    from detloader.audits.replay.job import Job
    from detloader.audits.replay.vary import Variation
    from detloader.findings import JsonValue, Result

__all__ = ["BUDGET", "REPEATS", "TIMEOUT", "plan", "replay"]

BUDGET = 60
"""Replays of one command, unless it says otherwise."""

REPEATS = 3
"""Repeats before anything is blamed: in a loader that is now one run and now another, however often
it is which, fewer than one condition in a hundred passes them by chance."""

TIMEOUT = 300.0
"""Seconds of one replay, unless the command says otherwise."""


def replay(
    run: str | os.PathLike[str] | Run,
    *,
    vary: Iterable[str] = (),
    arguments: Mapping[str, JsonValue] | None = None,
    elements: int | None = None,
    stream: str | None = None,
    timeout: float = TIMEOUT,
    budget: int = BUDGET,
    repeats: int = REPEATS,
    executor: Executor | None = None,
    keep: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Result:
    """Run a recorded recipe again, unvaried and under other conditions, and say what breaks it.

    Args:
        run: a run that says how its loader was made. **Its factory is imported and called.**
        vary: words such as "workers=0,1", "+seed" or "-cwd"; `detloader.audits.replay.vary`
            explains them. By default all axes that the factory and the system offer.
        arguments: arguments of the factory that take other values, in every replay.
        elements: elements to take at most, in every replay.
        stream: the stream of the run, where it has several.
        timeout: seconds after which one replay is given up.
        budget: replays at most, but for those repeats.
        repeats: how often the control, and a condition that broke it, are replayed again before
            that is blamed.
        executor: runs replays side by side; any `concurrent.futures.Executor` will do whose
            processes see the same files.
        keep: a new folder for the runs; by default they are removed.
        progress: is told the name of each replay that has come to its end.

    Returns:
        The answer: in `axes` what came of each condition, in `findings` what breaks the run,
        the first with the command that shows the smallest case. Its verdict is `inconclusive`
        where the run does not repeat itself.

    Raises:
        RunNotFoundError: the path holds no run.
        DamageError: the bytes of the run are not those that were recorded.
        UsageError: the run does not say how its loader was made, or an axis makes no sense.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    words = tuple(vary)
    wanted(words)
    job = job_of(opened, stream, arguments)
    if elements is not None:
        job = msgspec.structs.replace(job, elements=elements)
    asked = Case(arguments=dict(arguments or {}), elements=elements, stream=stream)
    recorded = only(opened, job.stream)
    with Session.begin(
        keep,
        timeout=timeout,
        budget=budget,
        repeats=repeats,
        executor=executor,
        progress=progress,
    ) as session:
        as_recorded = not arguments and elements is None
        first = control(session, job, recorded if as_recorded else None)
        if first.reason is not None:
            return unjudged(recorded, first)
        near, far = _by_place(first.job, variations(first.job, words))
        first, here = _tried_here(session, first, near)
        second, there = _tried_elsewhere(session, first, far)
        if second.reason is not None:
            return unjudged(recorded, second)
        first = replace(first, unstable=second.unstable)
        tried = [*here, *there]
        broken = next((each for each in tried if each.broken), None)
        smallest = None
        if broken is not None and broken.name not in first.unstable:
            unvaried = second if broken in there else first
            case = replace(asked, variations=broken.variations)
            smallest = shrink(session, unvaried, case, broken)
        return judged(recorded, first, tried, asked=asked, smallest=smallest, kept=session.kept)


def _tried_here(
    session: Session, control: Control, chosen: Sequence[Variation]
) -> tuple[Control, list[Tried]]:
    tried = alone(session, control, chosen)
    tried += together(session, control, tried)
    return confirmed(session, control, tried), tried


def _tried_elsewhere(
    session: Session, control: Control, chosen: Sequence[Variation]
) -> tuple[Control, list[Tried]]:
    if not chosen or control.reason is not None:
        return control, []
    second = control_elsewhere(session, control)
    if second.reason is not None:
        return second, []
    tried = alone(session, second, chosen)
    return confirmed(session, second, tried), tried


def _by_place(job: Job, chosen: Iterable[Variation]) -> tuple[list[Variation], list[Variation]]:
    """Tell variations that are tried here from those that take an environment of their own."""
    near: list[Variation] = []
    far: list[Variation] = []
    for variation in chosen:
        is_near = varied(job, [variation]).versions is None
        (near if is_near else far).append(variation)
    return near, far


def plan(
    run: str | os.PathLike[str] | Run,
    *,
    vary: Iterable[str] = (),
    arguments: Mapping[str, JsonValue] | None = None,
    stream: str | None = None,
    timeout: float = TIMEOUT,
) -> list[Variation]:
    """Return what `replay` would try, each alone; the factory is imported, but not called.

    Whether its loader has a state to save, so that it can be resumed, is not known then.

    Raises:
        FactoryError: the factory cannot be imported.
        UsageError: as `replay` does.
    """
    words = tuple(vary)
    wanted(words)
    job = job_of(run if isinstance(run, Run) else open_run(run), stream, arguments)
    seen = inspect_factory(job, timeout)
    if seen.died is not None:
        raise FactoryError(seen.died)
    return variations(msgspec.structs.replace(job, learnt=seen.learnt), words)
