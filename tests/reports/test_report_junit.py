from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
import xmlschema

from detloader.findings import Outcome, Result, Verdict
from detloader.reports import render
from tests.support.samples import HOSTILE, accepted, hostile, result_of, samples

SCHEMA = xmlschema.XMLSchema(Path(__file__).parents[1] / "fixtures" / "schemas" / "junit-10.xsd")


@pytest.fixture
def results() -> dict[str, Result]:
    return samples()


def suites(result: Result) -> ET.Element:
    return ET.fromstring(render("junit", result))  # noqa: S314 - our own text


def outcomes(result: Result) -> dict[str, str]:
    """Give what came of each case of the first suite."""
    cases = suites(result)[0].findall("testcase")
    return {
        case.get("name", ""): next((e.tag for e in case if e.tag != "system-out"), "passed")
        for case in cases
    }


def test_every_sample_is_valid(results: dict[str, Result]) -> None:
    for result in results.values():
        SCHEMA.validate(render("junit", result))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_leaves_it_valid(text: str) -> None:
    SCHEMA.validate(render("junit", hostile(text)))


def test_a_rule_that_was_asked_is_a_case(results: dict[str, Result]) -> None:
    assert outcomes(results["changed"]) == {
        "verdict": "failure",
        "seed-handling": "passed",
        "implicit-partitioning": "failure",
        "race": "passed",
        "content-drift": "skipped",
        "stale-cache": "skipped",
    }


def test_messages_say_the_cause_and_what_was_lacking(results: dict[str, Result]) -> None:
    written = render("junit", results["changed"])

    assert '<failure message="The loader split its IDs over 4 workers' in written
    assert '<skipped message="needs content" />' in written


def test_what_could_not_be_judged_is_an_error(results: dict[str, Result]) -> None:
    assert outcomes(results["inconclusive"])["verdict"] == "error"


@pytest.mark.parametrize("outcome", [Outcome.ACCEPTED, Outcome.HOLDS])
def test_a_difference_that_does_not_count_is_skipped(
    results: dict[str, Result], outcome: Outcome
) -> None:
    known = msgspec.structs.replace(accepted(results["changed"]), outcome=outcome)

    assert outcomes(known)["verdict"] == outcomes(known)["implicit-partitioning"] == "skipped"
    assert suites(known).get("failures") == "0"


def test_counts_are_those_of_the_cases(results: dict[str, Result]) -> None:
    for suite in suites(results["several"]):
        cases = suite.findall("testcase")
        for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert suite.get(kind) == str(sum(case.find(tag) is not None for case in cases))
        assert suite.get("tests") == str(len(cases))


def test_equal_runs_fail_nothing() -> None:
    assert set(outcomes(result_of(Verdict.IDENTICAL)).values()) == {"passed"}


def test_every_condition_of_a_replay_is_a_case(results: dict[str, Result]) -> None:
    assert outcomes(results["replay"])["replay with workers=4"] == "failure"
