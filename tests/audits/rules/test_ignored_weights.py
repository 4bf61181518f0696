"""Weights without effect, and weights that work."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from detloader.audits import audit, check
from detloader.findings import Result, Severity
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

RULE = "ignored-weights"


def judge(folder: Path, record: list[Any], *, extra: Any = None, **declared: Any) -> Result:
    rows = {"record": record} | (extra or {})
    return check(write_run(folder / "run", rows, {"shuffle": True, "replacement": True} | declared))


@pytest.mark.parametrize("kind", ["position", "index", "text", "sparse"])
def test_equal_rates_under_unequal_weights_are_caught(kind: str, tmp_path: Path) -> None:
    drawn = random.Random(0).choices(range(5), k=1500)
    weights: Any = [1, 2, 3, 4, 5]
    record: list[Any] = drawn
    extra = None
    if kind == "index":
        record, extra = [f"r{place}" for place in drawn], {"index": drawn}
    if kind == "text":
        record, weights = [f"r{place}" for place in drawn], {f"r{n}": n + 1 for n in range(5)}
    if kind == "sparse":
        record, weights = [70 * place for place in drawn], {str(70 * n): n + 1 for n in range(5)}
    result = judge(tmp_path, record, extra=extra, weights=weights, source_size=5)

    assert loud_rules(result) == [RULE]
    evidence = evidence_of(findings_of(result, RULE)[0])
    assert evidence["p_declared"] < 1e-8 < evidence["p_uniform"]
    assert evidence["effect"] == pytest.approx(3, rel=0.2)
    if kind in {"position", "sparse"}:
        assert evidence["records"][0]["record"] in {0, 4, 280}


def test_weights_that_work_are_passed(tmp_path: Path) -> None:
    weights = [0, 1, 1, 2, 2, 10]
    record = random.Random(0).choices(range(6), weights, k=2000)

    assert loud_rules(judge(tmp_path, record, weights=weights, source_size=6)) == []


def test_many_different_weights_are_judged_in_groups(tmp_path: Path) -> None:
    weights = [1 + place / 10 for place in range(300)]
    rng = random.Random(0)
    right = judge(tmp_path / "right", rng.choices(range(300), weights, k=3000), weights=weights)
    wrong = judge(tmp_path / "wrong", rng.choices(range(300), k=3000), weights=weights)

    assert loud_rules(right) == []
    assert loud_rules(wrong) == [RULE]


def test_a_record_of_weight_zero_that_comes_needs_no_statistics(tmp_path: Path) -> None:
    result = judge(tmp_path, [0, 1, 2, 1], weights=[1, 1, 0], source_size=3)

    assert loud_rules(result) == [RULE]
    assert evidence_of(findings_of(result, RULE)[0])["zero_weight_drawn"] == [2]


def test_permutations_in_place_of_draws_are_caught(tmp_path: Path) -> None:
    weights = [1.0] * 20 + [4.0] * 10
    rng = random.Random(0)
    record = [place for _ in range(2) for place in rng.sample(range(30), 30)]
    extra = {"epoch": [0] * 30 + [1] * 30}
    result = judge(tmp_path, record, extra=extra, weights=weights, source_size=30)

    assert loud_rules(result) == [RULE]


def test_without_replacement_weights_move_the_order_alone(tmp_path: Path) -> None:
    weights = [1.0] * 20 + [4.0] * 10
    record = random.Random(0).sample(range(30), 30)

    for number, replacement in enumerate(({"replacement": False}, {})):
        run = write_run(
            tmp_path / str(number),
            {"record": record},
            {"shuffle": True, "weights": weights} | replacement,
        )
        result = check(run)

        assert loud_rules(result) == []
        assert lacking(result, RULE) == ["more epochs, for weights may move the order alone"]


def drawn_once(weights: list[float], seed: int) -> list[int]:
    """Draw each record once, by its weight among those that are left."""
    rng = random.Random(seed)
    lots = {place: rng.expovariate(weight) for place, weight in enumerate(weights)}
    return sorted(lots, key=lots.__getitem__)


@pytest.mark.parametrize("replacement", [{}, {"replacement": False}])
@pytest.mark.parametrize("kept", [60, 40])
def test_orders_of_many_epochs_show_whether_weights_moved_them(
    replacement: dict[str, bool], kept: int, tmp_path: Path
) -> None:
    weights = [9.0, *[1.0] * 9] * 6
    declared = {"shuffle": True, "weights": weights, "source_size": 60} | replacement
    epochs = {
        "sound": [drawn_once(weights, epoch)[:kept] for epoch in range(40)],
        "plain": [random.Random(epoch).sample(range(60), 60)[:kept] for epoch in range(40)],
    }
    results = {
        name: check(
            write_run(
                tmp_path / name,
                {
                    "epoch": [epoch for epoch in range(40) for _ in range(kept)],
                    "record": [place for order in orders for place in order],
                },
                declared | ({} if kept == 60 else {"num_samples": kept}),
            ),
            select=[RULE],
        )
        for name, orders in epochs.items()
    }

    assert loud_rules(results["sound"]) == []
    assert lacking(results["sound"], RULE) == []
    assert loud_rules(results["plain"]) == [RULE]


def test_of_several_ranks_an_order_does_not_tell(tmp_path: Path) -> None:
    weights = [9.0, *[1.0] * 9] * 6
    orders = [random.Random(epoch).sample(range(60), 60) for epoch in range(40)]
    rows = {
        "epoch": [epoch for epoch in range(40) for _ in range(60)],
        "rank": [place % 2 for _ in range(40) for place in range(60)],
        "record": [place for order in orders for place in order],
    }
    declared = {"shuffle": True, "weights": weights, "source_size": 60}
    unknown = check(write_run(tmp_path / "unknown", rows, declared))
    declared |= {"replacement": True}
    told = check(write_run(tmp_path / "told", rows, declared))

    assert lacking(unknown, RULE) == ["replacement: without it, weights move the order alone"]
    assert loud_rules(told) == [RULE]


def test_weights_that_the_other_run_dropped_are_the_cause(tmp_path: Path) -> None:
    weights = [1, 2, 3, 4, 5]
    rng = random.Random(0)
    told = {"shuffle": True, "source_size": 5}
    drawn = rng.choices(range(5), weights, k=1500)
    a = write_run(
        tmp_path / "a", {"record": drawn}, told | {"weights": weights, "replacement": True}
    )
    plain = write_run(tmp_path / "plain", {"record": rng.choices(range(5), k=1500)}, told)
    drawn = rng.choices(range(5), weights, k=1500)
    undeclared = write_run(tmp_path / "undeclared", {"record": drawn}, told)

    (finding,) = findings_of(audit(a, plain), RULE)
    assert (finding.run, finding.cause) == ("b", "The weights of the baseline were dropped.")
    assert findings_of(audit(a, undeclared), RULE) == []
    assert lacking(audit(plain, undeclared), RULE) == ["weights"]


@pytest.mark.parametrize("kind", ["rates", "permutations", "zero"])
def test_weights_that_the_baseline_lacks_are_the_cause_too(kind: str, tmp_path: Path) -> None:
    rng = random.Random(0)
    weights = [0.0 if kind == "zero" else 1.0, *[1.0] * 14, *[9.0] * 15]
    rows = [record for _ in range(40) for record in rng.sample(range(30), 30)]
    plain = rows if kind == "permutations" else rng.choices(range(30), k=6000)
    rows = rng.choices(range(30), weights, k=len(plain))
    each = 30 if kind == "permutations" else 6000
    epoch = [place // each for place in range(len(plain))]
    told = {"shuffle": True, "source_size": 30, "seed": 1}
    sampler = {"weighted": {"sampler": "Weighted"}, "plain": {"sampler": "Plain"}}
    a = write_run(
        tmp_path / "a", {"record": plain, "epoch": epoch}, told | {"config": sampler["plain"]}
    )
    declared = {"weights": weights, "replacement": True, "config": sampler["weighted"]}
    b = write_run(tmp_path / "b", {"record": rows, "epoch": epoch}, told | declared)
    result = audit(a, b)
    finding = result.findings[0]

    assert (finding.rule, finding.severity, finding.run) == (RULE, Severity.WARN, "a")
    assert finding.message.startswith("In run a, which has no weights where run b has, ")
    assert finding.cause == "The baseline was drawn by Plain, which reads no weights."
    assert evidence_of(finding)["sampler"] == ["Plain", "Weighted"]


def test_other_rates_are_no_fault_of_their_own_where_weights_were_dropped(tmp_path: Path) -> None:
    rng = random.Random(0)
    weights = [*[1.0] * 48, *[9.0] * 49]
    told = {"shuffle": True, "source_size": 97, "num_samples": 500, "replacement": True}
    epoch = [place // 500 for place in range(2000)]
    rows = [
        {"record": rng.choices(range(97), each, k=2000), "epoch": epoch} for each in (weights, None)
    ]
    a = write_run(tmp_path / "a", rows[0], told | {"weights": weights})
    b = write_run(tmp_path / "b", rows[1], told)

    assert loud_rules(audit(a, b)) == [RULE]
    assert loud_rules(audit(a, b, ignore=[RULE])) == ["sampling-distribution"]


def test_weights_that_neither_run_is_drawn_by_are_the_fault_of_the_run_that_has_them(
    tmp_path: Path,
) -> None:
    rng = random.Random(0)
    told = {"shuffle": True, "source_size": 5}
    rows = [{"record": rng.choices(range(5), k=1500)} for _ in "ab"]
    a = write_run(tmp_path / "a", rows[0], told)
    b = write_run(tmp_path / "b", rows[1], told | {"weights": [1, 2, 3, 4, 5]})
    (finding,) = findings_of(audit(a, b), RULE)

    assert (finding.severity, finding.run) == (Severity.FAIL, "b")
    assert finding.cause == "The sampler does not read the weights that it was given."


def test_too_few_draws_cannot_tell(tmp_path: Path) -> None:
    record = random.Random(0).choices(range(3), k=20)
    result = judge(tmp_path, record, weights=[1, 1, 2], source_size=3)

    assert loud_rules(result) == []
    assert lacking(result, RULE) == ["more rows than 20"]


def test_rates_that_fit_neither_are_another_fault(tmp_path: Path) -> None:
    record = random.Random(0).choices(range(3), [6, 1, 1], k=2000)

    assert findings_of(judge(tmp_path, record, weights=[1, 1, 6], source_size=3), RULE) == []


def test_weights_of_fewer_records_than_there_are_are_another_fault(tmp_path: Path) -> None:
    record = random.Random(0).choices(range(2), [1, 9], k=100)
    result = judge(tmp_path, record, weights=[0.01, 0.09], source_size=100)

    assert loud_rules(result) == ["sampling-distribution"]
    assert lacking(result, RULE) == ["a weight for each record"]


def test_a_schedule_that_repeats_is_evidence_once(tmp_path: Path) -> None:
    drawn = random.Random(0).choices(range(3), k=40)
    extra = {"epoch": [epoch for epoch in range(20) for _ in drawn]}
    result = judge(tmp_path, drawn * 20, extra=extra, weights=[1, 1, 2], source_size=3)

    assert RULE not in loud_rules(result)
    assert lacking(result, RULE) == ["more rows than 40"]


@pytest.mark.parametrize(
    ("weights", "missing"),
    [
        ([1, 2], "a weight for each record"),
        ([0, 0, 0], "weights that can be shares"),
        ([1, -1, 2], "weights that can be shares"),
        ({"a": 1.0, "b": 2.0}, "a weight for each record"),
    ],
)
def test_weights_that_cannot_be_used_cannot_tell(
    weights: Any, missing: str, tmp_path: Path
) -> None:
    record: list[Any] = [0, 1, 2] * 50 if isinstance(weights, list) else ["a", "b", "c"] * 50
    result = judge(tmp_path, record, weights=weights)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == [missing]


def test_weights_by_names_that_are_no_ids_cannot_tell(tmp_path: Path) -> None:
    weights = {f"r{place}": place + 1.0 for place in range(5)}
    result = judge(tmp_path, [0, 1, 2, 3, 4] * 30, weights=weights)

    assert lacking(result, RULE) == ["weights by IDs of the type that record has"]


def test_a_list_of_weights_needs_positions(tmp_path: Path) -> None:
    result = judge(tmp_path, ["a", "b"] * 50, weights=[1, 2])

    assert lacking(result, RULE) == ["index"]
