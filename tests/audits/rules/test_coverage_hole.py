"""Records that are replaced or never come, and records that need not come."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from detloader.audits import audit, check
from detloader.findings import Result, Severity
from detloader.order.permutation import permute
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RULE = "coverage-hole"


def epochs_of(*orders: Sequence[Any]) -> dict[str, list[Any]]:
    return {
        "epoch": [number for number, order in enumerate(orders) for _ in order],
        "record": [record for order in orders for record in order],
    }


def without(size: int, *gone: int, seed: int | None = None) -> list[int]:
    records = [record for record in range(size) if record not in gone]
    return records if seed is None else random.Random(seed).sample(records, len(records))


def judge(folder: Path, rows: dict[str, Any], **declared: Any) -> Result:
    return check(write_run(folder / "run", rows, declared))


@pytest.mark.parametrize("text", [False, True])
def test_a_substitute_is_named_with_what_was_asked(text: bool, tmp_path: Path) -> None:
    asked: list[Any] = [f"r{n}" if text else n for n in range(10)]
    record = [*asked]
    record[3], record[7] = asked[8], asked[6]
    result = judge(tmp_path, {"asked": asked, "record": record}, shuffle=False, source_size=10)

    (finding,) = findings_of(result, RULE)
    assert loud_rules(result) == [RULE]
    assert finding.severity is Severity.WARN
    assert evidence_of(finding)["dropped"] == [asked[3], asked[7]]
    assert evidence_of(finding)["substituted_count"] == 2
    assert evidence_of(finding)["substituted"][0] == {
        "row": 3,
        "epoch": 0,
        "asked": asked[3],
        "record": asked[8],
    }


def test_a_substitute_that_one_of_two_runs_has_fails(tmp_path: Path) -> None:
    rows = {"asked": [0, 1, 2, 3, 4, 5], "record": [0, 1, 2, 3, 4, 5]}
    other = rows | {"record": [0, 1, 2, 4, 4, 5]}
    declared = {"shuffle": False, "source_size": 6}
    right = write_run(tmp_path / "a", rows, declared)
    result = audit(right, write_run(tmp_path / "b", other, declared))
    (finding,) = findings_of(result, RULE)

    assert (finding.severity, finding.run) == (Severity.FAIL, "b")
    assert loud_rules(result) == [RULE]


def test_records_that_only_the_baseline_delivers_fail(tmp_path: Path) -> None:
    declared = {"shuffle": True, "drop_remainder": False, "num_epochs": 1}
    a = write_run(tmp_path / "a", epochs_of(without(40, seed=1)), declared)
    b = write_run(tmp_path / "b", epochs_of(without(40, 7, 30, seed=2)), declared)
    (finding,) = findings_of(audit(a, b), RULE)

    assert finding.severity is Severity.FAIL
    assert evidence_of(finding)["dropped"] == [7, 30]


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_smaller_source_that_is_declared_is_a_note(
    shuffle: bool, text: bool, tmp_path: Path
) -> None:
    runs = []
    for name, records in (("a", range(115)), ("b", range(20, 115))):
        epochs = [
            random.Random(seed).sample(records, len(records)) if shuffle else records
            for seed in range(3)
        ]
        rows = epochs_of(*([f"r{n:03}" if text else n for n in epoch] for epoch in epochs))
        declared = {"shuffle": shuffle, "seed": 3, "source_size": len(records), "num_epochs": 3}
        runs.append(write_run(tmp_path / name, rows, declared))
    (finding,) = findings_of(audit(*runs), RULE)

    assert (finding.severity, finding.run) == (Severity.NOTE, "b")
    assert "`source_size` is 95 instead of 115" in finding.message
    assert evidence_of(finding)["dropped_count"] == 20


def test_a_smaller_source_is_no_excuse_for_what_it_lacks_itself(tmp_path: Path) -> None:
    epochs = (
        [without(40, seed=seed) for seed in range(3)],
        [without(30, 4, seed=s) for s in range(3)],
    )
    declared = {"shuffle": True, "drop_remainder": False}
    runs = [
        write_run(tmp_path / f"{size}", epochs_of(*orders), declared | {"source_size": size})
        for size, orders in zip((40, 30), epochs, strict=True)
    ]
    findings = findings_of(audit(*runs), RULE)

    assert [finding.severity for finding in findings] == [Severity.WARN, Severity.NOTE]
    assert evidence_of(findings[0])["dropped"] == [4]


def test_a_hole_in_every_epoch_is_found_in_one_run(tmp_path: Path) -> None:
    rows = epochs_of(*(without(30, 4, 21, seed=seed) for seed in range(3)))
    result = judge(tmp_path, rows, shuffle=True, source_size=30)

    assert loud_rules(result) == [RULE]
    assert evidence_of(findings_of(result, RULE)[0])["dropped"] == [4, 21]


def lossy(size: int, *, share: float, seed: int, text: bool = False) -> list[Any]:
    source = random.Random(seed)
    kept = [record for record in range(size) if source.random() > share]
    return [f"r{record:04}" for record in kept] if text else kept


@pytest.mark.parametrize("declared", [{"num_samples": 200, "replacement": False}, {}])
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_other_records_that_each_epoch_of_an_evaluation_loses(
    declared: dict[str, Any], text: bool, share: float, tmp_path: Path
) -> None:
    epochs = [lossy(200, share=share, seed=seed, text=text) for seed in range(5)]
    meant = {"purpose": "eval", "shuffle": False, "source_size": 200, "batch_size": 16}
    result = judge(tmp_path, epochs_of(*epochs), **meant, **declared)
    finding = findings_of(result, RULE)[-1]
    evidence = evidence_of(finding)

    assert loud_rules(result) == [RULE]
    assert finding.severity is Severity.FAIL
    assert evidence["lacking_count"] == len(set().union(*epochs) - {*epochs[0]})
    assert set(evidence["lacking"]).isdisjoint(epochs[0])
    assert (evidence["expected"], evidence["epochs"]) == (200, [0, 1, 2, 3])


def test_epochs_of_fewer_records_than_they_draw_by_declaration(tmp_path: Path) -> None:
    orders = [random.Random(seed).sample(range(96), 48) for seed in range(6)]
    declared = {"shuffle": True, "source_size": 96, "num_samples": 96, "replacement": False}
    (finding,) = findings_of(judge(tmp_path, epochs_of(*orders), **declared), RULE)

    assert finding.severity is Severity.WARN
    assert evidence_of(finding)["lacking_count"] == 48


def test_draws_with_replacement_that_are_fewer_than_declared(tmp_path: Path) -> None:
    orders = [random.Random(seed).choices(range(20), k=60) for seed in range(3)]
    declared = {"shuffle": True, "source_size": 20, "num_samples": 100, "replacement": True}
    (finding,) = findings_of(judge(tmp_path, epochs_of(*orders), **declared), RULE)

    assert evidence_of(finding)["lacking"] == []
    assert evidence_of(finding)["lacking_count"] == 40


def test_ranks_of_a_shuffle_that_was_dealt_out_to_more(tmp_path: Path) -> None:
    orders = [random.Random(seed).sample(range(96), 96) for seed in range(4)]
    rows = epochs_of(*(order[0::4] + order[1::4] for order in orders))
    rows["rank"] = ([0] * 24 + [1] * 24) * 4
    declared = {"shuffle": True, "source_size": 96, "batch_size": 4, "world_size": 2}
    told = judge(tmp_path / "told", rows, num_samples=96, **declared)
    untold = judge(tmp_path / "untold", rows, **declared)

    assert "into 4 parts, and 2 ranks" in str(findings_of(told, RULE)[0].cause)
    assert lacking(untold, RULE) == ["num_samples, for each epoch leaves out others"]
    assert lacking(untold, "partition-broken") == ["the order that was dealt out"]


def test_records_that_are_replaced_in_another_place_in_each_epoch(tmp_path: Path) -> None:
    orders = [[*range(200)] for _ in range(3)]
    for epoch, order in enumerate(orders):
        order[40 * epoch + 7] = 40 * epoch + 8
    result = judge(tmp_path, epochs_of(*orders), shuffle=False, source_size=200)

    assert evidence_of(findings_of(result, RULE)[0])["lacking"] == [7]


@pytest.mark.parametrize(
    ("drop_remainder", "missing"), [(None, ["drop_remainder"]), (True, []), (False, [])]
)
def test_a_dropped_remainder_of_draws_explains_what_epochs_lack(
    drop_remainder: bool | None, missing: list[str], tmp_path: Path
) -> None:
    orders = [random.Random(seed).choices(range(8), k=28) for seed in range(3)]
    declared = {"shuffle": True, "source_size": 8, "num_samples": 30, "replacement": True}
    declared |= {} if drop_remainder is None else {"drop_remainder": drop_remainder}
    result = judge(tmp_path, epochs_of(*orders), batch_size=4, **declared)

    assert lacking(result, RULE) == missing
    assert bool(findings_of(result, RULE)) == (drop_remainder is False)


def test_a_first_look_at_an_evaluation_is_no_hole(tmp_path: Path) -> None:
    rows = epochs_of(range(16), range(60), range(60))
    result = judge(tmp_path, rows, shuffle=False, purpose="eval", source_size=60, num_samples=60)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["epochs that were not stopped early"]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(
    ("orders", "why"),
    [
        (
            [[(start + place) % 250 for place in range(100)] for start in (0, 100, 200)],
            "each epoch leaves out others",
        ),
        ([[*range(length)] for length in (100, 150, 200, 250)], "epochs grow"),
        ([[*range(length)] for length in (40, 250)], "epochs grow"),
    ],
    ids=["a pass over several epochs", "a curriculum", "a first look"],
)
def test_epochs_that_may_be_meant_to_be_short(
    orders: list[list[int]], why: str, shuffle: bool, tmp_path: Path
) -> None:
    if shuffle:
        orders = [random.Random(0).sample(order, len(order)) for order in orders]
    result = judge(tmp_path, epochs_of(*orders), shuffle=shuffle, source_size=250)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == [f"num_samples, for {why}"]


def test_a_hole_before_the_end_is_found_in_source_order(tmp_path: Path) -> None:
    result = judge(tmp_path, {"record": without(30, 4)}, shuffle=False, source_size=30)

    assert findings_of(result, RULE)[0].severity is Severity.WARN


def test_an_evaluation_that_leaves_records_out_fails(tmp_path: Path) -> None:
    result = judge(
        tmp_path, {"record": without(30, 4)}, shuffle=False, source_size=30, purpose="eval"
    )

    assert findings_of(result, RULE)[0].severity is Severity.FAIL


@pytest.mark.parametrize("known", [True, False])
def test_what_a_published_shuffle_loses_is_the_shuffles_doing(known: bool, tmp_path: Path) -> None:
    size = 2**16 + 1
    index = permute(np.arange(size), size, 3, compatibility="published").tolist()
    rows = epochs_of(index, index)
    if not known:
        rows |= {"index": rows["record"], "record": [f"r{number}" for number in rows["record"]]}
    config = {"compatibility": "published"}
    result = judge(tmp_path, rows, shuffle=True, source_size=size, num_epochs=2, config=config)

    (finding,) = findings_of(result, RULE)
    who = "Record" if known else "The record at place"
    assert finding.message.startswith(f"{who} {size - 1} never comes")
    assert "`compatibility` asks for" in str(finding.cause)
    assert (finding.confirm is not None) == known


def test_text_ids_are_counted(tmp_path: Path) -> None:
    orders = [[f"r{record}" for record in without(30, 4, seed=seed)] for seed in range(4)]
    (finding,) = findings_of(
        judge(tmp_path, epochs_of(*orders), shuffle=True, source_size=30), RULE
    )

    assert evidence_of(finding)["dropped"] == []
    assert evidence_of(finding)["dropped_count"] == 1


def test_an_epoch_without_rows(tmp_path: Path) -> None:
    rows = {"epoch": [0, 0, 2, 2], "record": [0, 1, 1, 0]}
    (finding,) = findings_of(judge(tmp_path, rows, shuffle=True, source_size=2), RULE)

    assert evidence_of(finding)["empty_epochs"] == [1]


def test_the_same_loss_in_many_shuffled_epochs_is_no_dropped_batch(tmp_path: Path) -> None:
    rows = epochs_of(*(without(22, 3, 9, seed=seed) for seed in range(20)))
    result = judge(tmp_path, rows, shuffle=True, source_size=22, batch_size=4, drop_remainder=True)

    assert loud_rules(result) == [RULE]


@pytest.mark.parametrize(
    ("rows", "declared"),
    [
        pytest.param(
            epochs_of(*(without(22, seed, seed + 1, seed=seed) for seed in range(3))),
            {"shuffle": True, "batch_size": 4, "drop_remainder": True},
            id="other records dropped in each epoch",
        ),
        pytest.param(
            epochs_of(without(22, 20, 21, seed=1)),
            {"shuffle": True, "batch_size": 4},
            id="a dropped batch that may be",
        ),
        pytest.param(
            epochs_of(without(22, 20, 21)), {"shuffle": False}, id="one epoch, stopped early"
        ),
        pytest.param(
            epochs_of(without(22, seed=1), without(22, seed=2)[:7]),
            {"shuffle": True},
            id="the last epoch is cut short",
        ),
        pytest.param(
            epochs_of(*(without(22, 4, seed=seed) for seed in range(3))),
            {"shuffle": True, "config": {"filter": "length > 3"}},
            id="a declared filter",
        ),
        pytest.param(
            epochs_of(random.Random(0).choices(range(22), k=22)),
            {"shuffle": True, "replacement": True},
            id="replacement leaves some out",
        ),
        pytest.param(
            epochs_of(random.Random(0).choices(range(22), [1] * 21 + [0], k=400)),
            {"shuffle": True, "replacement": True, "weights": [1] * 21 + [0]},
            id="weight zero",
        ),
        pytest.param(
            epochs_of(without(22, seed=1)[:11], without(22, seed=2)[:11]),
            {"shuffle": True, "num_samples": 11},
            id="each epoch draws a part",
        ),
        pytest.param(
            {"record": without(22, *range(11))},
            {"shuffle": False, "resume": {"position": 11}},
            id="a resumed run",
        ),
        pytest.param(
            {"rank": [0] * 11, "record": [*range(0, 22, 2)]},
            {"shuffle": False, "world_size": 2},
            id="the log of one rank",
        ),
    ],
)
def test_records_that_need_not_come_are_passed(
    rows: dict[str, Any], declared: dict[str, Any], tmp_path: Path
) -> None:
    assert findings_of(judge(tmp_path, rows, source_size=22, **declared), RULE) == []


def test_one_shuffled_epoch_may_have_been_stopped_early(tmp_path: Path) -> None:
    result = judge(tmp_path, {"record": without(22, 4, seed=1)}, shuffle=True, source_size=22)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["more epochs, or drop_remainder"]
    whole = judge(
        tmp_path / "whole",
        {"record": without(22, 4, seed=1)},
        shuffle=True,
        source_size=22,
        drop_remainder=False,
    )
    assert lacking(whole, RULE) == ["at least 2 epochs, for one may have been stopped early"]


def test_the_beginning_of_a_baseline_is_shorter_not_holed(tmp_path: Path) -> None:
    order = without(40, seed=1)
    a = write_run(tmp_path / "a", epochs_of(order), {"shuffle": True})
    b = write_run(tmp_path / "b", epochs_of(order[:30]), {"shuffle": True})

    assert loud_rules(audit(a, b)) == []


def test_what_implicit_partitioning_explains_is_not_said_again(tmp_path: Path) -> None:
    order = [6, 0, 1, 2, 3, 7, 4, 5]
    declared = {"shuffle": False, "source_size": 10, "workers": 4}
    a = write_run(tmp_path / "a", {"record": [*range(10)]}, declared)
    b = write_run(tmp_path / "b", {"record": order}, declared)

    assert loud_rules(audit(a, b)) == ["implicit-partitioning"]


def test_a_run_in_source_order_of_names_may_be_stopped_early(tmp_path: Path) -> None:
    rows = {"record": [f"case-{number}" for number in range(63)]}

    assert loud_rules(judge(tmp_path, rows, shuffle=False, source_size=77)) == []


@pytest.mark.parametrize("seed", [None, 3])
def test_ranks_that_are_stopped_early_are_a_beginning(seed: int | None, tmp_path: Path) -> None:
    order = without(60, seed=seed)
    a = {"rank": [place % 3 for place in range(60)], "record": order}
    b = {name: values[:36] for name, values in a.items()}
    declared = {"shuffle": seed is not None, "source_size": 60, "num_epochs": 1, "batch_size": 4}
    runs = [write_run(tmp_path / name, rows, declared) for name, rows in (("a", a), ("b", b))]

    assert loud_rules(audit(*runs)) == []


def test_workers_that_read_slices_may_be_stopped_early(tmp_path: Path) -> None:
    rows = {
        "worker": [0] * 9 + [1] * 9 + [0] * 9,
        "record": [*range(9), *range(100, 109), *range(9, 18)],
    }
    result = judge(tmp_path, rows, shuffle=False, source_size=200, workers=2, batch_size=9)

    assert loud_rules(result) == []


def test_another_seed_that_is_stopped_early_may_lack_anything(tmp_path: Path) -> None:
    declared = {"shuffle": True, "source_size": 60, "batch_size": 4}
    a = write_run(tmp_path / "a", {"record": without(60, seed=1)}, declared)
    b = write_run(tmp_path / "b", {"record": without(60, seed=2)[:24]}, declared)

    assert loud_rules(audit(a, b)) == []


@pytest.mark.parametrize("workers", [0, 2])
def test_draws_that_repeat_records_may_leave_others_out(workers: int, tmp_path: Path) -> None:
    few = judge(tmp_path / "few", {"record": [0, 0, 0, 0]}, shuffle=True, source_size=4)
    drawn = random.Random(5).choices(range(80), k=160)
    rows = {"epoch": [0] * 80 + [1] * 80, "record": drawn}
    many = judge(tmp_path / "many", rows, shuffle=True, source_size=80, workers=workers)

    assert loud_rules(few) == []
    assert lacking(many, RULE) == ["worker" if workers else "replacement"]


def test_samples_of_the_source_leave_records_out_by_chance(tmp_path: Path) -> None:
    orders = [random.Random(epoch).sample(range(60), 40) for epoch in range(3)]
    rows = epochs_of(*orders)
    declared = {"shuffle": True, "source_size": 60, "batch_size": 4, "purpose": "train"}

    assert loud_rules(judge(tmp_path / "told", rows, num_samples=40, **declared)) == []
    untold = judge(tmp_path / "untold", rows, drop_remainder=False, **declared)
    assert loud_rules(untold) == []
    assert lacking(untold, RULE) == ["num_samples, for each epoch leaves out others"]


def test_a_curriculum_that_was_stopped_need_not_have_come_to_all_records(tmp_path: Path) -> None:
    rows = epochs_of(without(20), without(40), without(60))
    result = judge(tmp_path, rows, source_size=80, replacement=False, purpose="train")

    assert loud_rules(result) == []
    assert lacking(result, RULE) == ["epochs of like length"]


def test_classes_that_come_again_make_no_pass(tmp_path: Path) -> None:
    rng = random.Random(0)
    orders = [rng.choices(range(10), k=30) + rng.sample(range(10, 60), 30) for _ in range(2)]
    result = judge(tmp_path, epochs_of(*orders), shuffle=True, source_size=60, purpose="train")

    assert loud_rules(result) == []
    assert lacking(result, RULE) == ["replacement"]


def test_workers_that_never_came_may_have_had_the_rest(tmp_path: Path) -> None:
    begun = {"rank": [0] * 4 + [1] * 4, "record": [0, 4, 8, 12, 1, 5, 9, 13]}
    declared = {"shuffle": False, "source_size": 16, "workers": 2, "drop_remainder": False}
    result = judge(tmp_path, begun | {"worker": [0] * 8}, **declared)

    assert findings_of(result, RULE) == []
    assert "at least 2 epochs" in lacking(result, RULE)[0]


@pytest.mark.parametrize("limited_first", [False, True])
def test_another_argument_may_have_asked_for_fewer_records(
    limited_first: bool, tmp_path: Path
) -> None:
    declared = {"shuffle": True, "seed": 1, "source_size": 40, "replacement": False}
    whole = epochs_of(*(without(40, seed=epoch) for epoch in range(3)))
    limited = epochs_of(*(without(40, *range(20), seed=epoch) for epoch in range(3)))
    runs = [
        write_run(tmp_path / "whole", whole, {**declared, "config": {}}),
        write_run(tmp_path / "limited", limited, {**declared, "config": {"limit": 20}}),
    ]
    result = audit(*(runs[::-1] if limited_first else runs))

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["equal arguments"]
    assert "arguments that differ: limit" in str(result.reason)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("epochs", [1, 3])
def test_records_that_each_epoch_skips_at_its_beginning_are_no_tail(
    epochs: int, ranks: int, tmp_path: Path
) -> None:
    orders = [without(103, seed=epoch) for epoch in range(epochs)]
    whole = [order[rank::ranks] for order in orders for rank in range(ranks)]
    places = {
        "epoch": [epoch for epoch in range(epochs) for _ in range(ranks)],
        "rank": [*range(ranks)] * epochs,
    }

    def rows(skipped: int) -> dict[str, list[Any]]:
        kept = [part[skipped:] for part in whole]
        labels = {
            name: [label for label, part in zip(of, kept, strict=True) for _ in part]
            for name, of in places.items()
        }
        return labels | {"record": [record for part in kept for record in part]}

    declared = {"shuffle": True, "source_size": 103, "batch_size": 4, "drop_remainder": False}
    a = write_run(tmp_path / "a", rows(0), declared)
    result = audit(a, write_run(tmp_path / "b", rows(3), declared))
    (finding,) = findings_of(result, RULE)

    assert loud_rules(result) == [RULE]
    assert evidence_of(finding)["skipped"] == [r for part in whole[:ranks] for r in part[:3]]
    assert evidence_of(finding)["epochs"] == [*range(epochs)]


def test_an_order_that_was_turned_skips_nothing(tmp_path: Path) -> None:
    order = without(40, seed=1)
    declared = {"shuffle": True, "source_size": 40}
    a = write_run(tmp_path / "a", {"record": order}, declared)

    assert (
        findings_of(
            audit(a, write_run(tmp_path / "b", {"record": order[3:] + order[:3]}, declared)), RULE
        )
        == []
    )


def test_a_run_that_was_taken_up_again_skips_nothing(tmp_path: Path) -> None:
    order = without(40, seed=1)
    declared = {"shuffle": True, "source_size": 40}
    resumed = declared | {"resume": {"position": 3}, "parent": "before"}
    a = write_run(tmp_path / "a", {"record": order}, declared)

    assert loud_rules(audit(a, write_run(tmp_path / "b", {"record": order[3:]}, resumed))) == []


def test_a_hole_in_every_pass_is_found_where_epochs_are_not_recorded(tmp_path: Path) -> None:
    passes = [without(44, 3, 17, seed=seed) for seed in range(4)]
    rows = {"record": [record for each in passes for record in each], "rank": [0, 1] * 84}
    declared = {"shuffle": True, "source_size": 44, "num_epochs": 4, "drop_remainder": False}
    result = judge(tmp_path, rows, replacement=False, **declared)

    assert evidence_of(findings_of(result, RULE)[0])["dropped"] == [3, 17]


def test_a_last_batch_that_is_not_full_shows_that_the_epoch_came_to_its_end(
    tmp_path: Path,
) -> None:
    declared = {"shuffle": True, "batch_size": 8, "workers": 0, "drop_remainder": False}
    whole, short = without(103, seed=1), without(103, 0, 1, 2, seed=2)
    a, b = (
        write_run(
            tmp_path / name,
            {"record": of, "batch": [place // 8 for place in range(len(of))]},
            declared,
        )
        for name, of in (("a", whole), ("b", short))
    )

    assert evidence_of(findings_of(audit(a, b), RULE)[0])["dropped"] == [0, 1, 2]


def test_records_amid_the_source_are_no_remainder_of_workers(tmp_path: Path) -> None:
    kept = [record for record in range(100) if record not in {3, 17, 40}][:96]
    declared = {"shuffle": False, "source_size": 100, "batch_size": 4, "workers": 2}
    result = judge(tmp_path, epochs_of(kept, kept), purpose="eval", drop_remainder=True, **declared)

    assert evidence_of(findings_of(result, RULE)[0])["dropped"] == [3, 17, 40, 99]


def test_records_of_shards_that_were_not_drawn_are_no_hole(tmp_path: Path) -> None:
    def drawn(seed: int) -> dict[str, list[Any]]:
        shards = random.Random(seed).choices(range(8), k=24)
        return {
            "record": [20 * shard + place for shard in shards for place in range(20)],
            "shard": [shard for shard in shards for _ in range(20)],
        }

    runs = [drawn(seed) for seed in range(40)]
    a = next(run for run in runs if len({*run["shard"]}) == 8)
    b = next(run for run in runs if len({*run["shard"]}) < 8)
    declared = {"shuffle": True, "replacement": True, "source_size": 160}
    first = write_run(tmp_path / "a", a, declared)
    result = audit(first, write_run(tmp_path / "b", b, declared))

    assert findings_of(result, RULE) == []


def test_epochs_that_grow_may_not_have_come_to_their_end(tmp_path: Path) -> None:
    rows = epochs_of([*range(0, 270, 2)], [*range(0, 280, 2)])
    result = judge(tmp_path, rows, source_size=280, replacement=False)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["epochs of like length"]


def test_a_place_at_which_another_record_stands_too_is_no_more_than_itself(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = epochs_of(*(without(100, seed=seed) for seed in range(4)))
    rows["index"] = [8 if record == 7 else record for record in rows["record"]]
    rows["record"] = [f"r{record}" for record in rows["record"]]
    result = judge(tmp_path, rows, shuffle=True, source_size=100)

    assert [evidence_of(finding)["dropped"] for finding in findings_of(result, RULE)] == [[7]]


PASSES = {"source_size": 64, "batch_size": 8, "drop_remainder": False, "num_epochs": 3}


def lose(orders: list[list[int]], epoch: int, *, first: int = 24, count: int = 8) -> dict[str, Any]:
    return epochs_of(
        *(
            order[:first] + order[first + count :] if number == epoch else order
            for number, order in enumerate(orders)
        )
    )


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("samples", [{}, {"num_samples": 64}])
@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_a_batch_that_one_epoch_loses_and_the_baseline_has(
    epoch: int, samples: dict[str, int], shuffle: bool, tmp_path: Path
) -> None:
    orders = [without(64, seed=number if shuffle else None) for number in range(3)]
    declared = PASSES | {"shuffle": shuffle, "purpose": "train"} | samples
    a = write_run(tmp_path / "a", epochs_of(*orders), declared)
    result = audit(a, write_run(tmp_path / "b", lose(orders, epoch), declared))
    (finding,) = findings_of(result, RULE)

    assert loud_rules(result) == [RULE]
    assert (finding.severity, finding.run) == (Severity.FAIL, "b")
    assert evidence_of(finding)["lacking"] == sorted(orders[epoch][24:32])
    assert evidence_of(finding)["epochs"] == [epoch]


@pytest.mark.parametrize("drop", [{}, {"drop_remainder": None}])
@pytest.mark.parametrize("shuffle", [False, True])
def test_other_epochs_that_are_whole_tell_how_many_records_an_epoch_has(
    shuffle: bool, drop: dict[str, None], tmp_path: Path
) -> None:
    orders = [without(64, seed=number if shuffle else None) for number in range(5)]
    declared = {name: value for name, value in PASSES.items() if name not in drop}
    # A worker of four that dies when the second epoch ends.
    died = [
        [record for place, record in enumerate(order) if epoch < 2 or place // 8 % 4 != 3]
        for epoch, order in enumerate(orders)
    ]
    result = judge(tmp_path, epochs_of(*died), shuffle=shuffle, **declared)
    (finding,) = findings_of(result, RULE)

    assert loud_rules(result) == [RULE]
    assert evidence_of(finding)["epochs"] == [2, 3]
    assert evidence_of(finding)["lacking_count"] == 16
    assert "in some epochs" in str(finding.cause)


def test_records_that_one_rank_loses_in_one_epoch(tmp_path: Path) -> None:
    orders = [without(60, seed=number) for number in range(5)]
    declared = {"shuffle": True, "source_size": 60, "drop_remainder": False, "world_size": 2}
    runs = []
    for name, lost in (("a", 0), ("b", 3)):
        parts = [
            (epoch, rank, order[rank::2][lost if (epoch, rank) == (3, 1) else 0 :])
            for epoch, order in enumerate(orders)
            for rank in (0, 1)
        ]
        rows = {
            "epoch": [epoch for epoch, _, part in parts for _ in part],
            "rank": [rank for _, rank, part in parts for _ in part],
            "record": [record for *_, part in parts for record in part],
        }
        runs.append(write_run(tmp_path / name, rows, declared))
    (alone,), (beside,) = (findings_of(result, RULE) for result in (check(runs[1]), audit(*runs)))

    assert evidence_of(alone)["lacking_count"] == evidence_of(beside)["lacking_count"] == 3
    assert "in epoch 3 alone" in str(alone.cause)


def test_a_label_that_is_left_out_tells_of_a_lost_batch(tmp_path: Path) -> None:
    orders = [without(64, seed=number) for number in range(3)]
    rows = epochs_of(*(order[:24] + order[32:] for order in orders))
    labels = [0, 1, 2, 4, 5, 6, 7] * 3
    told = judge(
        tmp_path / "told",
        rows | {"batch": [label for label in labels for _ in range(8)]},
        shuffle=True,
        **PASSES,
    )

    assert loud_rules(told) == [RULE]
    assert evidence_of(findings_of(told, RULE)[0])["epochs"] == [0, 1]


def test_an_epoch_that_ends_before_the_baselines_may_have_been_stopped(tmp_path: Path) -> None:
    orders = [without(64, seed=number) for number in range(3)]
    declared = PASSES | {"shuffle": True}
    a = write_run(tmp_path / "a", epochs_of(*orders), declared)
    b = write_run(tmp_path / "b", lose(orders, 1, first=56), declared)
    result = audit(a, b)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["epochs that were not stopped early"]
    assert "ends epochs earlier" in str(result.reason)


def test_a_look_at_the_first_batch_between_epochs_is_no_hole(tmp_path: Path) -> None:
    orders = [without(64, seed=number)[: 8 if number % 2 else 64] for number in range(5)]
    result = judge(tmp_path, epochs_of(*orders), shuffle=True, **PASSES)

    assert loud_rules(result) == []
    assert lacking(result, RULE) == ["epochs that were not stopped early"]


@pytest.mark.parametrize("text", [False, True])
def test_the_first_records_are_the_samples_of_an_unshuffled_run(text: bool, tmp_path: Path) -> None:
    def rows(*kept: list[int]) -> dict[str, Any]:
        return epochs_of(*([f"r{number}" if text else number for number in part] for part in kept))

    declared = {"source_size": 1000, "num_samples": 500}
    first = [*range(500)]
    meant = judge(tmp_path / "meant", rows(*[first] * 3), shuffle=False, **declared)
    half = [random.Random(epoch).sample(first, 500) for epoch in range(3)]
    drawn = judge(tmp_path / "drawn", rows(*half), shuffle=True, **declared)

    assert loud_rules(meant) == []
    assert "`num_samples` leaves 500 records out" in str(findings_of(drawn, RULE)[0].cause)


def test_a_run_without_a_row_has_no_short_epoch(tmp_path: Path) -> None:
    declared = PASSES | {"shuffle": True}
    a = write_run(tmp_path / "a", epochs_of(without(64, seed=1)), declared)
    b = write_run(tmp_path / "b", {"epoch": [], "record": []}, declared)

    assert findings_of(audit(a, b), RULE) == []


def drawn(weights: list[int], rows: int, epochs: int) -> list[list[int]]:
    return [
        random.Random(epoch).choices(range(len(weights)), weights, k=rows)
        for epoch in range(epochs)
    ]


DRAWN = {"shuffle": True, "source_size": 64, "replacement": True}


@pytest.mark.parametrize("text", [True, False])
def test_draws_with_replacement_that_never_reach_a_record(text: bool, tmp_path: Path) -> None:
    orders = drawn([*[1] * 30, 0, *[1] * 33], 640, 3)
    rows = epochs_of(*[[f"r{record}" if text else record for record in o] for o in orders])
    (finding,) = findings_of(judge(tmp_path, rows, **DRAWN), RULE)

    assert finding.severity is Severity.WARN
    assert evidence_of(finding)["dropped_count"] == 1


def test_chance_leaves_out_records_of_few_draws_with_replacement(tmp_path: Path) -> None:
    result = judge(tmp_path, epochs_of(*drawn([1] * 64, 100, 1)), **DRAWN)

    assert findings_of(result, RULE) == []


@pytest.mark.parametrize("none", ["one of unequal", "a quarter"])
def test_records_that_are_never_drawn_may_have_no_weight(none: str, tmp_path: Path) -> None:
    unequal = [0 if record == 30 else 1 + record % 9 for record in range(64)]
    weights = unequal if none == "one of unequal" else [int(record % 4 > 0) for record in range(64)]
    result = judge(tmp_path, epochs_of(*drawn(weights, 640, 3)), **DRAWN)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["weights, by record"]


def by_two_workers(size: int, batches: Sequence[int]) -> dict[str, list[Any]]:
    """Deal a source in its order to two workers, who give so many batches of four rows each."""
    parts = [[*range(worker, size, 2)][: 4 * batches[worker]] for worker in range(2)]
    cut = [[part[place : place + 4] for place in range(0, len(part), 4)] for part in parts]
    turns = [
        (batch, worker, record)
        for batch in range(max(map(len, cut)))
        for worker in range(2)
        for record in (cut[worker][batch] if batch < len(cut[worker]) else [])
    ]
    names = ("batch", "worker", "record")
    rows = {
        name: list(values) for name, values in zip(names, zip(*turns, strict=True), strict=True)
    }
    return rows | {"epoch": [0] * len(turns), "batch": [2 * b + w for b, w, _ in turns]}


@pytest.mark.parametrize(("batches", "found"), [((4, 3), False), ((4, 1), True)])
def test_a_run_may_be_stopped_before_the_last_batch_of_a_worker(
    batches: tuple[int, int], found: bool, tmp_path: Path
) -> None:
    rows = by_two_workers(27, batches)
    declared = {"shuffle": False, "source_size": 27, "batch_size": 4, "workers": 2}
    result = judge(tmp_path, rows, drop_remainder=False, num_epochs=1, **declared)

    assert bool(findings_of(result, RULE)) is found
