"""Splits that share records, and splits that may."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader.audits import check
from detloader.findings import Result, Severity
from tests.support.results import evidence_of, findings_of, lacking
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

RULE = "split-leak"


def rows_of(epochs: list[dict[str, list[int]]], *, text: bool = False) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {name: [] for name in ("epoch", "split", "record")}
    for epoch, splits in enumerate(epochs):
        for split, records in splits.items():
            rows["epoch"] += [epoch] * len(records)
            rows["split"] += [split] * len(records)
            rows["record"] += [f"r{record}" if text else record * 10 for record in records]
    return rows


def reshuffled(size: int, share: int, epochs: int) -> list[dict[str, list[int]]]:
    orders = [random.Random(epoch).sample(range(size), size) for epoch in range(epochs)]
    return [{"train": order[share:], "val": order[:share]} for order in orders]


def judge(folder: Path, rows: dict[str, list[Any]], **declared: Any) -> Result:
    return check(write_run(folder / "run", rows, declared))


@pytest.mark.parametrize("size", [20, 500])
@pytest.mark.parametrize("text", [False, True])
def test_membership_that_moves_between_epochs(size: int, text: bool, tmp_path: Path) -> None:
    rows = rows_of(reshuffled(size, size // 5, 3), text=text)
    (finding,) = findings_of(judge(tmp_path, rows), RULE)
    evidence = evidence_of(finding)

    assert finding.severity is Severity.FAIL
    assert evidence["by"] == "record"
    assert set(evidence["splits"]) == {"train", "val"}
    assert evidence["membership_changes"].keys() == {"1", "2"}
    assert evidence["first"]["epoch"] == 1


def test_splits_that_overlap_and_stay(tmp_path: Path) -> None:
    epoch = {"train": [*range(8)], "test": [6, 7, 8, 9]}
    (finding,) = findings_of(judge(tmp_path, rows_of([epoch, epoch])), RULE)
    evidence = evidence_of(finding)

    assert evidence["records"] == [60, 70]
    assert evidence["share"] == 0.5
    assert evidence["membership_changes"] == {"1": 0}
    assert evidence["first"] == {"row": 8, "epoch": 0, "record": 60}


def test_one_record_under_two_ids(tmp_path: Path) -> None:
    rows = rows_of([{"train": [0, 1, 2, 3], "val": [4, 5]}])
    rows["raw"] = [900, 901, 902, 903, 902, 905]
    (finding,) = findings_of(judge(tmp_path / "raw", rows), RULE)
    assert evidence_of(finding)["by"] == "raw"
    assert evidence_of(finding)["records"] == [20, 40]

    rows["content"] = rows.pop("raw")
    (finding,) = findings_of(judge(tmp_path / "content", rows), RULE)
    assert evidence_of(finding)["by"] == "content"

    rows["draws"] = [*range(6)]
    assert findings_of(judge(tmp_path / "drawn", rows), RULE) == []


def test_empty_images_are_not_one_record(tmp_path: Path) -> None:
    rows = rows_of([{"train": [0, 1, 2, 3], "val": [4, 5]}])
    rows["raw"] = [0, 0, 902, 903, 0, 905]

    assert findings_of(judge(tmp_path, rows), RULE) == []


def test_splits_that_share_nothing_are_passed(tmp_path: Path) -> None:
    orders = [random.Random(epoch).sample(range(20), 20) for epoch in range(3)]
    rows = rows_of([{"train": order, "valid": [20, 21, 22]} for order in orders])

    assert findings_of(judge(tmp_path, rows), RULE) == []


@pytest.mark.parametrize("names", [("train", "train_eval"), ("val", "test")])
def test_splits_of_one_purpose_may_share(names: tuple[str, str], tmp_path: Path) -> None:
    rows = rows_of([{names[0]: [1, 2, 3], names[1]: [2, 3]}])

    assert findings_of(judge(tmp_path, rows), RULE) == []


def test_three_splits_are_judged_pair_by_pair(tmp_path: Path) -> None:
    rows = rows_of([{"train": [1, 2, 3], "val": [3, 4], "test": [1, 5]}])

    assert len(findings_of(judge(tmp_path, rows), RULE)) == 2


def test_folds_are_compared_inside_one_fold(tmp_path: Path) -> None:
    rows = rows_of([{"train": [2, 3, 4, 5], "val": [0, 1]}, {"train": [0, 1, 4, 5], "val": [2, 3]}])
    alone = judge(tmp_path / "alone", rows, config={"folds": 3})
    rows["fold"] = rows.pop("epoch")
    sound = judge(tmp_path / "sound", rows)
    rows["record"][0] = 0
    leaking = judge(tmp_path / "leaking", rows)

    assert lacking(alone, RULE) == ["fold"]
    assert findings_of(sound, RULE) == []
    assert evidence_of(findings_of(leaking, RULE)[0])["records"] == [0]


def test_rows_of_padding_are_nobodys(tmp_path: Path) -> None:
    rows = rows_of([{"train": [1, 2, 3], "val": [4, 1]}])
    rows["padding"] = [False] * 4 + [True]

    assert findings_of(judge(tmp_path, rows), RULE) == []


def test_evaluation_on_training_records_is_declared(tmp_path: Path) -> None:
    rows = rows_of([{"train": [1, 2, 3], "val": [2]}])

    assert findings_of(judge(tmp_path, rows, config={"evaluate_on_train": True}), RULE) == []


def test_what_it_lacks_is_named(tmp_path: Path) -> None:
    numbered = rows_of([{"a": [1, 2], "b": [2]}])

    assert lacking(judge(tmp_path / "a", {"record": [1]}), RULE) == ["split"]
    assert "names" in lacking(judge(tmp_path / "b", numbered), RULE)[0]


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(train=st.sets(st.integers(0, 40), min_size=1), val=st.sets(st.integers(0, 40), min_size=1))
def test_exactly_the_shared_records_are_named(
    train: set[int], val: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = rows_of([{"train": sorted(train), "val": sorted(val)}])
    found = findings_of(judge(tmp_path_factory.mktemp("splits"), rows), RULE)
    shared = sorted(10 * record for record in train & val)

    assert [evidence_of(finding)["records"] for finding in found] == (
        [shared[:20]] if shared else []
    )
