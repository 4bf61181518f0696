"""Equal samples under unequal configurations, and configurations that change no sample."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import pytest

from detloader.audits import audit
from detloader.findings import Result, Severity, Verdict
from tests.support.results import evidence_of, findings_of, lacking
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

RULE = "stale-cache"


def rows(records: list[Any], shift: int = 0) -> dict[str, list[Any]]:
    return {"record": records, "content": [zlib.crc32(str(r).encode()) + shift for r in records]}


def compare(
    folder: Path,
    config_a: Any,
    config_b: Any,
    rows_a: dict[str, Any] | None = None,
    rows_b: dict[str, Any] | None = None,
    *,
    cache: Any = True,
) -> Result:
    return audit(
        write_run(folder / "a", rows_a or rows([0, 1, 2]), {"cache": cache, "config": config_a}),
        write_run(folder / "b", rows_b or rows([0, 1, 2]), {"cache": cache, "config": config_b}),
    )


@pytest.mark.parametrize("cache", [True, "/cache/tokens"])
def test_a_changed_entry_without_a_changed_sample(cache: Any, tmp_path: Path) -> None:
    result = compare(tmp_path, {"scale": 2, "crop": 8}, {"scale": 3, "crop": 8}, cache=cache)
    (finding,) = result.findings

    assert result.verdict is Verdict.IDENTICAL
    assert (finding.rule, finding.severity) == (RULE, Severity.FAIL)
    assert evidence_of(finding)["config"] == {"scale": [2, 3]}
    assert evidence_of(finding)["rows"] == 3


def test_an_entry_that_was_added(tmp_path: Path) -> None:
    (finding,) = findings_of(compare(tmp_path, {}, {"limit": {"tokens": 9}}), RULE)

    assert evidence_of(finding)["config"] == {"limit": [None, {"tokens": 9}]}


def test_equal_samples_in_another_order(tmp_path: Path) -> None:
    a, b = rows(["x", "y", "z"]), rows(["z", "x", "y"])
    result = compare(tmp_path, {"scale": 2}, {"scale": 3}, a, b)

    assert result.verdict is Verdict.REORDERED
    assert [finding.rule for finding in result.findings] == [RULE]


def test_equal_samples_of_equal_raw_bytes(tmp_path: Path) -> None:
    both = rows([0, 1, 2]) | {"raw": [7, 8, 9]}
    (finding,) = findings_of(compare(tmp_path, {"scale": 2}, {"scale": 3}, both, both), RULE)

    assert evidence_of(finding)["raw"] is True


def test_samples_that_changed_with_the_configuration_are_clean(tmp_path: Path) -> None:
    result = compare(tmp_path, {"scale": 2}, {"scale": 3}, None, rows([0, 1, 2], shift=5))

    assert findings_of(result, RULE) == []


@pytest.mark.parametrize(
    ("config_a", "config_b"),
    [
        ({"prefetch": 2}, {"prefetch": 8}),
        ({"num_threads": 1, "buffer_size": 10}, {"num_threads": 4}),
        ({"lr": 0.1, "output_dir": "x"}, {"lr": 0.2, "output_dir": "y"}),
        ({"note": "x"}, {"note": "y", "inert": ["note"]}),
        ({"scale": 2}, {"scale": 2}),
    ],
)
def test_entries_that_change_no_sample_are_clean(
    config_a: Any, config_b: Any, tmp_path: Path
) -> None:
    assert compare(tmp_path, config_a, config_b).findings == []


@pytest.mark.parametrize("cache", [False, ""])
def test_without_a_cache_a_configuration_may_have_no_effect(cache: Any, tmp_path: Path) -> None:
    assert compare(tmp_path, {"scale": 2}, {"scale": 3}, cache=cache).findings == []


def test_without_content_it_cannot_tell(tmp_path: Path) -> None:
    bare = {"record": [0, 1, 2]}
    result = compare(tmp_path, {"scale": 2}, {"scale": 3}, bare, bare)

    assert (result.findings, lacking(result, RULE)) == ([], ["content"])


def test_whether_there_was_a_cache_and_what_was_configured_is_asked_for(tmp_path: Path) -> None:
    def judge(name: str, a: dict[str, Any], b: dict[str, Any]) -> list[str]:
        runs = [write_run(tmp_path / name / "a", rows([0, 1]), a)]
        return lacking(audit(*runs, write_run(tmp_path / name / "b", rows([0, 1]), b)), RULE)

    assert judge("c", {"config": {"scale": 2}}, {"config": {"scale": 3}}) == ["cache"]
    assert judge("d", {"cache": True, "config": {}}, {"cache": True}) == ["config"]
