from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.findings import Counts, Finding, Severity, Verdict
from detloader.reports import render
from tests.support.samples import HOSTILE, hostile, result_of

LIMIT = 65_536
"""Characters of a comment on GitHub."""


def finding(number: int, text: str) -> Finding:
    return Finding(
        rule="race", severity=Severity.FAIL, message=f"{number} {text}", cause=text, evidence={}
    )


@pytest.mark.parametrize("length", [10, 1_000, 60_000])
@pytest.mark.parametrize("count", [1, 400])
def test_a_report_fits_into_a_comment(length: int, count: int) -> None:
    findings = [finding(number, "x" * length) for number in range(count)]
    result = result_of(Verdict.CHANGED, differences=Counts(moved=1), findings=findings)
    many = msgspec.structs.replace(result, comparisons=[result] * 40)

    assert len(render("markdown", result)) < LIMIT
    assert len(render("markdown", many)) < LIMIT


def test_what_does_not_fit_is_said() -> None:
    result = result_of(Verdict.CHANGED, findings=[finding(n, "x" * 400) for n in range(40)])
    many = msgspec.structs.replace(result, comparisons=[result] * 40)

    assert render("markdown", many).endswith("\nThe report goes on: see it as HTML or JSON.\n")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_opens_a_tag_or_calls_for_anybody(text: str) -> None:
    shown = re.sub(r"(`+).*?\1", "", render("markdown", hostile(text)))

    assert set(re.findall(r"<[^>]*", shown)) <= {
        "<details",
        "<summary",
        "</summary",
        "</details",
        "<!-- --",
        "<br",
    }
    assert not re.search(r"@\w|#\d", shown)


@given(text=st.text(alphabet="|`\\<>*_[]()!#@1a \n"))
def test_no_text_adds_a_cell_to_a_table(text: str) -> None:
    rows = [line for line in render("markdown", hostile(text)).splitlines() if line[:2] == "| "]

    assert rows
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows} == {3}
