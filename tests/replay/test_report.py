"""What a person reads of a replay."""

from __future__ import annotations

from detloader.findings import (
    AxisOutcome,
    AxisResult,
    Finding,
    JsonValue,
    Result,
    RunSummary,
    Severity,
    Verdict,
)
from detloader.reports import headline, render

RUN = RunSummary(path="runs/a", rows=23, complete=True, fingerprint="f" * 64)


def axis(outcome: AxisOutcome, asks: str = "same rows", **settings: JsonValue) -> AxisResult:
    died = outcome is AxisOutcome.DIED
    return AxisResult(
        settings=settings,
        outcome=outcome,
        asks=asks,
        compared_with="runs/a",
        reason="it did not end within 4 seconds" if died else None,
        last_lines=["waiting for worker 1"] if died else [],
    )


def replayed(
    *axes: AxisResult,
    verdict: Verdict = Verdict.IDENTICAL,
    findings: list[Finding] | None = None,
    reason: str | None = None,
) -> Result:
    return Result(
        command="replay",
        verdict=verdict,
        runs=[RUN],
        axes=[*axes],
        findings=findings or [],
        reason=reason,
    )


BROKEN, HOLDS, DIED, NOT_RUN = (
    AxisOutcome.BROKEN,
    AxisOutcome.HOLDS,
    AxisOutcome.DIED,
    AxisOutcome.NOT_RUN,
)

CAUSE = Finding(
    rule="workers",
    severity=Severity.FAIL,
    message="With workers=2 instead of 0, 4 records missing.",
    cause="What the loader delivers follows workers.",
    evidence={"asked_for": "same rows", "smallest_case": "workers=2, 3 elements"},
    confirm="detloader replay runs/a --vary workers=2 --batches 3",
)

TEXT = """\
changed: workers breaks runs/a

workers (fail)
  With workers=2 instead of 0, 4 records missing.
  What the loader delivers follows workers.
  asked for          same rows
  smallest case      workers=2, 3 elements
  confirm with       detloader replay runs/a --vary workers=2 --batches 3

  holds under        workers=1, cwd=elsewhere, hash_seed=1,2
  died               workers=3: it did not end within 4 seconds
                     | waiting for worker 1
  not run            timezone=GMT-14
"""


def test_the_cause_comes_first_then_what_came_of_the_other_conditions() -> None:
    result = replayed(
        axis(HOLDS, workers=1),
        axis(BROKEN, workers=2),
        axis(DIED, workers=3),
        axis(HOLDS, cwd="elsewhere"),
        axis(HOLDS, hash_seed=1),
        axis(HOLDS, hash_seed=2),
        axis(NOT_RUN, timezone="GMT-14"),
        verdict=Verdict.CHANGED,
        findings=[CAUSE],
    )

    assert render("text", result) == TEXT


def test_the_headline_says_what_breaks_the_run_and_what_has_no_effect() -> None:
    several = replayed(
        axis(BROKEN, workers=1),
        axis(BROKEN, workers=2),
        axis(BROKEN, hash_seed=1, prefetch=4),
        axis(BROKEN, "other rows", seed=1),
        verdict=Verdict.CHANGED,
    )

    assert headline(several) == (
        "changed: workers and hash_seed together with prefetch break runs/a and seed has no "
        "effect on runs/a"
    )
    assert headline(replayed(axis(HOLDS, cwd="elsewhere"), axis(HOLDS, hash_seed=1))) == (
        "identical: runs/a holds under 2 other conditions"
    )
    assert headline(replayed()) == (
        "identical: runs/a repeats itself; no other condition was tried"
    )


def test_what_could_not_be_judged_says_why() -> None:
    noisy = replayed(verdict=Verdict.INCONCLUSIVE, reason="the run does not repeat itself")

    assert render("text", noisy) == "inconclusive: the run does not repeat itself\n"


def test_a_recipe_that_changed_is_said_where_nothing_else_breaks_the_run() -> None:
    recipe = Finding(rule="recipe", severity=Severity.FAIL, message="It differs.", cause="")
    result = replayed(axis(HOLDS, cwd="x"), verdict=Verdict.CHANGED, findings=[recipe])

    assert headline(result) == "changed: runs/a is not what its recipe gives now"
