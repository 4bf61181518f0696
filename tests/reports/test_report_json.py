from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.findings import Counts, Finding, Result, RunSummary, Severity, Verdict
from detloader.reports import formats, render

SCHEMA = Path(__file__).parents[2] / "docs" / "result.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))

CHECK = Result(
    command="check",
    verdict=Verdict.CLEAN,
    runs=[RunSummary(path="runs/a", rows=8, complete=True, fingerprint=None)],
)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def rendered(result: Result) -> dict[str, Any]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    found = json.loads(render("json", result), parse_constant=refuse)
    assert isinstance(found, dict)
    return found


def test_formats_are_the_files_that_render() -> None:
    assert formats() == ["github", "html", "json", "junit", "markdown", "sarif", "text"]


def test_the_published_schema_is_current() -> None:
    written = subprocess.run(
        [sys.executable, "-m", "detloader.reports.schema"], check=True, capture_output=True
    )

    assert written.stdout == SCHEMA.read_bytes()
    VALIDATOR.check_schema(VALIDATOR.schema)


def test_keys_stand_in_the_order_of_the_contract_and_unset_ones_are_left_out() -> None:
    assert list(rendered(CHECK)) == [
        "schema_version",
        "command",
        "verdict",
        "verified",
        "reason",
        "runs",
        "findings",
        "not_checked",
        "streams",
        "axes",
        "decision",
    ]


def test_an_audit_has_the_fields_of_a_difference() -> None:
    audit = msgspec.structs.replace(
        CHECK,
        command="audit",
        verdict=Verdict.CHANGED,
        runs=CHECK.runs * 2,
        coverage=1.0,
        first_difference=None,
        differences=Counts(missing=2),
        not_compared=["worker"],
    )
    found = rendered(audit)

    VALIDATOR.validate(found)
    assert found["differences"]["missing"] == 2
    assert found["first_difference"] is None


def test_several_runs_have_a_result_each() -> None:
    found = rendered(msgspec.structs.replace(CHECK, comparisons=[CHECK, CHECK]))

    VALIDATOR.validate(found)
    assert [one["verdict"] for one in found["comparisons"]] == ["clean", "clean"]


@settings(max_examples=30)
@given(evidence=st.dictionaries(st.text(), values))
def test_evidence_of_any_shape_validates_and_comes_back(evidence: dict[str, Any]) -> None:
    finding = Finding(
        rule="coverage-hole", severity=Severity.WARN, message="m", cause="c", evidence=evidence
    )
    found = rendered(msgspec.structs.replace(CHECK, findings=[finding]))

    VALIDATOR.validate(found)
    assert found["findings"][0]["evidence"] == evidence


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_in_json_is_null(value: float) -> None:
    found = rendered(msgspec.structs.replace(CHECK, coverage=value))

    assert found["coverage"] is None


def test_the_schema_refuses_what_is_no_result() -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({**rendered(CHECK), "verdict": "fine"})
