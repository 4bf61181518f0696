from __future__ import annotations

import itertools
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from detloader.findings import Counts, Finding, Severity, Verdict
from detloader.reports import render
from tests.support.samples import HOSTILE, hostile, result_of

REFERENCES = [
    "@octocat",
    "@github/support",
    "#26",
    "GH-12",
    "gh-12",
    "octocat/Spoon-Knife#1",
    "a5c3785ed8d6a35868bc169f07e40e889087fd2e",
    "a5c3785",
    "1234567",
    "octocat@a5c3785ed8d6a35868bc169f07e40e889087fd2e",
    "octocat/Spoon-Knife@a5c3785",
    "https://github.com/octocat/Spoon-Knife/issues/5",
    "http://example.org",
    "ftp://example.org",
    "www.example.org",
    "someone@example.org",
    "mailto:someone@example.org",
    "xmpp:someone@example.org",
    "GHSA-jfh8-c2jp-5v3q",
    "CVE-2021-44228",
]
"""What GitHub makes a link of: docs.github.com, "Autolinked references and URLs", and the

extended autolinks of GitHub Flavored Markdown.
"""

LINKED = re.compile(
    r"@\w|#\d|\bgh-\d|\b[0-9a-f]{7,40}\b|://|\bwww\.|\b(?:ghsa|cve)-\w", re.IGNORECASE
)

LIMIT = 65_536
"""Characters of a comment on GitHub."""


def texts_of(report: str) -> list[str]:
    """Give the texts of a report that are no code, each up to the next tag or comment."""
    parser = MarkdownIt("commonmark").enable("table")
    inside = [token.children or [] for token in parser.parse(report) if token.type == "inline"]
    return [
        "".join(token.content for token in tokens)
        for children in inside
        for kind, tokens in itertools.groupby(children, lambda token: token.type)
        if kind == "text"
    ]


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


@given(
    parts=st.lists(
        st.sampled_from(REFERENCES) | st.text(alphabet=" -_./:@#()[]`\\\\<>&1ag", max_size=3),
        min_size=1,
        max_size=6,
    )
)
def test_no_text_of_a_run_becomes_a_link(parts: list[str]) -> None:
    report = render("markdown", hostile("".join(parts)))

    assert [text for text in texts_of(report) if LINKED.search(text)] == []


@given(text=st.text(alphabet="|`\\<>*_[]()!#@1a \n"))
def test_no_text_adds_a_cell_to_a_table(text: str) -> None:
    rows = [line for line in render("markdown", hostile(text)).splitlines() if line[:2] == "| "]

    assert rows
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows} == {3}
