"""Implicit partitioning at all sizes, of all kinds of ID, and where it must be silent."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from detloader.audits import audit, check
from detloader.findings import Severity
from detloader.order.interleave import OlderInterleave, older_random_id_generator
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

RULE = "implicit-partitioning"

SEARCH = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def merged(ids: list[Any], workers: int, seed: int = 0) -> list[Any]:
    """Deliver one pass as the older loader does."""
    return list(
        OlderInterleave(ids, id_generator=iter, num_workers=workers, rng=random.Random(seed))
    )


@pytest.mark.parametrize(
    ("size", "workers"), [(10, 4), (10, 3), (9, 2), (23, 4), (103, 8), (1000, 7), (65, 64)]
)
def test_a_dropped_tail_and_merged_parts_are_caught(
    size: int, workers: int, tmp_path: Path
) -> None:
    declared = {"shuffle": False, "source_size": size, "workers": workers}
    old = write_run(
        tmp_path / "old", {"record": merged(list(range(size)), workers, seed=3)}, declared
    )
    new = write_run(tmp_path / "new", {"record": [*range(size)]}, declared)
    result = audit(new, old)

    (finding,) = findings_of(result, RULE)
    assert result.findings[0] == finding
    assert loud_rules(result) == [RULE]
    assert (finding.severity, finding.run) == (Severity.FAIL, "b")
    assert evidence_of(finding)["dropped"] == [*range(size // workers * workers, size)]
    assert evidence_of(finding)["partitions"][0] == workers
    assert evidence_of(finding)["formula"] == f"b = merge(partition(a, {workers}))"


@given(size=st.integers(12, 90), workers=st.integers(2, 9), seed=st.integers(0, 9))
@SEARCH
def test_one_run_alone_is_enough_where_the_source_is_declared(
    size: int, workers: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assume(size % workers and size // workers > 1)
    order = merged(list(range(size)), workers, seed)
    assume(order != sorted(order))
    declared = {"shuffle": False, "source_size": size, "workers": workers}
    run = write_run(tmp_path_factory.mktemp("r") / "run", {"record": order}, declared)
    result = check(run)

    (finding,) = findings_of(result, RULE)
    assert loud_rules(result) == [RULE]
    assert evidence_of(finding)["undecidable"] is False
    assert workers in evidence_of(finding)["partitions"]


@pytest.mark.parametrize("kind", ["text", "sparse"])
def test_ids_that_are_no_positions_are_placed_by_a_baseline_in_source_order(
    kind: str, tmp_path: Path
) -> None:
    ids: list[Any] = [f"subject-{n:02}" if kind == "text" else n * n + 7 for n in range(23)]
    random.Random(1).shuffle(ids)
    declared = {"shuffle": False, "source_size": 23}
    new = write_run(tmp_path / "new", {"record": ids}, declared)
    old = write_run(tmp_path / "old", {"record": merged(ids, 4)}, declared)
    result = audit(new, old)

    (finding,) = findings_of(result, RULE)
    assert loud_rules(result) == [RULE]
    assert evidence_of(finding)["dropped"] == ids[20:]
    assert evidence_of(finding)["partitions"] == [4, 20]


def test_ids_that_are_no_positions_are_placed_by_their_index(tmp_path: Path) -> None:
    index = merged(list(range(23)), 4)
    rows = {"record": [f"s{place}" for place in index], "index": index}
    run = write_run(tmp_path / "run", rows, {"shuffle": False, "source_size": 23, "workers": 4})

    (finding,) = findings_of(check(run), RULE)
    assert evidence_of(finding)["dropped"] == [20, 21, 22]


def test_every_epoch_and_a_last_one_that_is_cut_short(tmp_path: Path) -> None:
    epochs = [merged(list(range(23)), 4, seed) for seed in range(3)]
    epochs[-1] = epochs[-1][:9]
    rows = {
        "epoch": [number for number, order in enumerate(epochs) for _ in order],
        "record": [record for order in epochs for record in order],
    }
    run = write_run(tmp_path / "run", rows, {"shuffle": False, "source_size": 23, "workers": 4})
    (finding,) = findings_of(check(run), RULE)

    assert evidence_of(finding)["explained_rows"] == 40
    assert evidence_of(finding)["rows"] == 49


def test_ranks_that_each_run_the_older_loader(tmp_path: Path) -> None:
    orders = [merged(list(range(23)), 4, seed) for seed in range(2)]
    rows = {"rank": [0] * 20 + [1] * 20, "record": orders[0] + orders[1]}
    declared = {"shuffle": False, "source_size": 23, "workers": 4, "world_size": 2}
    result = check(write_run(tmp_path / "run", rows, declared))

    assert loud_rules(result) == [RULE, "partition-broken"]
    assert evidence_of(findings_of(result, RULE)[0])["dropped"] == [20, 21, 22]


def test_a_tail_that_draws_never_hit(tmp_path: Path) -> None:
    rng = random.Random(5)
    schedule = iter(
        OlderInterleave(
            list(range(22)),
            id_generator=lambda part: older_random_id_generator(part, rng=rng),
            num_workers=4,
            rng=random.Random(6),
        )
    )
    rows = {"record": [next(schedule) for _ in range(600)]}
    declared = {"shuffle": True, "replacement": True, "source_size": 22, "workers": 4}
    result = check(write_run(tmp_path / "run", rows, declared))

    assert loud_rules(result) == [RULE]
    assert evidence_of(findings_of(result, RULE)[0])["dropped"] == [20, 21]
    few = check(write_run(tmp_path / "few", {"record": rows["record"][:150]}, declared))
    assert loud_rules(few) == []
    assert RULE in {skipped.rule for skipped in few.not_checked}


def test_shards_that_draws_never_hit_are_no_tail_of_parts(tmp_path: Path) -> None:
    rng = random.Random(3)
    drawn = [4, 0, 2, 5, 1, 4, 3, 0]  # of 8 shards of 35 records
    rows = {
        "record": [35 * shard + place for shard in drawn for place in rng.sample(range(35), 35)],
        "shard": [shard for shard in drawn for _ in range(35)],
    }
    result = check(write_run(tmp_path / "run", rows, {"source_size": 280, "replacement": True}))

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["whether records or whole shards are drawn"]


def test_implicit_parts_and_ignored_weights_are_two_faults_in_this_order(tmp_path: Path) -> None:
    rng = random.Random(5)
    schedule = iter(
        OlderInterleave(
            list(range(22)),
            id_generator=lambda part: older_random_id_generator(part, rng=rng),
            num_workers=4,
            rng=random.Random(6),
        )
    )
    weights = [1.0] * 11 + [3.0] * 11
    declared = {
        "shuffle": True,
        "replacement": True,
        "source_size": 22,
        "workers": 4,
        "weights": weights,
    }
    old = write_run(tmp_path / "old", {"record": [next(schedule) for _ in range(2000)]}, declared)
    right = random.Random(1).choices(range(22), weights, k=2000)
    result = audit(write_run(tmp_path / "new", {"record": right}, declared), old)

    assert loud_rules(result) == [RULE, "ignored-weights"]


def test_parts_without_a_remainder_that_interleave_against_the_source_order(
    tmp_path: Path,
) -> None:
    declared = {"shuffle": False, "source_size": 200, "workers": 8}
    new = write_run(tmp_path / "new", {"record": [*range(200)]}, declared)
    old = write_run(tmp_path / "old", {"record": merged(list(range(200)), 8)}, declared)
    (finding,) = findings_of(audit(new, old), RULE)

    assert finding.severity is Severity.NOTE
    assert evidence_of(finding)["dropped"] == []
    assert evidence_of(finding)["partitions"][0] == 8
    assert "never" not in finding.message


def test_parts_that_take_turns_are_caught_for_the_declared_worker_count(tmp_path: Path) -> None:
    turns = [place for row in range(12) for place in (row, 12 + row)]
    declared = {"shuffle": False, "source_size": 24}
    new = write_run(tmp_path / "new", {"record": [*range(24)]}, declared | {"workers": 1})
    old = write_run(tmp_path / "old", {"record": turns}, declared | {"workers": 2})
    (finding,) = findings_of(audit(new, old), RULE)

    assert evidence_of(finding)["partitions"][0] == 2


@pytest.mark.parametrize("baseline", [False, True])
def test_parts_of_one_record_are_undecidable_at_most(baseline: bool, tmp_path: Path) -> None:
    declared = {"shuffle": False, "source_size": 7, "workers": 4}
    old = write_run(tmp_path / "old", {"record": [2, 0, 3, 1]}, declared)
    new = write_run(tmp_path / "new", {"record": [*range(7)]}, declared)
    result = audit(new, old) if baseline else check(old)

    (finding,) = findings_of(result, RULE)
    assert loud_rules(result) == [RULE]
    assert finding.severity is (Severity.FAIL if baseline else Severity.WARN)
    assert evidence_of(finding)["undecidable"] is True
    assert evidence_of(finding)["dropped"] == [4, 5, 6]


def test_a_fault_of_both_runs_is_a_note(tmp_path: Path) -> None:
    declared = {"shuffle": False, "source_size": 23, "workers": 4}
    runs = [
        write_run(tmp_path / str(seed), {"record": merged(list(range(23)), 4, seed)}, declared)
        for seed in range(2)
    ]
    result = audit(*runs)

    assert [finding.severity for finding in findings_of(result, RULE)] == [Severity.NOTE]
    assert loud_rules(result) == []


def test_the_source_order_without_its_tail_is_undecidable_at_most(tmp_path: Path) -> None:
    declared = {"shuffle": False, "source_size": 10, "workers": 4}
    new = write_run(tmp_path / "new", {"record": [*range(10)]}, declared)
    old = write_run(tmp_path / "old", {"record": [*range(8)]}, declared)
    (finding,) = findings_of(audit(new, old), RULE)

    assert finding.severity is Severity.WARN
    assert evidence_of(finding)["undecidable"] is True


@pytest.mark.parametrize(
    ("record", "declared"),
    [
        pytest.param([*range(8)], {"batch_size": 4, "drop_remainder": True}, id="dropped batch"),
        pytest.param([*range(8)], {}, id="stopped early"),
        pytest.param([*range(10)], {"workers": 4}, id="whole"),
        pytest.param([3, 0, 1, 2], {"workers": 2}, id="no tail of that count"),
        pytest.param([1, 0, 2, 3, 4, 5, 6, 7, 8], {"workers": 4}, id="parts of one record"),
    ],
)
def test_what_has_another_explanation_is_passed(
    record: list[int], declared: dict[str, Any], tmp_path: Path
) -> None:
    run = write_run(
        tmp_path / "run", {"record": record}, {"shuffle": False, "source_size": 10} | declared
    )

    assert findings_of(check(run), RULE) == []


@given(seed=st.integers(0, 10**6), size=st.integers(5, 40), dropped=st.integers(1, 4))
@SEARCH
def test_a_shuffle_that_drops_a_remainder_is_passed(
    seed: int, size: int, dropped: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    order = random.Random(seed).sample(range(size), size - dropped)
    run = write_run(
        tmp_path_factory.mktemp("r") / "run",
        {"record": order},
        {"shuffle": True, "source_size": size, "workers": 2},
    )

    assert findings_of(check(run), RULE) == []


def test_records_a_little_out_of_order_are_no_merge(tmp_path: Path) -> None:
    declared = {"shuffle": False, "source_size": 100, "workers": 2}
    swapped = [*range(49), 50, 49, *range(51, 100)]
    shards = [*range(50, 100), *range(50)]
    new = write_run(tmp_path / "new", {"record": [*range(100)]}, declared)

    for name, order in (("swapped", swapped), ("shards", shards)):
        assert (
            findings_of(audit(new, write_run(tmp_path / name, {"record": order}, declared)), RULE)
            == []
        )


def batches_in_workers(size: int, batch: int, workers: int) -> list[int]:
    """Deal records to workers in turn; each drops its remainder, and batches come in turn."""
    shares = [[*range(worker, size, workers)] for worker in range(workers)]
    turns = range(min(map(len, shares)) // batch)
    return [
        record for turn in turns for share in shares for record in share[turn * batch :][:batch]
    ]


@pytest.mark.parametrize(("size", "batch", "workers"), [(60, 8, 2), (66, 4, 3), (50, 3, 4)])
def test_batches_formed_in_workers_are_no_parts(
    size: int, batch: int, workers: int, tmp_path: Path
) -> None:
    declared = {"shuffle": False, "source_size": size, "workers": workers, "batch_size": batch}
    run = write_run(
        tmp_path / "run", {"record": batches_in_workers(size, batch, workers)}, declared
    )

    assert findings_of(check(run), RULE) == []


def test_parts_of_one_record_prove_nothing_of_a_shuffle(tmp_path: Path) -> None:
    records = [
        record for epoch in range(3) for record in random.Random(epoch).sample(range(20), 20)
    ]
    rows = {"epoch": [epoch for epoch in range(3) for _ in range(20)], "record": records}
    run = write_run(tmp_path / "run", rows, {"shuffle": True, "source_size": 26})

    assert findings_of(check(run), RULE) == []


def test_a_baseline_without_rows_is_no_source(tmp_path: Path) -> None:
    declared = {"shuffle": False, "source_size": 4, "workers": 2}
    a = write_run(tmp_path / "a", {"record": []}, declared)
    b = write_run(tmp_path / "b", {"record": [0, 2, 1, 3]}, declared)

    assert findings_of(audit(a, b), RULE) == []


@pytest.mark.parametrize("weighted", ["a", "b"])
def test_draws_by_weight_are_no_parts_of_one_record(weighted: str, tmp_path: Path) -> None:
    declared = {"shuffle": False, "source_size": 5, "workers": 4}
    weights = {"weights": [1.0, 1.0, 1.0, 1.0, 0.0]}
    runs = {"a": [0, 1, 2, 3, 4], "b": [2, 0, 3, 1]}
    a, b = (
        write_run(tmp_path / name, {"record": of}, declared | (weights if name == weighted else {}))
        for name, of in runs.items()
    )

    assert RULE not in loud_rules(audit(a, b))


def test_named_records_of_weight_zero_are_no_dropped_tail(tmp_path: Path) -> None:
    names = [f"r{place}" for place in range(11)]
    weights = {name: float(place < 8) for place, name in enumerate(names)}
    drawn = random.Random(1).choices(range(8), k=400)
    declared = {"shuffle": True, "replacement": True, "source_size": 11, "workers": 4}
    rows: dict[str, list[Any]] = {"index": drawn, "record": [names[place] for place in drawn]}
    result = check(write_run(tmp_path / "run", rows, declared | {"weights": weights}))

    assert loud_rules(result) == []


def shuffled_epochs(size: int, epochs: int, seed: int) -> list[list[str]]:
    rng = random.Random(seed)
    names = [f"image-{number:05d}" for number in range(size)]
    return [rng.sample(names, size) for _ in range(epochs)]


def as_rows(epochs: list[list[str]]) -> dict[str, Any]:
    return {
        "record": [name for epoch in epochs for name in epoch],
        "epoch": [number for number, epoch in enumerate(epochs) for _ in epoch],
    }


@pytest.mark.parametrize(
    ("size", "workers", "epochs"), [(40, 3, 1), (103, 4, 3), (1000, 7, 2), (31, 2, 2)]
)
def test_parts_of_an_order_that_is_shuffled_are_caught_with_nothing_declared(
    size: int, workers: int, epochs: int, tmp_path: Path
) -> None:
    orders = shuffled_epochs(size, epochs, seed=size)
    a = write_run(tmp_path / "a", as_rows(orders))
    b = write_run(tmp_path / "b", as_rows([merged(order, workers) for order in orders]))
    result = audit(a, b)

    evidence = evidence_of(result.findings[0])
    assert result.findings[0].rule == RULE
    assert evidence["formula"] == f"b = merge(partition(a, {workers}))"
    kept = size // workers * workers
    lost = orders[0][kept:] if epochs == 1 else [*range(kept, size)]
    assert evidence["dropped" if epochs == 1 else "dropped_places"] == lost


@pytest.mark.parametrize("seed", range(5))
def test_less_of_an_order_or_of_another_one_is_no_merge_of_its_parts(
    seed: int, tmp_path: Path
) -> None:
    orders, others = shuffled_epochs(40, 2, seed), shuffled_epochs(40, 2, seed + 100)
    a = write_run(tmp_path / "a", as_rows(orders))
    for name, epochs in (("stopped", orders), ("other", others)):
        b = write_run(tmp_path / name, as_rows([epoch[:39] for epoch in epochs]))
        assert not findings_of(audit(a, b), RULE)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize(("size", "workers", "rows"), [(16, 4, 1), (1024, 4, 1), (60, 3, 5)])
def test_whole_parts_in_turn_are_named_with_nothing_declared(
    text: bool, size: int, workers: int, rows: int, tmp_path: Path
) -> None:
    ids: list[Any] = [f"r{n:04d}" if text else n for n in range(size)]
    length = size // workers
    in_turn = [
        ids[part * length + place]
        for turn in range(length // rows)
        for part in range(workers)
        for place in range(turn * rows, (turn + 1) * rows)
    ]
    declared = {"shuffle": False, "source_size": size, "env": {"PYTHONHASHSEED": None}}
    a = write_run(tmp_path / "a", {"record": ids}, declared)
    b = write_run(tmp_path / "b", {"record": in_turn}, declared)
    result = audit(a, b)

    assert loud_rules(result) == []
    assert (result.findings[0].rule, result.findings[0].severity) == (RULE, Severity.NOTE)
    assert "remainder" not in str(result.findings[0].cause)
    assert evidence_of(result.findings[0])["formula"] == f"b = merge(partition(a, {workers}))"
    told = {**declared, "workers": 0}
    other = write_run(tmp_path / "other", {"record": in_turn}, told | {"workers": workers})
    result = audit(write_run(tmp_path / "none", {"record": ids}, told), other)
    assert loud_rules(result) == ["topology-dependence"]


def mixed(sizes: dict[str, int], how: str) -> dict[str, list[Any]]:
    """Deliver several sources together, with the place in its own source of each record."""
    rows: dict[str, list[Any]] = {"epoch": [], "mixture": [], "index": [], "record": []}
    for epoch in range(4):
        chosen = [(name, place) for name, size in sizes.items() for place in range(size)]
        if how == "in order":
            chosen.sort(key=lambda one: one[1])
        elif how == "drawn":
            chosen = random.Random(epoch).choices(chosen, k=len(chosen))
        else:
            random.Random(epoch).shuffle(chosen)
        for name, place in chosen:
            for column, value in zip(rows, (epoch, name, place, f"{name}{place}"), strict=True):
                rows[column].append(value)
    return rows


@pytest.mark.parametrize("how", ["in order", "shuffled", "drawn"])
@pytest.mark.parametrize("sizes", [{"a": 40, "b": 120}, {"a": 60, "b": 90}])
@pytest.mark.parametrize("workers", [None, 4])
def test_an_index_of_each_part_of_a_mixture_is_no_place_in_the_whole(
    sizes: dict[str, int], how: str, workers: int | None, tmp_path: Path
) -> None:
    declared = {"source_size": sum(sizes.values()), "shuffle": how != "in order"}
    more = {} if workers is None else {"workers": workers, "batch_size": 8}
    result = check(write_run(tmp_path / "run", mixed(sizes, how), declared | more))

    assert loud_rules(result) == []
    assert lacking(result, RULE) == ["an index that is the place in one source"]
