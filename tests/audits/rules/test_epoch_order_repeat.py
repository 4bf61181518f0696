"""Epochs of one order, by whatever cause, and equal epochs that are meant."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from detloader.audits import audit, check
from detloader.findings import Result, Severity
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RULE = "epoch-order-repeat"


def epochs_of(orders: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    return {
        "epoch": [number for number, order in enumerate(orders) for _ in order],
        "record": [record for order in orders for record in order],
    }


def shuffled(size: int, seed: int) -> list[int]:
    return random.Random(seed).sample(range(size), size)


def judge(folder: Path, rows: dict[str, Any], **declared: Any) -> Result:
    return check(write_run(folder / "run", rows, {"shuffle": True} | declared))


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("size", [16, 96, 1000])
def test_two_epochs_of_one_order_are_caught(size: int, text: bool, tmp_path: Path) -> None:
    order: list[Any] = shuffled(size, 1)
    if text:
        order = [f"r{record:05}" for record in order]
    (finding,) = findings_of(judge(tmp_path, epochs_of([order, order])), RULE)

    assert finding.severity is Severity.FAIL
    assert evidence_of(finding)["epochs"] == [[0, 1]]
    assert evidence_of(finding)["rows"] == size


def test_groups_of_epochs_and_a_last_one_that_is_cut_short(tmp_path: Path) -> None:
    one, other, third = (shuffled(30, seed) for seed in range(3))
    result = judge(tmp_path, epochs_of([one, other, one, third, other[:11]]))

    assert evidence_of(findings_of(result, RULE)[0])["epochs"] == [[0, 2], [1, 4]]


def test_the_seed_column_names_the_cause(tmp_path: Path) -> None:
    rows = epochs_of([shuffled(20, 1)] * 2)
    (stuck,) = findings_of(judge(tmp_path / "stuck", rows | {"seed": [7] * 40}), RULE)
    (other,) = findings_of(judge(tmp_path / "other", rows | {"seed": [7] * 20 + [8] * 20}), RULE)

    assert "never told the epoch" in stuck.cause
    assert evidence_of(stuck)["seeds"] == [7, 7]
    assert "never told the epoch" not in other.cause


def test_one_stuck_rank_of_several_is_named(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {"epoch": [], "rank": [], "record": []}
    for epoch in range(3):
        for rank in range(2):
            order = shuffled(20, seed=0 if rank else epoch)
            rows["epoch"] += [epoch] * 20
            rows["rank"] += [rank] * 20
            rows["record"] += [40 * rank + record for record in order]
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["ranks"] == [1]


def test_a_shuffle_that_never_takes_place_is_caught(tmp_path: Path) -> None:
    assert len(findings_of(judge(tmp_path, epochs_of([range(20), range(20)])), RULE)) == 1


@pytest.mark.parametrize(
    "declared",
    [
        {"shuffle": False},
        {"purpose": "eval"},
        {"order_policy": "fixed"},
        {"config": {"reshuffle_each_iteration": False}},
        {"config": {"reshuffle_each_epoch": False}},
    ],
)
def test_equal_epochs_that_are_meant_are_passed(declared: dict[str, Any], tmp_path: Path) -> None:
    result = judge(tmp_path, epochs_of([shuffled(50, 1)] * 3), **declared)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == []


@pytest.mark.parametrize(("elements", "judged"), [(1, False), (3, False), (20, True)])
def test_as_many_orders_count_as_there_are_of_the_elements_that_are_shuffled(
    elements: int, judged: bool, tmp_path: Path
) -> None:
    config = {"shuffled_elements": elements}
    result = judge(tmp_path, epochs_of([shuffled(50, 1)] * 3), config=config)

    assert bool(findings_of(result, RULE)) is judged
    assert bool(lacking(result, RULE)) is not judged


def test_a_policy_of_the_users_own_cannot_be_judged(tmp_path: Path) -> None:
    result = judge(tmp_path, epochs_of([range(50)] * 2), order_policy="curriculum")

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["whether order_policy 'curriculum' means equal epochs"]


def test_short_epochs_may_repeat_by_chance(tmp_path: Path) -> None:
    result = judge(tmp_path, epochs_of([shuffled(6, 1)] * 2))

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["longer epochs: 6 rows may repeat by chance"]


def test_few_shards_in_one_order_may_repeat_by_chance(tmp_path: Path) -> None:
    order = [record for shard in (2, 0, 3, 1) for record in range(50 * shard, 50 * shard + 50)]

    assert findings_of(judge(tmp_path, epochs_of([order, order])), RULE) == []


def test_one_epoch_is_no_evidence(tmp_path: Path) -> None:
    assert lacking(judge(tmp_path, epochs_of([shuffled(50, 1)])), RULE) == ["at least 2 epochs"]


def test_epochs_of_other_orders_are_passed(tmp_path: Path) -> None:
    assert (
        findings_of(judge(tmp_path, epochs_of([shuffled(20, seed) for seed in range(4)])), RULE)
        == []
    )


def test_batches_that_are_shuffled_whole_count_as_so_many(tmp_path: Path) -> None:
    batches = [shuffled(24, 1)[start : start + 8] for start in (0, 8, 16)]
    orders = [[0, 1, 2], [2, 0, 1], [0, 1, 2], [1, 2, 0]]
    epochs = [[record for number in order for record in batches[number]] for order in orders]
    result = judge(tmp_path, epochs_of(epochs))

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["longer epochs: 24 rows may repeat by chance"]


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_shuffle_that_nobody_declared_and_that_is_never_told_the_epoch(
    swapped: bool, text: bool, tmp_path: Path
) -> None:
    orders: list[list[Any]] = [shuffled(61, epoch) for epoch in range(3)]
    if text:
        orders = [[f"r{record}" for record in order] for order in orders]
    runs = [
        write_run(tmp_path / name, epochs_of(each))
        for name, each in (("told", orders), ("never", [orders[0]] * 3))
    ]
    result = audit(*(runs[::-1] if swapped else runs))
    (finding,) = findings_of(result, RULE)

    assert (finding.severity, finding.run) == (Severity.FAIL, "a" if swapped else "b")
    assert loud_rules(result) == [RULE]
    assert evidence_of(finding)["epoch_of_other"] == 0
    assert "never told the epoch" in str(finding.cause)


@pytest.mark.parametrize(
    ("never", "declared"),
    [
        ([[*range(61)]] * 3, {}),
        ([shuffled(61, 0)] * 3, {"order_policy": "fixed"}),
        ([shuffled(61, 0)] * 3, {"config": {"reshuffle_each_iteration": False}}),
        ([shuffled(61, 0)], {}),
        ([shuffled(61, 0), shuffled(61, 0), shuffled(61, 5)], {}),
    ],
    ids=["the source's order", "a policy", "an argument", "one epoch", "not all"],
)
def test_epochs_of_another_order_than_the_shuffles_or_on_purpose_are_passed(
    never: list[list[int]], declared: dict[str, Any], tmp_path: Path
) -> None:
    a = write_run(tmp_path / "a", epochs_of([shuffled(61, epoch) for epoch in range(3)]))
    b = write_run(tmp_path / "b", epochs_of(never), declared)

    assert findings_of(audit(a, b), RULE) == []
