"""Rates that contradict what was declared, and rates that another rule explains."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader.audits import audit, check
from detloader.findings import Result, Severity
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

RULE = "sampling-distribution"


def draw(weights: list[float], rows: int, seed: int = 0) -> list[int]:
    return random.Random(seed).choices(range(len(weights)), weights, k=rows)


def judge(folder: Path, records: list[Any], **declared: Any) -> Result:
    rows = {"epoch": [0] * len(records), "record": records}
    return check(write_run(folder / "run", rows, {"purpose": "train", "shuffle": True} | declared))


WEIGHTS = [1.0, 2.0, 4.0, 8.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("used", "cause"),
    [
        ([1 / weight for weight in WEIGHTS], "reciprocals"),
        ([weight**2 for weight in WEIGHTS], "squares"),
        (WEIGHTS[::-1], "reverse"),
        (WEIGHTS[-1:] + WEIGHTS[:-1], "late"),
        ([9.0, 1.0, 1.0, 1.0, 9.0, 1.0], "other weights"),
    ],
)
@pytest.mark.parametrize("text", [False, True])
def test_other_weights_than_the_declared_ones(
    used: list[float], cause: str, text: bool, tmp_path: Path
) -> None:
    records: list[Any] = draw(used, 3000)
    weights: Any = WEIGHTS
    if text:
        records = [f"r{record}" for record in records]
        weights = {f"r{record}": weight for record, weight in enumerate(WEIGHTS)}
    result = judge(tmp_path, records, weights=weights, replacement=True, source_size=6)
    (finding,) = findings_of(result, RULE)

    assert finding.severity is Severity.FAIL
    assert cause in finding.cause
    assert evidence_of(finding)["kind"] == "other weights"
    assert loud_rules(result) == [RULE]


def test_a_record_of_positive_weight_that_never_comes(tmp_path: Path) -> None:
    records = draw([1, 1, 1, 1, 0, 1, 1, 2], 4000)
    weights = [1.0, 1, 1, 1, 1, 1, 1, 2]
    (finding,) = findings_of(judge(tmp_path, records, weights=weights, replacement=True), RULE)

    assert evidence_of(finding)["never_drawn"] == [4]
    assert "p_declared" not in evidence_of(finding)
    assert "1 record of positive weight never came" in finding.message


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([-1.0, 2.0], "1 are below zero or not finite"),
        ([0.0, 0.0], "all are zero"),
        ({"0": float("nan"), "1": float("inf")}, "2 are below zero or not finite"),
    ],
)
def test_weights_that_nothing_can_be_drawn_by(weights: Any, said: str, tmp_path: Path) -> None:
    (finding,) = findings_of(judge(tmp_path, [1, 0, 1], weights=weights, replacement=True), RULE)

    assert finding.severity is Severity.FAIL
    assert said in finding.message
    assert evidence_of(finding)["kind"] == "no shares"


def test_weights_of_classes_drawn_by_now_and_then(tmp_path: Path) -> None:
    records = [1] * 300 + [*range(100)]
    result = judge(tmp_path, records, weights=[0.01, 0.1], replacement=True, source_size=100)
    (finding,) = findings_of(result, RULE)

    assert evidence_of(finding)["kind"] == "wrong length"
    assert (evidence_of(finding)["weights"], evidence_of(finding)["size"]) == (2, 100)
    assert evidence_of(finding)["unweighted"] == 98


def test_weights_of_classes_used_for_records_are_reported_once(tmp_path: Path) -> None:
    result = judge(
        tmp_path, draw([0.01, 0.1], 100), weights=[0.01, 0.1], replacement=True, source_size=100
    )

    assert len(loud_rules(result)) == 1


def test_more_weights_than_records(tmp_path: Path) -> None:
    result = judge(tmp_path, draw([1, 2], 50), weights=[1, 2, 3], replacement=True, source_size=2)

    assert evidence_of(findings_of(result, RULE)[0])["kind"] == "wrong length"


def test_a_mapping_that_lacks_records(tmp_path: Path) -> None:
    records = [f"r{record}" for record in draw([1, 2, 3], 80)]
    result = judge(tmp_path, records, weights={"r0": 1, "r1": 2}, replacement=True)

    assert evidence_of(findings_of(result, RULE)[0])["unweighted"] == records.count("r2")


@pytest.mark.parametrize("weights", [WEIGHTS, [1.0] * 6, [0.0, 1, 5, 1, 1, 1]])
@pytest.mark.parametrize("seed", range(3))
def test_draws_by_the_declared_weights_are_passed(
    weights: list[float], seed: int, tmp_path: Path
) -> None:
    result = judge(
        tmp_path, draw(weights, 2000, seed), weights=weights, replacement=True, source_size=6
    )

    assert loud_rules(result) == []


def test_weights_that_have_no_effect_are_another_fault(tmp_path: Path) -> None:
    uniform = judge(
        tmp_path / "a", draw([1] * 6, 3000), weights=WEIGHTS, replacement=True, source_size=6
    )
    weights = [1.0 + record % 5 for record in range(300)]
    permuted = random.Random(0).sample(range(300), 300)
    once = judge(tmp_path / "b", permuted, weights=weights, replacement=True, source_size=300)
    zero = judge(
        tmp_path / "c", [*draw(WEIGHTS[:5], 999), 5], weights=[*WEIGHTS[:5], 0], replacement=True
    )

    assert [loud_rules(result) for result in (uniform, once, zero)] == [["ignored-weights"]] * 3


def test_one_shard_for_all_rows_does_not_hide_a_permutation(tmp_path: Path) -> None:
    records = random.Random(3).sample(range(60), 60)
    rows: dict[str, list[Any]] = {"record": records, "shard": ["only.tar"] * 60}
    runs = [
        write_run(tmp_path / str(size), rows, {"replacement": True, "source_size": size})
        for size in (60, 120)
    ]
    whole, drawn = map(check, runs)

    assert evidence_of(findings_of(whole, RULE)[0])["kind"] == "without replacement"
    assert lacking(drawn, RULE) == ["whether records or whole shards are drawn"]


@pytest.mark.parametrize("weights", [None, [2.0] * 60])
def test_a_permutation_where_draws_are_declared(weights: Any, tmp_path: Path) -> None:
    declared = {"replacement": True, "source_size": 60} | ({"weights": weights} if weights else {})
    records = random.Random(3).sample(range(60), 60)
    (finding,) = findings_of(judge(tmp_path, records, **declared), RULE)

    assert evidence_of(finding)["kind"] == "without replacement"


def test_draws_where_a_permutation_is_declared(tmp_path: Path) -> None:
    result = judge(tmp_path, draw([1] * 200, 200), replacement=False, source_size=200)
    (finding,) = findings_of(result, RULE)

    assert evidence_of(finding)["kind"] == "with replacement"
    assert evidence_of(finding)["repeated"] > 40


@pytest.mark.parametrize(
    "records",
    [
        [*range(60)],
        [*range(58), 3, 4],
        [record for record in range(60) for _ in range(3)],
    ],
)
def test_passes_and_repeats_on_purpose_are_no_replacement(
    records: list[int], tmp_path: Path
) -> None:
    result = judge(tmp_path, records, replacement=False, source_size=60)

    assert findings_of(result, RULE) == []


def test_few_draws_prove_nothing(tmp_path: Path) -> None:
    result = judge(tmp_path, [3, 1, 2], replacement=True, source_size=40)

    assert lacking(result, RULE) == ["more rows"]


def test_what_it_lacks_is_named(tmp_path: Path) -> None:
    by_name = judge(tmp_path / "a", ["x", "y", "x"], weights=[1, 2], replacement=True)

    assert lacking(by_name, RULE) == ["index"]
    assert lacking(judge(tmp_path / "c", [1, 2]), RULE) == ["weights"]


def schedule(samples: list[int], parts: int, rounds: int) -> dict[str, list[Any]]:
    """Repeat each part for itself, and take from the parts in turn."""
    size = len(samples) // parts
    streams = []
    for part in range(parts):
        ids = range(part * size, (part + 1) * size)
        once = [(f"s{i}", f"s{i}/{window}") for i in ids for window in range(samples[i])]
        streams.append([once[place % len(once)] for place in range(rounds)])
    delivered = [item for items in zip(*streams, strict=True) for item in items]
    return {"record": [name for _, name in delivered], "shard": [shard for shard, _ in delivered]}


@pytest.mark.parametrize("shards", ["many", "one"])
@pytest.mark.parametrize("parts", [2, 3])
def test_parts_that_repeat_for_themselves(parts: int, shards: str, tmp_path: Path) -> None:
    samples = [1] * 6 + [9] * 6
    declared = {"purpose": "train", "shuffle": False, "source_size": sum(samples), "workers": parts}
    runs = []
    for name, count in (("a", 1), ("b", parts)):
        rows = schedule(samples, count, 1200 // count)
        told = rows if shards == "many" else {**rows, "shard": ["only.tar"] * len(rows["record"])}
        runs.append(write_run(tmp_path / name, told, declared))
    (finding,) = findings_of(audit(*runs), RULE)
    evidence = evidence_of(finding)

    assert (finding.severity, finding.run) == (Severity.FAIL, "b")
    assert evidence["by"] == ("shard" if shards == "many" else "record")
    if shards == "one":
        return
    assert evidence["partitions"][0] == parts
    assert [part["realised"] for part in evidence["parts"]] == pytest.approx([1 / parts] * parts)


def test_two_runs_that_draw_alike_are_passed(tmp_path: Path) -> None:
    declared = {"purpose": "train", "shuffle": True, "replacement": True, "source_size": 40}
    runs = [
        write_run(tmp_path / name, {"record": draw([1] * 40, 2000, seed)}, declared)
        for seed, name in enumerate("ab")
    ]

    assert findings_of(audit(*runs), RULE) == []


def test_passes_of_other_length_are_no_other_shares(tmp_path: Path) -> None:
    declared = {"purpose": "train", "shuffle": False, "source_size": 40}
    runs = [
        write_run(tmp_path / name, {"record": [*range(40)] * 30 + [*range(extra)]}, declared)
        for name, extra in (("a", 0), ("b", 35))
    ]

    assert findings_of(audit(*runs), RULE) == []


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    weights=st.lists(st.floats(0, 10, width=16), min_size=2, max_size=40).filter(
        lambda weights: sum(weights) > 0
    ),
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 3000),
)
def test_draws_by_any_weights_never_alarm(
    weights: list[float], seed: int, rows: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shares = np.array(weights) / sum(weights)
    records = np.random.default_rng(seed).choice(len(weights), rows, p=shares).tolist()
    result = judge(
        tmp_path_factory.mktemp("weights"),
        records,
        weights=weights,
        replacement=True,
        source_size=len(weights),
    )

    assert loud_rules(result) == []


def test_weights_of_classes_are_one_fault(tmp_path: Path) -> None:
    result = judge(tmp_path, draw([1, 9], 400), weights=[1, 9], replacement=True, source_size=50)

    assert loud_rules(result) == [RULE]
    assert evidence_of(result.findings[0])["kind"] == "wrong length"
