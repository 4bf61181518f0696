"""The control: a replay that varies nothing. What does not repeat itself cannot be judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.engine import audit
from detloader.audits.replay.trial import only
from detloader.findings import Verdict
from detloader.manifest.reader import open_run

if TYPE_CHECKING:
    from detloader.audits.replay.job import Job
    from detloader.audits.replay.session import Session
    from detloader.findings import Result
    from detloader.manifest.reader import Run

__all__ = ["ALIKE", "NOISY", "Control", "control", "repeated"]

NOISY = "the run does not repeat itself"

ALIKE = frozenset({Verdict.IDENTICAL, Verdict.EQUIVALENT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What the unvaried replay gave.

    Attributes:
        job: the unvaried job, with what was learnt of it.
        run: the run that varied ones are compared with.
        recorded: the audit of the recorded run and this one; None where other arguments, or
            fewer elements, leave nothing to compare.
        reason: why nothing can be judged; None where it can.
        last_lines: what a replay that died printed last.
        repeats: unvaried replays that gave the same again.
        unstable: axes under which each replay gave other rows.
    """

    job: Job
    run: str
    recorded: Result | None = None
    reason: str | None = None
    last_lines: tuple[str, ...] = ()
    repeats: int = 0
    unstable: frozenset[str] = frozenset()


def control(session: Session, job: Job, recorded: Run | None) -> Control:
    """Replay a job unvaried, and again where it is not as recorded, or was not recorded.

    Args:
        session: where to.
        job: what to do.
        recorded: the run that it should give; None where that is not expected.
    """
    trial = session.trial(job, "control", baseline=None)
    replayed = session.answer(trial).replayed
    found = Control(job=msgspec.structs.replace(job, learnt=replayed.learnt), run=replayed.run)
    if replayed.died is not None:
        reason = f"the unvaried replay died: {replayed.died}"
        return replace(found, reason=reason, last_lines=tuple(replayed.last_lines))
    if not open_run(replayed.run).rows:
        reason = "the unvaried replay has no row: the loader that the factory builds gives nothing"
        return replace(found, reason=reason)
    if recorded is None:
        return repeated(session, found, 1)
    result = audit(recorded, only(open_run(replayed.run), job.stream))
    found = replace(found, recorded=result)
    return found if result.verdict in ALIKE else repeated(session, found, session.repeats)


def repeated(session: Session, first: Control, times: int) -> Control:
    """Replay the same again until it came so often; say so where it gives something else."""
    trials = [
        session.trial(first.job, f"control-again-{number}", baseline=first.run)
        for number in range(first.repeats + 1, times + 1)
    ]
    for answer in session.answers(trials, counted=False):
        if answer.replayed.died is not None:
            reason = f"{NOISY}: when it was run again it died: {answer.replayed.died}"
            return replace(first, reason=reason, last_lines=tuple(answer.replayed.last_lines))
        if not answer.holds:
            return replace(first, reason=NOISY)
    return replace(first, repeats=max(first.repeats, times))
