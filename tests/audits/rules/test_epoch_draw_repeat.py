"""Epochs whose draws were seen before, and draws that may repeat."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from detloader.audits import check
from detloader.findings import Result, Severity
from tests.support.results import evidence_of, findings_of, lacking
from tests.support.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RULE = "epoch-draw-repeat"
SIZE = 24


def number(*key: object) -> int:
    return random.Random(repr(key)).getrandbits(60)


def rows_of(
    draw: Callable[[int, int, int, int], int | None],
    *,
    epochs: int = 3,
    workers: int = 3,
    shuffle: bool = True,
    text: bool = False,
) -> dict[str, list[Any]]:
    """Deal records to workers; `draw(epoch, worker, place in the worker, record)`."""
    rows: dict[str, list[Any]] = {
        name: [] for name in ("epoch", "worker", "record", "draws", "seed")
    }
    for epoch in range(epochs):
        order = [*range(SIZE)]
        if shuffle:
            random.Random(f"order {epoch}").shuffle(order)
        for place, record in enumerate(order):
            worker = place % workers
            rows["epoch"].append(epoch)
            rows["worker"].append(worker)
            rows["record"].append(f"r{record}" if text else record * 5)
            rows["draws"].append(draw(epoch, worker, place // workers, record))
            rows["seed"].append(40)
    return rows


def judge(folder: Path, rows: dict[str, list[Any]], **declared: Any) -> Result:
    return check(write_run(folder / "run", rows, {"purpose": "train", "shuffle": True} | declared))


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("epochs", [2, 5, 40])
def test_workers_that_are_seeded_without_the_epoch(epochs: int, text: bool, tmp_path: Path) -> None:
    rows = rows_of(lambda _, worker, place, __: number(worker, place), epochs=epochs, text=text)
    (finding,) = findings_of(judge(tmp_path, rows), RULE)
    evidence = evidence_of(finding)

    assert finding.severity is Severity.FAIL
    assert evidence["follows"] == "worker and position"
    assert evidence["epochs_count"] == epochs - 1
    assert evidence["epochs"][0] == [0, 1]
    assert set(evidence["seeds"]) == {40}


def test_ranks_that_are_seeded_without_the_epoch(tmp_path: Path) -> None:
    rows = rows_of(lambda _, rank, place, __: number(rank, place))
    rows["rank"] = rows.pop("worker")
    (finding,) = findings_of(judge(tmp_path, rows, world_size=3), RULE)

    assert evidence_of(finding)["follows"] == "rank and position"


def test_an_epoch_that_repeats_an_earlier_one_but_one(tmp_path: Path) -> None:
    rows = rows_of(lambda epoch, worker, place, _: number(epoch % 2, worker, place), epochs=4)
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["epochs"] == [[0, 2], [1, 3]]


def test_augmentation_that_is_frozen_for_each_record(tmp_path: Path) -> None:
    rows = rows_of(lambda _, __, ___, record: number(record))
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["follows"] == "record"


def test_frozen_augmentation_without_a_shuffle(tmp_path: Path) -> None:
    rows = rows_of(lambda _, worker, place, __: number(worker, place), shuffle=False)
    (finding,) = findings_of(judge(tmp_path, rows, shuffle=False), RULE)

    assert evidence_of(finding)["follows"] == "record and position"


def test_a_cache_that_took_the_draws_of_the_first_epoch(tmp_path: Path) -> None:
    rows = rows_of(lambda epoch, *key: number(*key) if epoch == 0 else None)
    (finding,) = findings_of(judge(tmp_path / "a", rows, cache=True), RULE)

    assert evidence_of(finding)["follows"] == "cache"
    assert evidence_of(finding)["epochs"] == [[0, 1], [0, 2]]
    assert findings_of(judge(tmp_path / "b", rows, cache=False), RULE) == []
    assert "cache" in lacking(judge(tmp_path / "c", rows), RULE)[0]


def test_a_last_epoch_that_was_cut_short(tmp_path: Path) -> None:
    rows = rows_of(lambda _, worker, place, __: number(worker, place))
    rows = {name: values[: 2 * SIZE + 15] for name, values in rows.items()}
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["epochs_count"] == 2


def test_the_transform_that_repeats_is_named(tmp_path: Path) -> None:
    rows = rows_of(lambda epoch, worker, place, _: number(epoch, worker, place))
    rows["draws_crop"] = [number(place % SIZE) for place in range(3 * SIZE)]
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["column"] == "draws_crop"


def test_copied_workers_that_start_anew_have_both_faults(tmp_path: Path) -> None:
    rows = rows_of(lambda _, __, place, ___: number(place), workers=2)
    rules = [finding.rule for finding in judge(tmp_path, rows).findings]

    assert rules == ["worker-rng-clone", RULE]


def test_a_loader_that_starts_anew_as_a_whole_is_another_fault(tmp_path: Path) -> None:
    rows = rows_of(lambda _, worker, place, __: number(worker, place))
    order = rows["record"][:SIZE]
    rows["record"] = order * 3
    rules = [finding.rule for finding in judge(tmp_path, rows).findings]

    assert "epoch-order-repeat" in rules
    assert RULE not in rules


@pytest.mark.parametrize("values", [2, 3, 1 << 50])
def test_new_draws_in_each_epoch_are_passed(values: int, tmp_path: Path) -> None:
    rows = rows_of(lambda *key: number(*key) % values, epochs=6)

    assert findings_of(judge(tmp_path, rows), RULE) == []


@pytest.mark.parametrize(
    "declared",
    [
        {"purpose": "eval"},
        {"order_policy": "fixed"},
        {"config": {"fixed_draws": True}},
    ],
)
def test_fixed_augmentation_is_declared(declared: dict[str, Any], tmp_path: Path) -> None:
    rows = rows_of(lambda _, __, ___, record: number(record))

    assert findings_of(judge(tmp_path, rows, **declared), RULE) == []


def test_a_transform_without_randomness_is_no_evidence(tmp_path: Path) -> None:
    rows = rows_of(lambda *_: 17)
    result = judge(tmp_path, rows)

    assert findings_of(result, RULE) == []
    assert "more draws" in lacking(result, RULE)[0]


def test_what_it_lacks_is_named(tmp_path: Path) -> None:
    rows = rows_of(lambda _, worker, place, __: number(worker, place))
    one_epoch = {name: values[:SIZE] for name, values in rows.items()}
    no_draws = {name: values for name, values in rows.items() if name != "draws"}
    no_epoch = {name: values for name, values in rows.items() if name != "epoch"}
    unknown = check(write_run(tmp_path / "unknown", rows, {}))

    assert lacking(judge(tmp_path / "a", one_epoch), RULE) == ["at least 2 epochs"]
    assert lacking(judge(tmp_path / "b", no_draws), RULE) == ["draws"]
    assert lacking(judge(tmp_path / "c", no_epoch), RULE) == ["epoch"]
    assert lacking(unknown, RULE) == ["purpose"]


@pytest.mark.parametrize("kept", [True, False])
def test_content_tells_whether_later_epochs_keep_what_the_first_one_drew(
    kept: bool, tmp_path: Path
) -> None:
    rows = rows_of(lambda epoch, _, __, record: None if epoch else number(record))
    made = [
        number(record, 0 if kept else epoch)
        for epoch, record in zip(rows["epoch"], rows["record"], strict=True)
    ]
    result = judge(tmp_path, rows | {"content": made})

    if kept:
        assert evidence_of(findings_of(result, RULE)[0])["follows"] == "cache"
    else:
        assert lacking(result, RULE) == ["cache: later epochs take no draws"]
