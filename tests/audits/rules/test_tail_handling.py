"""Remainders that are dropped, padded or lost, and short epochs that are none."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from detloader.audits import audit, check
from detloader.findings import Result, Severity
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

RULE = "tail-handling"


def order_of(size: int, epoch: int, *, shuffle: bool) -> list[int]:
    return random.Random(epoch).sample(range(size), size) if shuffle else [*range(size)]


def one_batcher(
    size: int, batch: int, *, epochs: int = 1, shuffle: bool = False, keep: bool = False
) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {name: [] for name in ("epoch", "batch", "record")}
    for epoch in range(epochs):
        order = order_of(size, epoch, shuffle=shuffle)
        for place, record in enumerate(order if keep else order[: size // batch * batch]):
            rows["epoch"].append(epoch)
            rows["batch"].append(place // batch)
            rows["record"].append(record)
    return rows


def batches_in_workers(
    size: int, batch: int, workers: int, *, epochs: int = 1, shuffle: bool = False
) -> dict[str, list[Any]]:
    """Deal records to workers; each drops its remainder, and batches come in turn."""
    rows: dict[str, list[Any]] = {name: [] for name in ("epoch", "batch", "worker", "record")}
    for epoch in range(epochs):
        order = order_of(size, epoch, shuffle=shuffle)
        shares = [order[worker::workers] for worker in range(workers)]
        made = [
            (place, worker, share[start : start + batch])
            for worker, share in enumerate(shares)
            for place, start in enumerate(range(0, len(share) - batch + 1, batch))
        ]
        for number, (_, worker, records) in enumerate(sorted(made)):
            rows["epoch"] += [epoch] * batch
            rows["batch"] += [number] * batch
            rows["worker"] += [worker] * batch
            rows["record"] += records
    return rows


def without(rows: dict[str, list[Any]], *names: str) -> dict[str, list[Any]]:
    return {name: values for name, values in rows.items() if name not in names}


def judge(folder: Path, rows: dict[str, list[Any]], **declared: Any) -> Result:
    return check(write_run(folder / "run", rows, declared))


def ask_alone(folder: Path, rows: dict[str, list[Any]], **declared: Any) -> Result:
    """Ask this rule alone: contiguous parts may explain the same tail, and come first."""
    return check(write_run(folder / "run", rows, declared), select=[RULE])


@pytest.mark.parametrize(("size", "batch"), [(10, 4), (1003, 32)])
@pytest.mark.parametrize("declared_batch", [True, False])
def test_a_remainder_that_is_never_evaluated(
    size: int, batch: int, declared_batch: bool, tmp_path: Path
) -> None:
    declared = {"batch_size": batch} if declared_batch else {}
    result = judge(
        tmp_path,
        one_batcher(size, batch),
        purpose="eval",
        shuffle=False,
        source_size=size,
        **declared,
    )
    (finding,) = findings_of(result, RULE)
    evidence = evidence_of(finding)

    assert finding.severity is Severity.FAIL
    assert evidence["explanation"] == "batch"
    assert evidence["dropped"] == [*range(size - size % batch, size)]
    assert evidence["dropped_count"] == evidence["loss_of_one_batcher"] == size % batch
    assert evidence["delivered"] == [size - size % batch]
    assert loud_rules(result) == [RULE]


def test_names_that_never_came_are_counted(tmp_path: Path) -> None:
    rows = one_batcher(10, 4)
    rows["record"] = [f"r{record}" for record in rows["record"]]
    declared = {"purpose": "eval", "shuffle": False, "source_size": 10, "batch_size": 4}
    (finding,) = findings_of(judge(tmp_path / "names", rows, **declared), RULE)
    assert evidence_of(finding)["dropped"] == []
    assert evidence_of(finding)["dropped_count"] == 2

    rows["index"] = [*range(8)]
    (finding,) = findings_of(judge(tmp_path / "index", rows, **declared), RULE)
    assert evidence_of(finding)["dropped"] == [8, 9]


@pytest.mark.parametrize(("size", "batch", "workers"), [(20, 4, 3), (60, 8, 2), (1000, 32, 6)])
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_that_are_formed_inside_workers(
    size: int, batch: int, workers: int, shuffle: bool, tmp_path: Path
) -> None:
    rows = batches_in_workers(size, batch, workers, epochs=2, shuffle=shuffle)
    declared = {"purpose": "train", "shuffle": shuffle, "source_size": size, "batch_size": batch}
    (finding,) = findings_of(ask_alone(tmp_path, rows, workers=workers, **declared), RULE)
    evidence = evidence_of(finding)

    assert finding.severity is Severity.FAIL
    assert evidence["explanation"] == "batches of workers"
    assert evidence["dropped_count"] == size - len(rows["record"]) // 2
    assert evidence["loss_of_one_batcher"] == size % batch
    assert sum(share["lost"] for share in evidence["per_worker"]) == evidence["dropped_count"]
    assert all(share["lost"] < batch for share in evidence["per_worker"])


def test_workers_need_not_be_recorded(tmp_path: Path) -> None:
    rows = without(batches_in_workers(60, 8, 4, epochs=2, shuffle=True), "worker")
    result = judge(
        tmp_path,
        rows,
        purpose="train",
        shuffle=True,
        source_size=60,
        batch_size=8,
        workers=4,
    )

    assert evidence_of(findings_of(result, RULE)[0])["explanation"] == "batches of workers"


def test_a_baseline_tells_how_much_the_workers_lose(tmp_path: Path) -> None:
    declared = {"purpose": "train", "shuffle": True, "source_size": 60, "batch_size": 8}
    a = write_run(tmp_path / "a", one_batcher(60, 8, shuffle=True), declared | {"workers": 0})
    rows = without(batches_in_workers(60, 8, 2, shuffle=True), "worker")
    b = write_run(tmp_path / "b", rows, declared | {"workers": 2})
    first, *others = findings_of(audit(a, b), RULE)

    assert (first.severity, first.run) == (Severity.FAIL, "b")
    assert evidence_of(first)["delivered"] == [56, 48]
    assert [finding.severity for finding in others] == [Severity.NOTE]


def test_one_epoch_that_was_left_early_is_no_fault(tmp_path: Path) -> None:
    rows = {name: values[:48] for name, values in one_batcher(60, 8, shuffle=True).items()}
    declared = {"purpose": "train", "shuffle": True, "source_size": 60, "batch_size": 8}
    result = judge(tmp_path, rows, workers=2, **declared)

    assert loud_rules(result) == []
    assert "a further epoch" in lacking(result, RULE)[0]


def test_an_early_stop_against_a_whole_run_is_no_fault(tmp_path: Path) -> None:
    declared = {
        "purpose": "train",
        "shuffle": True,
        "source_size": 60,
        "batch_size": 8,
        "workers": 2,
    }
    whole = one_batcher(60, 8, shuffle=True)
    cut = {name: values[:48] for name, values in whole.items()}
    result = audit(
        write_run(tmp_path / "a", whole, declared), write_run(tmp_path / "b", cut, declared)
    )

    assert [f for f in findings_of(result, RULE) if f.severity is not Severity.NOTE] == []


def test_two_runs_that_were_left_early_prove_nothing(tmp_path: Path) -> None:
    declared = {"purpose": "train", "shuffle": True, "source_size": 30, "world_size": 4}
    runs = []
    for seed, name in enumerate("ab"):
        records = order_of(30, seed, shuffle=True)[:28]
        rows = {"rank": [place % 4 for place in range(28)], "record": records}
        runs.append(write_run(tmp_path / name, rows, declared | {"drop_remainder": False}))

    assert RULE not in loud_rules(audit(*runs))


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_deal_to_ranks_that_drops_though_it_must_not(shuffle: bool, tmp_path: Path) -> None:
    orders = [order_of(103, epoch, shuffle=shuffle)[:100] for epoch in range(3)]
    rows = {
        "epoch": [epoch for epoch in range(3) for _ in range(100)],
        "rank": [place % 4 for place in range(300)],
        "record": [record for order in orders for record in order],
    }
    result = judge(
        tmp_path,
        rows,
        purpose="train",
        shuffle=shuffle,
        source_size=103,
        world_size=4,
        drop_remainder=False,
    )
    (finding,) = findings_of(result, RULE)

    assert finding.severity is Severity.FAIL
    assert evidence_of(finding)["explanation"] == "ranks"
    assert evidence_of(finding)["dropped"] == sorted(set(range(103)) - set(orders[0]))
    assert loud_rules(result) == [RULE]


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_last_step_that_was_not_taken_is_no_fault(epochs: int, tmp_path: Path) -> None:
    rows = one_batcher(30, 8, epochs=epochs, shuffle=True, keep=True)
    rows = {name: values[:-6] for name, values in rows.items()}
    declared = {"purpose": "train", "shuffle": True, "source_size": 30, "drop_remainder": False}

    assert loud_rules(judge(tmp_path, rows, batch_size=8, **declared)) == []


def test_a_last_batch_that_a_prefetcher_keeps(tmp_path: Path) -> None:
    rows = {name: values[:-5] for name, values in one_batcher(20, 5, keep=True).items()}
    result = judge(tmp_path, rows, purpose="eval", shuffle=False, source_size=20, batch_size=5)

    assert evidence_of(findings_of(result, RULE)[0])["explanation"] == "last batch"


def test_the_baseline_shows_a_lost_end_though_chance_left_one_record_out_of_each(
    tmp_path: Path,
) -> None:
    whole = one_batcher(60, 6, epochs=4, shuffle=True, keep=True)
    starts = range(0, 240, 60)
    for start in starts:  # record 7 is in the last batch of each epoch
        place = whole["record"].index(7, start)
        last = start + 59
        whole["record"][place], whole["record"][last] = whole["record"][last], 7
    kept = [row for start in starts for row in range(start, start + 54)]
    lossy = {name: [values[row] for row in kept] for name, values in whole.items()}
    declared = {"purpose": "eval", "source_size": 60, "batch_size": 6, "drop_remainder": False}
    baseline = write_run(tmp_path / "whole", whole, declared)
    result = audit(baseline, write_run(tmp_path / "lossy", lossy, declared))

    (finding,) = findings_of(result, RULE)
    assert loud_rules(result) == [RULE]
    assert evidence_of(finding)["explanation"] == "last batch"
    assert evidence_of(finding)["never_count"] == 1


def test_a_remainder_that_never_comes_in_any_epoch(tmp_path: Path) -> None:
    declared = {"purpose": "train", "source_size": 22, "batch_size": 4, "drop_remainder": True}
    rows = one_batcher(22, 4, epochs=3)
    (finding,) = findings_of(judge(tmp_path / "a", rows, shuffle=False, **declared), RULE)
    assert finding.severity is Severity.NOTE  # without a shuffle, this is what dropping means
    assert evidence_of(finding)["never_count"] == 2

    kept = one_batcher(20, 4, epochs=8, shuffle=True)
    (finding,) = findings_of(ask_alone(tmp_path / "b", kept, shuffle=True, **declared), RULE)
    assert finding.severity is Severity.FAIL


@pytest.mark.parametrize("epochs", [1, 2, 5, 30])
def test_a_shuffled_remainder_is_a_note(epochs: int, tmp_path: Path) -> None:
    rows = one_batcher(22, 4, epochs=epochs, shuffle=True)
    result = judge(
        tmp_path, rows, purpose="train", shuffle=True, source_size=22, drop_remainder=True
    )
    (finding,) = findings_of(result, RULE)

    assert finding.severity is Severity.NOTE
    assert loud_rules(result) == []


def test_batches_that_go_on_into_the_next_epoch_are_a_note(tmp_path: Path) -> None:
    records = [record for epoch in range(3) for record in order_of(22, epoch, shuffle=True)][:64]
    rows = {
        "epoch": [place // 22 for place in range(64)],
        "batch": [place // 8 for place in range(64)],
        "record": records,
    }
    declared = {"purpose": "train", "shuffle": True, "source_size": 22, "drop_remainder": True}
    result = judge(tmp_path, rows, batch_size=8, **declared)
    (finding,) = findings_of(result, RULE)

    assert finding.severity is Severity.NOTE
    assert evidence_of(finding)["explanation"] == "batch across epochs"


@pytest.mark.parametrize("purpose", ["eval", "train"])
def test_ranks_that_are_evened_out_unmarked(purpose: str, tmp_path: Path) -> None:
    order = order_of(10, 0, shuffle=purpose == "train")
    rows: dict[str, list[Any]] = {
        "rank": [place % 4 for place in range(12)],
        "record": [*order, *order[:2]],
    }
    declared = {"purpose": purpose, "shuffle": purpose == "train", "source_size": 10}
    result = judge(tmp_path / "plain", rows, world_size=4, num_epochs=1, **declared)
    (finding,) = findings_of(result, RULE)
    assert finding.severity is (Severity.FAIL if purpose == "eval" else Severity.NOTE)
    assert evidence_of(finding)["doubled"] == sorted(order[:2])

    rows["padding"] = [False] * 10 + [True] * 2
    marked = judge(tmp_path / "marked", rows, world_size=4, num_epochs=1, **declared)
    assert marked.findings == []


@pytest.mark.parametrize("purpose", ["eval", "train"])
def test_padding_that_is_false_in_every_row_hides_no_padding(purpose: str, tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {
        "batch": [place // 8 for place in range(24)],
        "record": [place % 22 for place in range(24)],
        "padding": [False] * 24,
    }
    declared = {"purpose": purpose, "shuffle": False, "source_size": 22, "batch_size": 8}
    (finding,) = findings_of(judge(tmp_path, rows, num_epochs=1, **declared), RULE)

    assert finding.severity is (Severity.FAIL if purpose == "eval" else Severity.NOTE)
    assert evidence_of(finding)["doubled"] == [0, 1]


def test_a_replicated_source_is_no_padding(tmp_path: Path) -> None:
    rows = {"rank": [0] * 4 + [1] * 4, "epoch": [0] * 8, "record": [*range(4)] * 2}
    declared = {"purpose": "train", "shuffle": False, "source_size": 4, "world_size": 2}
    result = judge(tmp_path, rows, batch_size=4, **declared)

    assert findings_of(result, RULE) == []


@pytest.mark.parametrize(
    "declared",
    [
        {"replacement": True},
        {"num_samples": 8},
        {"weights": [1.0] * 10},
        {"config": {"repeats": 2}},
    ],
)
def test_epochs_that_are_no_passes_are_not_judged(declared: Any, tmp_path: Path) -> None:
    result = judge(
        tmp_path, one_batcher(10, 4), purpose="eval", shuffle=False, source_size=10, **declared
    )

    assert findings_of(result, RULE) == []


def test_filtered_records_are_no_tail(tmp_path: Path) -> None:
    kept = [record for record in range(20) if record not in {3, 11}]
    rows = {"batch": [place // 3 for place in range(18)], "record": kept}
    declared = {"purpose": "eval", "shuffle": False, "source_size": 20, "batch_size": 3}
    result = judge(tmp_path / "plain", rows, **declared)
    assert findings_of(result, RULE) == []

    shuffled = {
        "epoch": [place // 18 for place in range(144)],
        "batch": [place % 18 // 3 for place in range(144)],
        "record": [r for epoch in range(8) for r in random.Random(epoch).sample(kept, 18)],
    }
    training = declared | {"purpose": "train", "shuffle": True}
    assert findings_of(judge(tmp_path / "shuffled", shuffled, **training), RULE) == []
    filtered = judge(tmp_path / "declared", rows, config={"filter": "size > 3"}, **declared)
    assert "filter" in lacking(filtered, RULE)[0]


def test_a_last_epoch_that_was_left_early_is_no_fault(tmp_path: Path) -> None:
    rows = one_batcher(64, 8, epochs=3, shuffle=True)
    rows = {name: values[:-24] for name, values in rows.items()}
    declared = {"purpose": "train", "shuffle": True, "source_size": 64, "batch_size": 8}

    assert findings_of(judge(tmp_path, rows, workers=4, **declared), RULE) == []


def test_what_it_lacks_is_named(tmp_path: Path) -> None:
    rows = one_batcher(10, 4)
    declared = {"purpose": "eval", "shuffle": False, "batch_size": 4}
    partial = declared | {"source_size": 10, "complete": False}
    one_rank = declared | {"source_size": 10, "world_size": 2}
    plain = without(rows, "batch")

    assert lacking(judge(tmp_path / "a", rows, **declared), RULE) == ["source_size"]
    assert lacking(judge(tmp_path / "b", rows, **partial), RULE) == ["the whole run"]
    assert lacking(judge(tmp_path / "c", rows, **one_rank), RULE) == ["all 2 ranks"]
    assert lacking(judge(tmp_path / "d", plain, source_size=10), RULE) == ["batch_size"]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(size=st.integers(12, 200), batch=st.integers(2, 9), workers=st.integers(1, 5))
def test_whatever_workers_lose_beyond_one_batcher_is_found(
    size: int, batch: int, workers: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assume(size // workers >= batch)
    rows = batches_in_workers(size, batch, workers, epochs=2, shuffle=True)
    result = judge(
        tmp_path_factory.mktemp("workers"),
        rows,
        purpose="train",
        shuffle=True,
        source_size=size,
        batch_size=batch,
        drop_remainder=True,
        workers=workers,
    )
    lost = size - len(rows["record"]) // 2
    found = findings_of(result, RULE)

    assert bool(found) == (lost > 0)
    assert [f.severity for f in found] == [
        Severity.FAIL if lost > size % batch else Severity.NOTE for _ in found
    ]
    assert all(evidence_of(finding)["dropped_count"] == lost for finding in found)


def test_the_remainder_of_one_repeated_order_is_no_fault_of_its_own(tmp_path: Path) -> None:
    order = order_of(43, 1, shuffle=True)[:40]
    rows = {"epoch": [epoch for epoch in range(3) for _ in order], "record": order * 3}
    declared = {"shuffle": True, "source_size": 43, "batch_size": 4, "drop_remainder": True}
    result = check(write_run(tmp_path / "run", rows, declared | {"purpose": "train"}))

    assert loud_rules(result) == ["epoch-order-repeat"]


def test_ranks_that_are_stopped_early_lose_no_remainder(tmp_path: Path) -> None:
    rows = {"rank": [place % 3 for place in range(60)], "record": [*range(60)]}
    declared = {"shuffle": False, "source_size": 63, "batch_size": 2, "drop_remainder": False}
    result = check(write_run(tmp_path / "run", rows, declared | {"purpose": "train"}))

    assert loud_rules(result) == []


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_record_that_never_comes_is_no_remainder_of_ranks(shuffle: bool, tmp_path: Path) -> None:
    orders = [
        [record for record in order_of(76, epoch, shuffle=shuffle) if record != 48]
        for epoch in range(6)
    ]
    rows = {
        "epoch": [epoch for epoch in range(6) for _ in range(75)],
        "rank": [place % 3 for order in orders for place, _ in enumerate(order)],
        "record": [record for order in orders for record in order],
    }
    declared = {"shuffle": shuffle, "source_size": 76, "batch_size": 5, "drop_remainder": False}
    result = check(write_run(tmp_path / "run", rows, declared))

    assert loud_rules(result) == ["coverage-hole"]


def test_without_a_batch_size_a_loss_that_nothing_else_explains_cannot_be_told(
    tmp_path: Path,
) -> None:
    rows = without(one_batcher(154, 16), "batch")
    result = judge(tmp_path, rows, purpose="eval", source_size=154, shuffle=False, workers=2)

    assert lacking(result, RULE) == ["batch_size"]


def test_records_at_even_distances_are_no_tail_of_workers(tmp_path: Path) -> None:
    parts = [[*range(rank, 600, 5)] for rank in range(4)]
    rows = {
        "rank": [rank for rank, part in enumerate(parts) for _ in part],
        "record": [record for part in parts for record in part],
    }
    declared = {"shuffle": False, "source_size": 600, "batch_size": 32, "workers": 4}

    assert findings_of(judge(tmp_path, rows, world_size=4, **declared), RULE) == []


def test_a_baseline_in_its_order_tells_how_many_records_there_are(tmp_path: Path) -> None:
    batch = {"batch_size": 8, "shuffle": False}
    whole = write_run(tmp_path / "a", one_batcher(103, 8, keep=True), batch)
    cut = write_run(tmp_path / "b", one_batcher(103, 8), batch | {"purpose": "eval"})
    (finding,) = findings_of(audit(whole, cut), RULE)

    assert evidence_of(finding)["dropped"] == [*range(96, 103)]


def test_records_that_the_baseline_has_before_others_are_no_tail(tmp_path: Path) -> None:
    rows = one_batcher(202, 5, epochs=2, shuffle=True, keep=True)
    kept = [place for place, record in enumerate(rows["record"]) if record not in {52, 166}]
    short = {name: [values[place] for place in kept] for name, values in rows.items()}
    declared = {"shuffle": True, "source_size": 202, "purpose": "train"}
    a = write_run(tmp_path / "a", rows, declared)
    result = audit(
        a, write_run(tmp_path / "b", without(short, "batch"), declared | {"batch_size": 5})
    )

    assert findings_of(result, RULE) == []
    assert loud_rules(result) == ["coverage-hole"]


def test_workers_in_turn_that_were_stopped_dropped_nothing(tmp_path: Path) -> None:
    rows = {
        "batch": [0] * 8 + [1] * 8,
        "worker": [0] * 8 + [1] * 8,
        "record": [*range(0, 16, 2), *range(1, 16, 2)],  # 16, of worker 0, was to come next
    }
    declared = {"shuffle": False, "source_size": 17, "batch_size": 8, "drop_remainder": False}

    assert loud_rules(judge(tmp_path, rows, purpose="train", workers=2, **declared)) == []


@pytest.mark.parametrize("labelled", [False, True])
def test_a_batch_that_is_lost_before_others_is_no_tail(labelled: bool, tmp_path: Path) -> None:
    rows = one_batcher(64, 8, epochs=3, shuffle=True)
    lost = [(0, 3), (1, 3), (2, 3)] if labelled else [(1, 3)]
    kept = [
        place
        for place, (epoch, batch) in enumerate(zip(rows["epoch"], rows["batch"], strict=True))
        if (epoch, batch) not in lost
    ]
    rows = {name: [values[place] for place in kept] for name, values in rows.items()}
    if not labelled:
        del rows["batch"]
    declared = {"shuffle": True, "source_size": 64, "batch_size": 8, "drop_remainder": False}
    result = check(write_run(tmp_path / "run", rows, declared))

    assert loud_rules(result) == ["coverage-hole"]
    assert findings_of(result, RULE) == []


def test_a_tail_explains_places_whose_records_nobody_saw(tmp_path: Path) -> None:
    places = random.Random(1).sample(range(200), 200)[:192] * 3
    rows = {
        "rank": [0] * 576,
        "epoch": [epoch for epoch in range(3) for _ in range(192)],
        "batch": [place % 192 // 32 for place in range(576)],
        "index": places,
        "record": [7 * place + 3 for place in places],
    }
    declared = {"shuffle": True, "source_size": 200, "batch_size": 32, "drop_remainder": True}
    result = check(write_run(tmp_path / "run", rows, declared))

    assert findings_of(result, RULE)[0].severity is Severity.NOTE
    assert findings_of(result, "coverage-hole") == []


@pytest.mark.parametrize("told", [{}, {"batch_size": 12}, {"drop_remainder": False}])
def test_workers_with_even_shares_may_have_dropped_a_batch(
    told: dict[str, Any], tmp_path: Path
) -> None:
    orders = [order_of(73, epoch, shuffle=True)[:72] for epoch in range(2)]
    rows = {
        "epoch": [epoch for epoch in range(2) for _ in range(72)],
        "worker": [place // 12 % 3 for place in range(72)] * 2,
        "record": [record for order in orders for record in order],
    }
    declared = {"shuffle": True, "source_size": 73, "workers": 3} | told
    result = check(write_run(tmp_path / "run", rows, declared))

    explained = [evidence_of(finding)["explanation"] for finding in findings_of(result, RULE)]
    assert explained == {"batch_size": ["batch"], "drop_remainder": ["workers"]}.get(
        next(iter(told), ""), []
    )
    assert lacking(result, RULE) == ([] if told else ["batch_size"])


@pytest.mark.parametrize("lost", [1, 3])
@pytest.mark.parametrize("declared", [True, False])
def test_ranks_evened_out_by_dropping_are_a_fault_unless_that_is_declared(
    declared: bool, lost: int, tmp_path: Path
) -> None:
    rows: dict[str, list[Any]] = {name: [] for name in ("epoch", "batch", "rank", "record")}
    for epoch in range(4):
        for place, record in enumerate(order_of(101, epoch, shuffle=True)[: 101 - lost]):
            rows["epoch"].append(epoch)
            rows["batch"].append(place // 14)
            rows["rank"].append(place % 2)
            rows["record"].append(record)
    header = {"shuffle": True, "source_size": 101, "batch_size": 7, "drop_remainder": False}
    config = {"config": {"drop_uneven_ranks": True}} if declared else {}
    result = check(write_run(tmp_path / "run", rows, header | config))

    if declared and lost == 1:
        (finding,) = result.findings
        assert (finding.rule, finding.severity) == (RULE, Severity.NOTE)
        assert evidence_of(finding)["explanation"] == "ranks"
    else:
        assert loud_rules(result) != []
