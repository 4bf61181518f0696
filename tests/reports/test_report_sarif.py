from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import msgspec
import pytest

from detloader.findings import Result, Verdict
from detloader.reports import render
from tests.support.samples import HOSTILE, accepted, hostile, result_of, samples

SCHEMA = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "schemas" / "sarif-2.1.0.json").read_text("utf-8")
)
VALIDATOR = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


@pytest.fixture
def results() -> dict[str, Result]:
    return samples()


def run_of(result: Result) -> dict[str, Any]:
    log = json.loads(render("sarif", result))
    VALIDATOR.validate(log)
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def places(run: dict[str, Any]) -> list[str]:
    """Give the path of each result."""
    return [
        location["physicalLocation"]["artifactLocation"]["uri"]
        for found in run["results"]
        for location in found["locations"]
    ]


def test_every_sample_is_valid(results: dict[str, Result]) -> None:
    for result in results.values():
        assert run_of(result)["tool"]["driver"]["name"] == "detloader"


def test_every_result_has_its_rule_with_help_and_a_place(results: dict[str, Result]) -> None:
    run = run_of(results["changed"])
    rules = run["tool"]["driver"]["rules"]

    assert [found["level"] for found in run["results"]] == ["error", "note"]
    for found in run["results"]:
        rule = rules[found["ruleIndex"]]
        assert rule["id"] == found["ruleId"]
        assert rule["help"]["markdown"].startswith("The loader cut its IDs into parts.")
        assert found["partialFingerprints"]
    assert places(run) == ["runs/new/main/rank-00000/manifest.json"] * 2


MANIFEST = "main/rank-00000/manifest.json"


def place_of(run: object, results: dict[str, Result]) -> str:
    """Give where the findings about a run stand."""
    runs = [msgspec.structs.replace(each, path=str(run)) for each in results["changed"].runs]
    (place,) = {*places(run_of(msgspec.structs.replace(results["changed"], runs=runs)))}
    return place


@pytest.mark.parametrize("path", ["runs/new", "./runs/../runs/new", "{here}/runs/new"])
def test_a_run_below_the_working_folder_has_a_relative_place(
    path: str, results: dict[str, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert place_of(path.format(here=tmp_path), results) == f"runs/new/{MANIFEST}"


def test_the_working_folder_may_itself_be_a_run(
    results: dict[str, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert place_of(".", results) == MANIFEST


def test_a_link_to_the_working_folder_leads_to_the_same_place(
    results: dict[str, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real" / "run").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path / "real")

    assert place_of(tmp_path / "link" / "run", results) == f"run/{MANIFEST}"


@pytest.mark.parametrize("path", ["../other/a run", "{here}/../other/a run"])
def test_a_run_elsewhere_has_a_whole_address_of_the_one_scheme_that_github_takes(
    path: str, results: dict[str, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    place = place_of(path.format(here=here), results)

    assert place == f"{tmp_path.as_uri()}/other/a%20run/{MANIFEST}"


@pytest.mark.parametrize("path", ["s3://bucket/runs/new", "memory://bucket/runs/new/", "C:\\runs"])
def test_no_place_has_another_scheme(path: str, results: dict[str, Result]) -> None:
    place = place_of(path, results)

    assert not urlsplit(place).scheme
    assert place.endswith(f"/{MANIFEST}")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_leaves_it_valid(text: str) -> None:
    assert run_of(hostile(text))["results"]


def test_a_difference_without_a_cause_is_a_result() -> None:
    (found,) = run_of(result_of(Verdict.REORDERED))["results"]

    assert (found["ruleId"], found["level"]) == ("unexplained-difference", "error")


def test_equal_runs_have_no_result() -> None:
    assert run_of(result_of(Verdict.IDENTICAL))["results"] == []


def test_an_accepted_difference_is_suppressed(results: dict[str, Result]) -> None:
    found = run_of(accepted(results["changed"]))["results"][0]

    assert found["suppressions"][0]["justification"].startswith("accepted until 2027-01-01")


def test_a_finding_keeps_its_fingerprint_and_another_has_another(
    results: dict[str, Result],
) -> None:
    prints = [found["partialFingerprints"] for found in run_of(results["changed"])["results"]]

    assert prints == [f["partialFingerprints"] for f in run_of(results["changed"])["results"]]
    assert prints[0] != prints[1]
