"""What broke a run, tried again: no condition is blamed for what comes and goes by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from detloader.audits.engine import audit
from detloader.audits.replay.control import ALIKE, NOISY, repeated
from detloader.audits.replay.course import by_axes, varied
from detloader.audits.replay.trial import only
from detloader.manifest.reader import open_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.audits.replay.control import Control
    from detloader.audits.replay.course import Tried
    from detloader.audits.replay.session import Session
    from detloader.audits.replay.trial import Answer

__all__ = ["confirmed"]


def confirmed(session: Session, control: Control, tried: Sequence[Tried]) -> Control:
    """Replay the control, and the first condition of each axis that broke it, several times more.

    A condition has to break the run each time, not by the same rows: those of a race differ.

    Args:
        session: makes the replays, which are not of its budget.
        control: the unvaried replay.
        tried: what was compared with it.

    Returns:
        The control, with the reason where anything came out otherwise.
    """
    broken = [members[0] for members in by_axes(tried)]
    if broken:
        control = repeated(session, control, session.repeats)
    for each in broken:
        if control.reason is None:
            control = _again(session, control, each)
    return control


def _again(session: Session, control: Control, tried: Tried) -> Control:
    trials = [
        session.trial(
            varied(control.job, tried.variations),
            f"{tried.name}-again-{number}"[-100:],
            baseline=control.run,
            asks=tried.asks,
        )
        for number in range(1, session.repeats + 1)
    ]
    answers = session.answers(trials, counted=False)
    for answer in answers:
        if answer.holds is None:
            reason = f"with {tried} it died when that was tried again: {answer.replayed.died}"
            lines = tuple(answer.replayed.last_lines)
            return replace(control, reason=f"{NOISY}: {reason}", last_lines=lines)
        if answer.holds:
            reason = f"with {tried} it broke, and did not when that was tried again"
            return replace(control, reason=f"{NOISY}: {reason}")
    if all(_same(tried.answer, answer, control.job.stream) for answer in answers):
        return control
    return replace(control, unstable=control.unstable | {tried.name})


def _same(one: Answer | None, other: Answer, stream: str) -> bool:
    assert one is not None
    runs = (only(open_run(each.replayed.run), stream) for each in (one, other))
    return audit(*runs).verdict in ALIKE
