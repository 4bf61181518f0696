"""Members and labels that are out of step, and members that owe each other nothing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from detloader.audits import check
from detloader.findings import Result, Severity
from tests.support.results import evidence_of, findings_of, lacking
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

RULE = "alignment"


def judge(folder: Path, rows: dict[str, list[Any]], **declared: Any) -> Result:
    return check(write_run(folder / "run", rows, declared))


def pairs(size: int) -> dict[str, list[Any]]:
    draws = [1000 + record for record in range(size)]
    return {"record": [*range(size)], "draws_image": draws, "draws_mask": [*draws]}


@pytest.mark.parametrize("wrong", [[3], [*range(30)]])
@pytest.mark.parametrize("text", [False, True])
def test_members_of_other_draws_are_found(wrong: list[int], text: bool, tmp_path: Path) -> None:
    rows = pairs(30)
    for row in wrong:
        rows["draws_mask"][row] += 500
    if text:
        rows["record"] = [f"r{record}" for record in rows["record"]]
        rows["draws_image"] = [f"crop {draw}" for draw in rows["draws_image"]]
        rows["draws_mask"] = [f"crop {draw}" for draw in rows["draws_mask"]]
    (finding,) = findings_of(judge(tmp_path, rows), RULE)
    evidence = evidence_of(finding)

    assert finding.severity is Severity.FAIL
    assert evidence["members"] == ["draws_image", "draws_mask"]
    assert (evidence["rows"], evidence["compared"]) == (len(wrong), 30)
    assert evidence["examples"][0]["row"] == wrong[0]
    assert len(evidence["examples"]) == min(len(wrong), 20)


def test_a_third_member_is_found(tmp_path: Path) -> None:
    rows = pairs(8)
    rows["draws_depth"] = [draw + 1 for draw in rows["draws_mask"]]
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert "draws_depth" in evidence_of(finding)["members"]


def test_equal_members_are_passed(tmp_path: Path) -> None:
    assert findings_of(judge(tmp_path, pairs(8)), RULE) == []


def test_a_member_without_a_draw_is_a_warning(tmp_path: Path) -> None:
    rows = pairs(8)
    rows["draws_mask"][2] = None
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert finding.severity is Severity.WARN
    assert evidence_of(finding)["one_sided"] == 1


@pytest.mark.parametrize("config", [{"independent_draws": ["mask"]}, {"unpaired": True}])
def test_members_that_are_independent_are_declared(config: Any, tmp_path: Path) -> None:
    rows = pairs(8) | {"draws_mask": [*range(8)]}
    rows["label_used"] = rows["label_true"] = [1] * 8

    assert findings_of(judge(tmp_path, rows, config=config), RULE) == []


@pytest.mark.parametrize("offset", [1, 4, -2])
@pytest.mark.parametrize("text", [False, True])
def test_labels_that_are_late(offset: int, text: bool, tmp_path: Path) -> None:
    source = random.Random(3)
    labels: list[Any] = [source.randrange(10) for _ in range(50)]
    if text:
        labels = [f"class {label}" for label in labels]
    late = labels[-offset:] + labels[:-offset]
    rows = {"record": [*range(50)], "label_used": late, "label_true": labels}
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert finding.severity is Severity.FAIL
    assert evidence_of(finding)["members"] == ["label_used", "label_true"]
    assert evidence_of(finding)["offset"] == offset


def test_single_wrong_labels_have_no_offset(tmp_path: Path) -> None:
    rows = {"record": [*range(9)], "label_true": [0, 1, 2] * 3, "label_used": [0, 1, 2] * 3}
    rows["label_used"][4] = 0
    (finding,) = findings_of(judge(tmp_path / "a", rows), RULE)

    assert evidence_of(finding)["offset"] is None
    assert evidence_of(finding)["rows"] == 1
    assert findings_of(judge(tmp_path / "b", rows, config={"label_noise": True}), RULE) == []


def test_draws_and_labels_are_two_faults(tmp_path: Path) -> None:
    rows = pairs(6) | {"label_used": [1] * 6, "label_true": [1] * 5 + [0]}
    rows["draws_mask"][0] = 5

    assert len(findings_of(judge(tmp_path, rows), RULE)) == 2


def test_what_it_lacks_is_named(tmp_path: Path) -> None:
    missing = lacking(judge(tmp_path, {"record": [1, 2], "draws_image": [5, 6]}), RULE)

    assert missing == ["two columns draws_NAME, or label_used and label_true"]
