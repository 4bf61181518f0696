"""Shuffles that mix badly, and orders that are meant."""

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

RULE = "weak-mixing"


def buffered(size: int, buffer: int, seed: int = 0) -> list[int]:
    """Shuffle through a buffer, as tf.data does."""
    source = random.Random(f"{size} {buffer} {seed}")
    held: list[int] = []
    order: list[int] = []
    for record in range(size):
        held.append(record)
        if len(held) == buffer:
            order.append(held.pop(source.randrange(buffer)))
    source.shuffle(held)
    return order + held


def judge(folder: Path, rows: dict[str, list[Any]], **declared: Any) -> Result:
    return check(write_run(folder / "run", rows, {"purpose": "train", "shuffle": True} | declared))


def in_epochs(orders: list[list[int]], **columns: list[Any]) -> dict[str, list[Any]]:
    """Put epochs one after the other; further columns repeat in each."""
    return {
        "epoch": [epoch for epoch, order in enumerate(orders) for _ in order],
        "record": [record for order in orders for record in order],
    } | {name: values * len(orders) for name, values in columns.items()}


@pytest.mark.parametrize(("size", "buffer"), [(100, 10), (1000, 20), (3000, 500)])
@pytest.mark.parametrize("ids", ["integers", "sparse", "names", "index"])
def test_a_small_buffer_is_measured(size: int, buffer: int, ids: str, tmp_path: Path) -> None:
    order = buffered(size, buffer)
    rows: dict[str, list[Any]] = in_epochs([order, buffered(size, buffer, 1)])
    if ids == "sparse":
        rows["record"] = [record * record + 3 for record in rows["record"]]
    if ids == "names":
        rows["record"] = [f"img_{record}.png" for record in rows["record"]]
    if ids == "index":
        rows["index"] = rows["record"]
        scattered = random.Random(5).sample(range(size), size)
        rows["record"] = [scattered[record] for record in rows["record"]]
    (finding,) = findings_of(judge(tmp_path, rows, source_size=size), RULE)
    evidence = evidence_of(finding)

    assert finding.severity is Severity.WARN
    assert evidence["kind"] == "small buffer"
    assert 0.8 * buffer <= evidence["buffer"] <= buffer
    assert evidence["rank_correlation"] > 0.5


@pytest.mark.parametrize("late", [1, 4])
def test_a_small_buffer_is_found_in_whichever_epochs_have_it(late: int, tmp_path: Path) -> None:
    full = [random.Random(epoch).sample(range(400), 400) for epoch in range(6 - late)]
    rows = in_epochs([*full, *(buffered(400, 20, epoch) for epoch in range(late))])
    (finding,) = findings_of(judge(tmp_path, rows, source_size=400), RULE)

    assert evidence_of(finding)["epochs"] == [*range(6 - late, 6)]


def test_batches_of_one_class_are_told(tmp_path: Path) -> None:
    order = buffered(600, 16)
    rows = in_epochs([order])
    rows["batch"] = [place // 20 for place in range(600)]
    rows["label"] = [f"class {record // 100}" for record in order]
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["label_purity"] > 0.8
    assert evidence_of(finding)["label_purity_expected"] == pytest.approx(1 / 6, abs=0.01)


def test_workers_with_a_small_buffer_each(tmp_path: Path) -> None:
    parts = [[200 * worker + record for record in buffered(200, 8, worker)] for worker in range(4)]
    rows = {
        "worker": [place % 4 for place in range(800)],
        "record": [record for records in zip(*parts, strict=True) for record in records],
    }
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["buffer"] <= 8


@pytest.mark.parametrize(("buffer", "weak"), [(20, True), (150, False)])
def test_a_buffer_of_workers_that_each_read_all_is_judged_by_the_part_that_was_theirs(
    buffer: int, weak: bool, tmp_path: Path
) -> None:
    workers = range(4)
    orders = [
        [record for same in zip(*epoch, strict=True) for record in same]
        for epoch in (
            [buffered(600, buffer, worker + seed) for worker in workers] for seed in (0, 9)
        )
    ]
    rows = in_epochs(orders, worker=[*workers] * 600)
    found = {finding.rule for finding in judge(tmp_path, rows, source_size=600).findings}

    assert found == ({"partition-broken", RULE} if weak else {"partition-broken"})
    alone = {"record": buffered(600, buffer, 1)}
    assert findings_of(judge(tmp_path / "alone", alone), RULE)


def test_no_shuffle_at_all_though_one_is_declared(tmp_path: Path) -> None:
    (finding,) = findings_of(judge(tmp_path, {"record": [*range(300)]}), RULE)

    assert evidence_of(finding)["buffer"] == 1


@pytest.mark.parametrize("size", [12, 100, 2000])
@pytest.mark.parametrize("seed", range(4))
def test_a_buffer_as_large_as_the_data_mixes(size: int, seed: int, tmp_path: Path) -> None:
    rows = in_epochs([buffered(size, size, seed), buffered(size, size, seed + 10)])

    assert findings_of(judge(tmp_path, rows), RULE) == []


def test_shuffled_shards_are_no_small_buffer(tmp_path: Path) -> None:
    shards = [2, 0, 1, 4, 3, 5, 7, 6]
    rows = {"record": [shard * 100 + place for shard in shards for place in range(100)]}

    assert findings_of(judge(tmp_path, rows), RULE) == []


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("buffer", [10, 40])
def test_shards_that_were_shuffled_before_a_buffer_stand_near_the_source_by_chance(
    buffer: int, shuffled: bool, tmp_path: Path
) -> None:
    near, far = [0, 2, 1, 3, 5, 4, 6, 7], [6, 1, 3, 7, 0, 2, 5, 4]
    orders = [near, far] if shuffled else [[*range(8)]] * 2
    epochs = [
        [shards[place // 100] * 100 + place % 100 for place in buffered(800, buffer, epoch)]
        for epoch, shards in enumerate(orders)
    ]
    rows = in_epochs(epochs)
    result = judge(tmp_path, rows | {"shard": [record // 100 for record in rows["record"]]})

    assert bool(findings_of(result, RULE)) is not shuffled


def test_one_shard_for_all_rows_hides_no_small_buffer(tmp_path: Path) -> None:
    rows = in_epochs([buffered(400, 13, seed) for seed in range(2)], shard=["train-0.tar"] * 400)
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["kind"] == "small buffer"


@pytest.mark.parametrize(
    "declared",
    [
        {"shuffle": False},
        {"purpose": "eval"},
        {"order_policy": "curriculum"},
        {"order_policy": "length_grouped"},
        {"order_policy": "fixed"},
    ],
)
def test_an_order_that_is_meant_is_passed(declared: dict[str, Any], tmp_path: Path) -> None:
    rows = in_epochs([buffered(400, 4), buffered(400, 4, 1)])

    assert findings_of(judge(tmp_path, rows, **declared), RULE) == []


def test_the_order_of_an_evaluation_split_is_not_judged(tmp_path: Path) -> None:
    order = random.Random(2).sample(range(300), 300)
    rows = {
        "split": ["train"] * 300 + ["val"] * 300,
        "record": [*order, *range(300, 600)],
    }

    assert findings_of(judge(tmp_path, rows), RULE) == []


def parts_of(
    size: int, parts: int, epochs: int, *, static: bool, column: str = "worker"
) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {name: [] for name in ("epoch", column, "record")}
    for epoch in range(epochs):
        source = random.Random(epoch)
        order = source.sample(range(size), size)
        dealt = [
            [record for record in order if record % parts == part] if static else order[part::parts]
            for part in range(parts)
        ]
        for place in range(size // parts):
            for part in range(parts):
                rows["epoch"].append(epoch)
                rows[column].append(part)
                rows["record"].append(dealt[part][place])
    return rows


@pytest.mark.parametrize(("size", "parts", "epochs"), [(16, 2, 3), (60, 3, 2), (400, 8, 5)])
@pytest.mark.parametrize("column", ["worker", "rank"])
def test_parts_that_keep_their_records(
    size: int, parts: int, epochs: int, column: str, tmp_path: Path
) -> None:
    rows = parts_of(size - size % parts, parts, epochs, static=True, column=column)
    (finding,) = findings_of(judge(tmp_path, rows), RULE)
    evidence = evidence_of(finding)

    assert finding.severity is Severity.WARN
    assert (evidence["kind"], evidence["by"]) == ("static shards", column)
    assert evidence["parts"] == parts
    assert evidence["stayed"] == evidence["common"]


@pytest.mark.parametrize("batch", [8, 1, None])
def test_workers_that_keep_their_records_behind_a_shuffle_of_all_are_passed(
    batch: int | None, tmp_path: Path
) -> None:
    rows = in_epochs([random.Random(epoch).sample(range(120), 120) for epoch in range(3)])
    rows["worker"] = [record % 4 for record in rows["record"]]
    if batch is not None:
        rows["batch"] = [place % 120 // batch for place in range(360)]

    assert findings_of(judge(tmp_path, rows, workers=4), RULE) == []


@pytest.mark.parametrize("batch", [2, 8])
def test_workers_that_make_batches_of_their_own_records_alone(batch: int, tmp_path: Path) -> None:
    rows = parts_of(96, 3, 3, static=True)
    by_batch = sorted(range(288), key=lambda row: (row // 96, row % 96 // (3 * batch), row % 3))
    rows = {name: [values[row] for row in by_batch] for name, values in rows.items()}
    rows["batch"] = [place % 96 // batch for place in range(288)]
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert (evidence_of(finding)["kind"], evidence_of(finding)["by"]) == ("static shards", "worker")


def test_few_rows_without_batches_do_not_tell_whether_workers_mix(tmp_path: Path) -> None:
    rows = in_epochs([random.Random(epoch).sample(range(48), 48) for epoch in range(2)])
    rows["worker"] = [record % 12 for record in rows["record"]]

    assert lacking(judge(tmp_path, rows), RULE) == ["batch"]


def test_workers_that_change_their_names_keep_their_records(tmp_path: Path) -> None:
    rows = parts_of(120, 3, 3, static=True)
    rows["worker"] = [(w + e) % 3 for w, e in zip(rows["worker"], rows["epoch"], strict=True)]

    assert findings_of(judge(tmp_path, rows), RULE)


def test_a_new_deal_in_each_epoch_is_passed(tmp_path: Path) -> None:
    rows = parts_of(120, 3, 3, static=False)

    assert findings_of(judge(tmp_path, rows), RULE) == []


def test_static_shards_are_declared(tmp_path: Path) -> None:
    rows = parts_of(120, 3, 3, static=True)
    (finding,) = findings_of(judge(tmp_path, rows, config={"static_shards": True}), RULE)

    assert finding.severity is Severity.NOTE


def test_epochs_of_one_order_are_another_fault(tmp_path: Path) -> None:
    rows = parts_of(120, 3, 1, static=True)
    rows = {name: values * 3 for name, values in rows.items()} | {
        "epoch": [epoch for epoch in range(3) for _ in range(120)]
    }
    rules = [finding.rule for finding in judge(tmp_path, rows).findings]

    assert rules == ["epoch-order-repeat"]


@pytest.mark.parametrize("inside", [False, True])
def test_batches_that_hold_the_same_records(inside: bool, tmp_path: Path) -> None:
    batches = [[*range(start, start + 5)] for start in range(0, 100, 5)]
    orders = []
    for epoch in range(3):
        source = random.Random(epoch)
        moved = source.sample(batches, 20)
        orders.append([r for b in moved for r in (source.sample(b, 5) if inside else b)])
    rows = in_epochs(orders, batch=[place // 5 for place in range(100)])
    found = [evidence_of(finding) for finding in findings_of(judge(tmp_path, rows), RULE)]

    assert [evidence["kind"] for evidence in found] == ["frozen batches"]
    assert (found[0]["batches"], found[0]["of"]) == (40, 40)


def test_new_batches_in_each_epoch_are_passed(tmp_path: Path) -> None:
    orders = [random.Random(epoch).sample(range(100), 100) for epoch in range(3)]
    rows = in_epochs(orders, batch=[place // 5 for place in range(100)])

    assert findings_of(judge(tmp_path, rows), RULE) == []


def test_data_of_one_batch_cannot_mix_better(tmp_path: Path) -> None:
    orders = [random.Random(epoch).sample(range(8), 8) for epoch in range(5)]
    rows = in_epochs(orders, batch=[0] * 8)

    assert findings_of(judge(tmp_path, rows), RULE) == []


def test_parts_that_are_shuffled_each_for_itself_have_no_small_buffer(tmp_path: Path) -> None:
    order = [
        row
        for half in range(2)
        for row in random.Random(half).sample(range(half * 60, half * 60 + 60), 60)
    ]

    for name, config in (("all", {}), ("parts", {"shuffled_elements": 60})):
        result = judge(tmp_path / name, {"record": order}, config=config)
        assert bool(findings_of(result, RULE)) is (name == "all")


def test_what_it_lacks_is_named(tmp_path: Path) -> None:
    order = random.Random(1).sample(range(50), 50)
    unknown = check(write_run(tmp_path / "unknown", {"record": order}))

    assert lacking(judge(tmp_path, {"record": order}), RULE) == ["at least 2 epochs"]
    assert lacking(unknown, RULE) == ["shuffle"]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(order=st.permutations(range(40)), epochs=st.integers(1, 3), parts=st.integers(1, 4))
def test_a_full_shuffle_never_alarms(
    order: list[int], epochs: int, parts: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = random.Random(repr(order))
    orders = [source.sample(order, 40) for _ in range(epochs)]
    rows = in_epochs(
        orders,
        worker=[place % parts for place in range(40)],
        batch=[place // 4 for place in range(40)],
    )

    assert findings_of(judge(tmp_path_factory.mktemp("full"), rows), RULE) == []


def test_few_shards_may_stay_with_a_rank_by_chance(tmp_path: Path) -> None:
    rng = random.Random(0)
    starts = [start for start in (0, 30, 60) for _ in range(30)]
    orders = [
        [record for start in (0, 30, 60) for record in rng.sample(range(start, start + 30), 30)]
        for _ in range(2)
    ]
    rows = in_epochs(orders, rank=[start // 30 for start in starts])
    sharded = rows | {"shard": [record // 30 for record in rows["record"]]}

    assert findings_of(judge(tmp_path / "told", sharded), RULE) == []
    assert findings_of(judge(tmp_path / "untold", rows), RULE) != []


def test_sources_that_begin_again_are_no_small_buffer(tmp_path: Path) -> None:
    rng = random.Random(0)
    short = [record for _ in range(10) for record in rng.sample(range(20), 20)]
    long = rng.sample(range(20, 220), 200)
    mixture = [record for pair in zip(short, long, strict=True) for record in pair]

    assert findings_of(judge(tmp_path, {"record": mixture, "epoch": [0] * 400}), RULE) == []


@pytest.mark.parametrize("size", [2, 3, 5])
def test_few_records_that_are_drawn_again_and_again_make_few_batches(
    size: int, tmp_path: Path
) -> None:
    drawn = [random.Random(epoch).choices(range(size), k=400) for epoch in range(4)]
    rows = in_epochs(drawn, batch=[place // 4 for place in range(400)])

    assert findings_of(judge(tmp_path, rows, replacement=True), RULE) == []
