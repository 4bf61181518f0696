from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.findings import Finding, Severity, Verdict
from detloader.reports import render
from detloader.reports.plain import printable
from tests.support.samples import accepted, hostile, result_of

COMMAND = re.compile(r"::(error|warning|notice) title=([^,:]*)::([^\r\n]*)")


def commands(text: str) -> list[tuple[str, str, str]]:
    """Give level, title and message of each line as GitHub reads them."""
    found = [COMMAND.fullmatch(line) for line in text.splitlines()]
    assert all(found)
    return [(one[1], unquote(one[2]), unquote(one[3])) for one in found if one]


@given(text=st.text(max_size=200))
def test_what_is_said_arrives_as_it_is_and_no_text_makes_a_command(text: str) -> None:
    (_, (level, title, message)) = commands(render("github", hostile(text)))

    assert level == "error"
    assert title == f"coverage-hole in {printable(text)}"
    assert message.startswith(f"Record {printable(text)} never comes.")


@pytest.mark.parametrize(
    ("verdict", "level"),
    [
        (Verdict.IDENTICAL, "notice"),
        (Verdict.EQUIVALENT, "notice"),
        (Verdict.INCONCLUSIVE, "warning"),
        (Verdict.REGROUPED, "error"),
        (Verdict.CHANGED, "error"),
    ],
)
def test_the_verdict_is_the_first_line(verdict: Verdict, level: str) -> None:
    first = commands(render("github", result_of(verdict)))[0]

    assert first[:2] == (level, f"detloader: {verdict}")


def test_what_does_not_count_is_no_error() -> None:
    fault = Finding(rule="race", severity=Severity.FAIL, message="m", cause="c")
    result = accepted(result_of(Verdict.CHANGED, findings=[fault]))

    assert {level for level, *_ in commands(render("github", result))} == {"notice"}


def test_no_more_lines_than_github_shows() -> None:
    faults = [
        Finding(rule="race", severity=severity, message=f"{number}", cause="c")
        for number in range(30)
        for severity in Severity
    ]
    lines = commands(render("github", result_of(Verdict.CHANGED, findings=faults)))
    levels = [level for level, *_ in lines]

    assert max(map(levels.count, levels)) == 10
