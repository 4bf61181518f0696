"""Parts that overlap, replicate or leave gaps, and sharing that is meant."""

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

RULE = "partition-broken"


def dealt(by: str, *epochs: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Make a log of what each part delivers in each epoch, part after part."""
    rows: dict[str, list[Any]] = {"epoch": [], by: [], "record": []}
    for epoch, parts in enumerate(epochs):
        for number, records in enumerate(parts):
            rows["epoch"] += [epoch] * len(records)
            rows[by] += [number] * len(records)
            rows["record"] += records
    return rows


def judge(folder: Path, rows: dict[str, Any], **declared: Any) -> Result:
    return check(write_run(folder / "run", rows, declared))


@pytest.mark.parametrize("by", ["worker", "rank"])
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("parts", [2, 5])
def test_parts_that_all_read_everything(by: str, text: bool, parts: int, tmp_path: Path) -> None:
    records: list[Any] = [f"r{n}" if text else 3 * n for n in range(12)]
    result = judge(tmp_path, dealt(by, [records] * parts), shuffle=False, source_size=12)

    (finding,) = findings_of(result, RULE)
    assert loud_rules(result) == [RULE]
    assert evidence_of(finding)["kind"] == "replicated"
    assert evidence_of(finding)["by"] == by
    assert evidence_of(finding)["parts"] == [*range(parts)]
    assert evidence_of(finding)["records_count"] == 12


def in_turn(copies: int, *, blocks: int = 5, shuffle: bool = False) -> dict[str, list[Any]]:
    """Let workers that nobody recorded deliver 40 records each, some rows of each in turn."""
    record = [
        place
        for first in range(0, 40, blocks)
        for _ in range(copies)
        for place in range(first, first + blocks)
    ]
    if shuffle:
        random.Random(7).shuffle(record)
    return {"epoch": [0] * len(record) + [1] * len(record), "record": record * 2}


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("copies", [2, 3])
def test_workers_that_nobody_recorded_and_that_all_read_everything(
    copies: int, shuffle: bool, swapped: bool, tmp_path: Path
) -> None:
    runs = [
        write_run(tmp_path / name, in_turn(each, shuffle=shuffle), {"shuffle": shuffle})
        for name, each in (("once", 1), ("often", copies))
    ]
    result = audit(*(runs[::-1] if swapped else runs))
    (finding,) = findings_of(result, RULE)

    assert (finding.severity, finding.run) == (Severity.WARN, "a" if swapped else "b")
    assert (evidence_of(finding)["times"], evidence_of(finding)["records_count"]) == (copies, 40)
    assert evidence_of(finding)["undecidable"] is True


@pytest.mark.parametrize(
    ("often", "declared"),
    [
        (in_turn(2), {"config": {"repeats": 2}}),
        (in_turn(2), {"replacement": True}),
        (in_turn(2), {"num_samples": 80}),
        (in_turn(2, blocks=40), {}),
        ({"epoch": [0] * 80 + [1] * 80, "record": [*range(40), *[0] * 40] * 2}, {}),
    ],
    ids=["repeats", "replacement", "samples", "passes", "one record"],
)
def test_records_that_come_several_times_for_another_reason_are_passed(
    often: dict[str, Any], declared: dict[str, Any], tmp_path: Path
) -> None:
    a = write_run(tmp_path / "a", in_turn(1), {"shuffle": False})
    b = write_run(tmp_path / "b", often, {"shuffle": False} | declared)

    assert findings_of(audit(a, b), RULE) == []


def test_ranks_that_each_shuffle_for_themselves_overlap_and_leave_gaps(tmp_path: Path) -> None:
    epochs = []
    for epoch in range(2):
        orders = [random.Random(10 * epoch + rank).sample(range(60), 60) for rank in range(2)]
        epochs.append([order[rank::2] for rank, order in enumerate(orders)])
    result = judge(
        tmp_path, dealt("rank", *epochs), shuffle=True, replacement=False, source_size=60
    )

    (finding,) = findings_of(result, RULE)
    assert evidence_of(finding)["kind"] == "overlap"
    assert evidence_of(finding)["never_delivered_count"] == evidence_of(finding)["records_count"]
    assert evidence_of(finding)["epochs_count"] == 2


def test_one_shard_for_all_rows_hides_no_overlap(tmp_path: Path) -> None:
    orders = [random.Random(rank).sample(range(400), 400) for rank in range(2)]
    rows = dealt("rank", [order[rank::2] for rank, order in enumerate(orders)])
    result = judge(tmp_path, rows | {"shard": ["a.tar"] * 400}, shuffle=True, source_size=400)

    assert evidence_of(findings_of(result, RULE)[0])["kind"] == "overlap"


def test_ranges_that_share_a_border(tmp_path: Path) -> None:
    rows = dealt("worker", [[*range(6)], [*range(5, 12)]])
    (finding,) = findings_of(
        judge(tmp_path, rows, shuffle=False, num_epochs=1, source_size=12), RULE
    )

    assert evidence_of(finding)["records"] == [5]
    assert evidence_of(finding)["parts"] == [0, 1]


def test_a_stride_of_more_ranks_than_there_are(tmp_path: Path) -> None:
    rows = dealt("rank", [[*range(0, 24, 4)], [*range(1, 24, 4)]])
    result = judge(tmp_path, rows, shuffle=False, source_size=24, world_size=2)

    (finding,) = findings_of(result, RULE)
    assert loud_rules(result) == [RULE]
    assert evidence_of(finding)["kind"] == "gaps"
    assert evidence_of(finding)["never_delivered_count"] == 12


def test_workers_of_one_rank_of_two(tmp_path: Path) -> None:
    rows = {
        "epoch": [0] * 12,
        "rank": [0] * 4 + [1] * 8,
        "worker": [0, 1, 0, 1] + [0, 1] * 4,
        "record": [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7],
    }
    (finding,) = findings_of(judge(tmp_path, rows, shuffle=False, source_size=8), RULE)

    assert evidence_of(finding)["by"] == "worker"
    assert evidence_of(finding)["rank"] == 1


@pytest.mark.parametrize(
    ("rows", "declared"),
    [
        pytest.param(
            dealt("rank", [[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 0]]),
            {"source_size": 11, "world_size": 2},
            id="the sampler evens out its ranks",
        ),
        pytest.param(
            dealt("rank", [[0, 2, 4], [1, 3, 0]]) | {"padding": [False] * 5 + [True]},
            {"source_size": 5},
            id="padding that is flagged",
        ),
        pytest.param(
            dealt("rank", [[*range(8)], [*range(8)]]),
            {"config": {"replication": 2}},
            id="ranks that share one replica",
        ),
        pytest.param(
            dealt("rank", [[*range(4)], [*range(4)], [*range(4, 8)], [*range(4, 8)]]),
            {"config": {"replication": [[0, 1], [2, 3]]}},
            id="groups of ranks that share a replica",
        ),
        pytest.param(
            dealt("worker", [[0, 1, 2, 3], [0, 1, 2, 3]]),
            {"config": {"repeats": 2}},
            id="declared repeats",
        ),
        pytest.param(
            dealt("worker", [[0, 1, 1, 3], [3, 0, 2, 1]]), {"replacement": True}, id="replacement"
        ),
        pytest.param(
            dealt("worker", [[0, 1], [2, 3]], [[2, 3], [0, 1]]), {}, id="parts that change"
        ),
        pytest.param(
            dealt("worker", [[0, 1, 2], [2, 3, 4]]) | {"asked": [0, 1, 5, 2, 3, 4]},
            {"source_size": 6},
            id="a substitute is another fault",
        ),
        pytest.param(
            dealt("worker", [[0, 1, 2], [2, 3, 4]]),
            {"source_size": 6},
            id="what may be a substitute",
        ),
    ],
)
def test_sharing_that_is_meant_is_passed(
    rows: dict[str, Any], declared: dict[str, Any], tmp_path: Path
) -> None:
    assert findings_of(judge(tmp_path, rows, shuffle=False, **declared), RULE) == []


def test_draws_that_may_be_with_replacement_cannot_tell(tmp_path: Path) -> None:
    rng = random.Random(0)
    rows = dealt("worker", [rng.choices(range(30), k=30), rng.choices(range(30), k=30)])

    assert lacking(judge(tmp_path, rows, shuffle=True), RULE) == ["replacement"]


def test_a_resumed_run_may_deliver_records_again(tmp_path: Path) -> None:
    rows = dealt("worker", [[0, 1, 2, 3], [2, 3, 4, 5]])
    result = judge(tmp_path, rows, shuffle=False, resume={"position": 4})

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["a run that was not resumed"]


def test_passes_that_are_not_told_apart_cannot_tell(tmp_path: Path) -> None:
    rows = {"worker": [0, 1, 0, 1, 1, 0, 1], "record": [0, 1, 2, 3, 0, 1, 2]}

    assert findings_of(judge(tmp_path, rows, shuffle=False), RULE) == []


def test_what_a_filter_leaves_out_lies_between_the_steps_of_ranks(tmp_path: Path) -> None:
    kept = [record for record in range(90) if record % 3]
    result = judge(
        tmp_path,
        dealt("rank", [kept[0::2], kept[1::2]]),
        shuffle=False,
        source_size=90,
        config={"filter": "position % 3"},
    )

    assert findings_of(result, RULE) == []


def test_rows_that_even_out_ranks_may_come_from_any_worker(tmp_path: Path) -> None:
    order = random.Random(2).sample(range(62), 62)
    padded = [*order, *order[:2]]
    shares = [padded[rank::4] for rank in range(4)]
    result = judge(
        tmp_path,
        dealt("rank", [[*share[1:], share[0]] for share in shares]),
        shuffle=True,
        replacement=False,
        source_size=62,
    )

    assert findings_of(result, RULE) == []


def test_draws_with_replacement_against_the_declaration_are_no_overlap(tmp_path: Path) -> None:
    drawn = random.Random(4).choices(range(60), k=60)
    result = judge(
        tmp_path,
        dealt("rank", [drawn[0::2], drawn[1::2]]),
        shuffle=True,
        replacement=False,
        source_size=60,
        num_epochs=1,
    )

    assert loud_rules(result) == ["sampling-distribution"]


def test_ranks_that_read_everything_are_no_parts_of_their_baseline(tmp_path: Path) -> None:
    shares = [[*range(14 * rank, 14 * rank + 14)] for rank in range(4)]
    declared = {"shuffle": False, "source_size": 56, "world_size": 4}
    a = write_run(tmp_path / "a", dealt("rank", shares), declared)
    b = write_run(tmp_path / "b", dealt("rank", [[*range(56)]] * 4), declared)

    assert loud_rules(audit(a, b)) == [RULE]


@pytest.mark.parametrize("by", ["worker", "rank"])
def test_an_epoch_that_is_filled_up_from_its_beginning_is_shared_out(
    by: str, tmp_path: Path
) -> None:
    order = random.Random(1).sample(range(29), 29)
    filled = order + order[:3]
    rows = {"epoch": [0] * 32, by: [place % 2 for place in range(32)], "record": filled}
    declared = {"shuffle": True, "replacement": False, "source_size": 29, "purpose": "train"}

    assert loud_rules(judge(tmp_path, rows, **declared)) == []


def test_ranks_that_may_have_drawn_the_same_shard_cannot_tell(tmp_path: Path) -> None:
    rows = dealt("rank", [[3, 1, 2, 0], [0, 2, 1, 3]])
    declared = {"shuffle": True, "source_size": 8}
    result = judge(tmp_path, rows | {"shard": [0] * 8}, **declared)

    assert loud_rules(result) == []
    assert lacking(result, RULE)[0].startswith("replacement")


def test_ranks_whose_other_workers_never_came_leave_no_gaps(tmp_path: Path) -> None:
    begun = dealt("rank", [[0, 6, 12, 18], [1, 7, 13, 19], [2, 8, 14, 20]])
    declared = {"shuffle": False, "source_size": 22, "workers": 2, "world_size": 3}
    told = judge(tmp_path / "told", begun | {"worker": [0] * 12}, **declared)
    untold = judge(tmp_path / "untold", begun, **declared)

    assert findings_of(told, RULE) == findings_of(untold, RULE) == []
    assert lacking(untold, RULE) == ["worker"]


@pytest.mark.parametrize("told", ["worker", "nothing"])
def test_an_epoch_that_was_left_while_one_worker_had_come_leaves_no_gaps(
    told: str, tmp_path: Path
) -> None:
    orders = [[0, 4, 8, 12, 2, 6, 10, 14], [1, 5, 9, 13, 3, 7, 11, 15]]
    rows = dealt("rank", orders, [order[:4] for order in orders])
    if told == "worker":
        rows |= {"worker": [*([0] * 8 + [1] * 8), *[0] * 8]}
    result = judge(tmp_path, rows, shuffle=False, source_size=16, num_epochs=2)

    assert loud_rules(result) == []


@pytest.mark.parametrize("size", [21, 26, 59])
def test_ranks_that_read_everything_do_not_merely_fill_up_batches(
    size: int, tmp_path: Path
) -> None:
    order = random.Random(size).sample(range(size), size)
    rows = dealt("rank", [order] * 4)
    declared = {"shuffle": True, "source_size": size, "batch_size": 8, "workers": 4}
    result = judge(tmp_path, rows, replacement=False, **declared)

    assert loud_rules(result) == [RULE]
    assert evidence_of(findings_of(result, RULE)[0])["kind"] == "replicated"


def test_batches_that_are_filled_up_on_each_rank_are_meant(tmp_path: Path) -> None:
    order = random.Random(1).sample(range(50), 50)
    filled = order + order[:14]  # 4 ranks, batches of 8
    rows = dealt("rank", [filled[rank::4] for rank in range(4)])
    declared = {"shuffle": True, "source_size": 50, "batch_size": 8}

    assert loud_rules(judge(tmp_path, rows, replacement=False, **declared)) == []


@pytest.mark.parametrize("by", ["worker", "rank"])
def test_the_same_few_records_from_all_parts_may_have_been_drawn(by: str, tmp_path: Path) -> None:
    rows = dealt(by, [[2, 5], [2, 5]])
    result = judge(tmp_path, rows, source_size=8)

    assert loud_rules(result) == []
    assert lacking(result, RULE)[0].startswith("replacement")


def test_a_stride_of_more_ranks_than_there_are_shows_by_the_index(tmp_path: Path) -> None:
    rows = dealt("rank", *[[[*range(rank, 60, 5)] for rank in range(4)] for _ in range(2)])
    named = rows | {"index": rows["record"], "record": [f"r{record}" for record in rows["record"]]}
    result = judge(tmp_path, named, shuffle=False, source_size=60, world_size=4)
    (finding,) = findings_of(result, RULE)

    assert loud_rules(result) == [RULE]
    assert evidence_of(finding)["kind"] == "gaps"
    assert evidence_of(finding)["never_delivered_count"] == 12


def test_how_many_records_there_are_is_told_by_all_ranks(tmp_path: Path) -> None:
    drawn = [random.Random(seed).choices(range(160), k=22) for seed in range(8)]
    fresh = [[*dict.fromkeys(each)] for each in drawn]  # no worker happens to repeat one
    rows = {
        "epoch": [0] * sum(map(len, fresh)),
        "rank": [number // 2 for number, each in enumerate(fresh) for _ in each],
        "worker": [number % 2 for number, each in enumerate(fresh) for _ in each],
        "record": [record for each in fresh for record in each],
    }

    assert loud_rules(judge(tmp_path, rows, shuffle=True, workers=2, num_epochs=1)) == []


CONTENTS: dict[str, tuple[bool, list[list[int]], dict[str, Any]]] = {
    # Whether it is a fault, and the content of each rank's records in each of two epochs.
    "parts that each count from 0": (False, [[10, 20], [10, 20]], {}),
    "one source": (True, [[10, 10], [10, 10]], {}),
    "draws that nobody sees": (True, [[10, 20], [30, 40]], {}),
    "parts, drawn from alike": (False, [[10, 20], [30, 40]], {"draws": [[1, 1], [2, 2]]}),
    "one source, drawn from otherwise": (True, [[10, 20], [30, 40]], {"draws": [[1, 2], [3, 4]]}),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_ranks_that_each_count_a_part_of_their_own_are_no_replicas(
    name: str, tmp_path: Path
) -> None:
    is_fault, contents, seen = CONTENTS[name]
    rows = dealt("rank", *[[[*range(9)]] * 2] * 2)
    digests = {"content": contents, **seen}
    for column, epochs in digests.items():
        rows[column] = [1000 * base + n for epoch in epochs for base in epoch for n in range(9)]
    result = judge(tmp_path, rows, shuffle=False)

    assert bool(findings_of(result, RULE)) is is_fault
    if not is_fault:
        assert loud_rules(result) == []
        assert lacking(result, RULE) == ["record IDs that mean the same on every rank"]


@pytest.mark.parametrize(("samples", "rules"), [(257, []), (None, [RULE])])
def test_more_samples_than_records_come_from_several_workers(
    samples: int | None, rules: list[str], tmp_path: Path
) -> None:
    passes = [random.Random(seed).sample(range(100), 100) for seed in range(3)]
    order = [record for drawn in passes for record in drawn][:257]
    rows = {
        "worker": [place // 9 % 2 for place in range(257)],
        "batch": [place // 9 for place in range(257)],
        "record": order,
    }
    declared = {"source_size": 100, "batch_size": 9, "replacement": False, "num_epochs": 1}
    declared |= {} if samples is None else {"num_samples": samples}
    result = judge(tmp_path, rows, shuffle=True, workers=2, **declared)

    assert [finding.rule for finding in findings_of(result, RULE)] == rules


def shared_out(
    size: int, ranks: int, epochs: int, *, shuffle: bool = True
) -> list[list[list[str]]]:
    """Share epochs out as a distributed sampler does, which goes round to even out its ranks."""
    dealt_out = []
    for epoch in range(epochs):
        order = [f"r{record}" for record in range(size)]
        if shuffle:
            random.Random(epoch).shuffle(order)
        order += order[: -size % ranks]
        dealt_out.append([order[rank::ranks] for rank in range(ranks)])
    return dealt_out


def with_workers(rows: dict[str, list[Any]], batch_size: int, workers: int) -> dict[str, list[Any]]:
    """Add the worker of each row, where workers take turns with batches."""
    place: dict[tuple[int, int], int] = {}
    dealt_to = []
    for part in zip(rows["epoch"], rows["rank"], strict=True):
        place[part] = place.get(part, -1) + 1
        dealt_to.append(place[part] // batch_size % workers)
    return rows | {"worker": dealt_to}


SHORT = {"shuffle": True, "batch_size": 8, "workers": 2}


@pytest.mark.parametrize("told", [True, False], ids=["workers told", "workers untold"])
def test_a_rank_that_reads_the_data_of_another_one_in_short_epochs(
    told: bool, tmp_path: Path
) -> None:
    epochs = [[*shares[:3], shares[2]] for shares in shared_out(64, 4, 3)]
    rows = dealt("rank", *epochs)
    rows = with_workers(rows, 8, 2) if told else rows
    result = judge(tmp_path, rows, source_size=64, world_size=4, **SHORT)

    (finding,) = findings_of(result, RULE)
    assert loud_rules(result)[0] == RULE
    assert evidence_of(finding)["parts"] == [2, 3]
    assert evidence_of(finding)["records_count"] == 16


def test_one_record_that_all_ranks_read(tmp_path: Path) -> None:
    epochs = [
        [share if "r5" in share else [share[0], "r5", *share[1:]] for share in shares]
        for shares in shared_out(64, 4, 3)
    ]
    result = judge(tmp_path, with_workers(dealt("rank", *epochs), 8, 2), source_size=64, **SHORT)

    (finding,) = findings_of(result, RULE)
    assert evidence_of(finding)["records"] == ["r5"]


@pytest.mark.parametrize("told", [True, False], ids=["workers told", "workers untold"])
@pytest.mark.parametrize("purpose", ["train", "eval"])
@pytest.mark.parametrize("size", [61, 62, 63, 64])
def test_ranks_that_a_sampler_evens_out_share_the_source(
    size: int, purpose: str, told: bool, tmp_path: Path
) -> None:
    shuffle = purpose == "train"
    rows = dealt("rank", *shared_out(size, 4, 3, shuffle=shuffle))
    rows = with_workers(rows, 8, 2) if told else rows
    declared = SHORT | {"shuffle": shuffle, "purpose": purpose, "source_size": size}

    result = judge(tmp_path, rows, **declared)

    # What an evaluation counts twice is another fault.
    assert loud_rules(result) == ([] if shuffle or size == 64 else ["tail-handling"])


def test_ranks_that_nothing_evens_out_share_the_source(tmp_path: Path) -> None:
    orders = [random.Random(epoch).sample(range(62), 62) for epoch in range(3)]
    rows = dealt("rank", *[[order[rank::4] for rank in range(4)] for order in orders])
    rows = with_workers(rows, 8, 2)

    assert loud_rules(judge(tmp_path, rows, source_size=62, **SHORT)) == []


def test_two_records_of_one_name_may_be_a_substitute(tmp_path: Path) -> None:
    rows = dealt("rank", *shared_out(64, 4, 3))
    rows["record"] = ["r8" if name == "r7" else name for name in rows["record"]]
    result = judge(tmp_path, with_workers(rows, 8, 2), source_size=64, **SHORT)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["asked"]
