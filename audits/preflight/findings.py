"""What a preflight finds by itself, beside what rules find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.audits.preflight.control import Standing, is_edited
from detloader.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.audits.frozen import Difference
    from detloader.audits.preflight.control import Control
    from detloader.audits.preflight.question import Question
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Run

__all__ = ["asides", "blocks", "races"]


def races(control: Control, *, repeats: bool) -> list[Finding]:
    """Say which of the two does not repeat itself: the frozen run, or the candidate's."""
    frozen = [] if control.standing is not Standing.NOISY else [_race("a", "where it was frozen")]
    return frozen if repeats else [*frozen, _race("b", "in the candidate")]


def asides(question: Question, control: Control, candidate: Run) -> list[Finding]:
    """Say what else there is to know: that the factory was edited, or that there is no control."""
    said = []
    if is_edited(question.frozen, candidate):
        message = f"The source file of {question.recipe.factory} is not the one that was frozen."
        said.append(_note("recipe", message, "It was edited since."))
    if control.reason is not None:
        message = f"There is no control: {control.reason}."
        cause = "Whether the frozen run would come out again where it was frozen is not known."
        said.append(_note("control", message, cause))
    return said


def blocks(differences: Sequence[Difference]) -> Finding:
    """Say where the digests of two runs differ."""
    first, *others = differences
    evidence: dict[str, JsonValue] = {"stream": first.stream}
    if first.rank is not None:
        evidence["rank"] = first.rank
    if first.column is not None:
        evidence["column"] = first.column
    if first.rows is not None:
        evidence |= {"first_row": first.rows.start, "last_row": first.rows.stop - 1}
    if others:
        evidence["also"] = [str(other) for other in others]
    return Finding(
        rule="frozen-digests",
        severity=Severity.FAIL,
        run="b",
        message=f"In {first}.",
        cause="Digests tell where a difference begins, and not what it is.",
        evidence=evidence,
    )


def _race(run: str, where: str) -> Finding:
    return Finding(
        rule="race",
        severity=Severity.FAIL,
        run=run,
        message=f"Run twice {where}, the recipe does not repeat itself.",
        cause="What it delivers follows timing or chance, and no replay gives the same rows.",
    )


def _note(rule: str, message: str, cause: str) -> Finding:
    return Finding(rule=rule, severity=Severity.NOTE, message=message, cause=cause)
