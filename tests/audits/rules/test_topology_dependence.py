"""Runs whose difference follows the number of workers, threads or ranks."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from detloader.audits import audit
from detloader.findings import Result, Severity, Verdict
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

RULE = "topology-dependence"


def order(size: int, epochs: int = 2) -> list[list[int]]:
    return [random.Random(epoch).sample(range(size), size) for epoch in range(epochs)]


def rows(
    orders: list[list[int]], *, text: bool = False, workers: int = 0, drawn: bool = True
) -> dict[str, list[Any]]:
    flat = [
        (epoch, place, record) for epoch, o in enumerate(orders) for place, record in enumerate(o)
    ]
    found: dict[str, list[Any]] = {
        "epoch": [epoch for epoch, _, _ in flat],
        "record": [f"r{record}" if text else record for _, _, record in flat],
    }
    if drawn:
        found["draws"] = [
            random.Random(
                f"{e} {p % workers} {p // workers}" if workers else f"{e} {r}"
            ).getrandbits(60)
            for e, p, r in flat
        ]
    return found


def compare(
    folder: Path, a: dict[str, Any], b: dict[str, Any], declared_b: dict[str, Any], **common: Any
) -> Result:
    declared = {"shuffle": True, "seed": 3, "workers": 1, **common}
    return audit(
        write_run(folder / "a", a, declared), write_run(folder / "b", b, declared | declared_b)
    )


@pytest.mark.parametrize(("size", "text"), [(16, False), (300, True)])
def test_draws_that_come_from_the_workers_own_streams(
    size: int, text: bool, tmp_path: Path
) -> None:
    a, b = (rows(order(size), text=text, workers=workers) for workers in (1, 3))
    result = compare(tmp_path, a, b, {"workers": 3})
    (finding,) = findings_of(result, RULE)
    evidence = evidence_of(finding)

    assert loud_rules(result) == [RULE]
    assert finding.severity is Severity.FAIL
    assert evidence["fields"] == {"workers": [1, 3]}
    assert (evidence["same"], evidence["other"]) == (["records", "order"], ["draws"])
    assert {"seed", "shuffle"} <= set(evidence["equal"])
    assert finding.confirm is None


@pytest.mark.parametrize("field", ["workers", "threads", "world_size"])
def test_an_order_that_interleaves_by_the_number_of_readers(field: str, tmp_path: Path) -> None:
    orders = order(30)
    dealt = [[*o[::2], *o[1::2]] for o in orders]
    result = compare(tmp_path, rows(orders), rows(dealt), {field: 2}, **{field: 1})
    (finding,) = findings_of(result, RULE)

    assert evidence_of(finding)["fields"] == {field: [1, 2]}
    assert evidence_of(finding)["other"] == ["order"]


def test_records_that_are_lost_with_more_workers(tmp_path: Path) -> None:
    orders = order(30, epochs=1)
    kept = [[record for record in o if record % 8] for o in orders]
    result = compare(tmp_path, rows(orders), rows(kept), {"workers": 4})
    (finding,) = findings_of(result, RULE)
    evidence = evidence_of(finding)

    assert evidence["delivered"] == [30, 26]
    assert (sorted(evidence["missing"]), evidence["missing_count"]) == ([0, 8, 16, 24], 4)


def test_other_batches_of_one_order(tmp_path: Path) -> None:
    a = rows(order(12, epochs=1)) | {"batch": [place // 4 for place in range(12)]}
    b = a | {"batch": [place // 3 for place in range(12)]}
    result = compare(tmp_path, a, b, {"workers": 2})

    assert result.verdict is Verdict.REGROUPED
    assert evidence_of(findings_of(result, RULE)[0])["other"] == ["batches"]


def test_equal_rows_never_alarm(tmp_path: Path) -> None:
    a = rows(order(20))

    assert compare(tmp_path, a, a, {"workers": 9}).findings == []


def test_another_rank_in_the_same_global_batch_never_alarms(tmp_path: Path) -> None:
    a = {"record": [0, 1, 2, 3], "batch": [0, 0, 1, 1], "rank": [0, 1, 0, 1]}
    b = {"record": [0, 1, 2, 3], "batch": [0, 0, 1, 1], "rank": [1, 0, 1, 0]}
    result = compare(tmp_path, a, b, {"workers": 2})

    assert (result.verdict, loud_rules(result)) == (Verdict.EQUIVALENT, [])


@pytest.mark.parametrize(
    "other", [{"batch_size": 8}, {"versions": {"numpy": "2"}}, {"config": {"window": 3}}]
)
def test_where_something_else_differs_it_cannot_tell(other: dict[str, Any], tmp_path: Path) -> None:
    orders = order(30)
    common = {"batch_size": 4, "versions": {"numpy": "1"}, "config": {"window": 2}}
    b = rows([o[::-1] for o in orders])
    result = compare(tmp_path, rows(orders), b, {"workers": 2} | other, **common)

    assert loud_rules(result) == []
    assert next(iter(other)) in lacking(result, RULE)[0] or "numpy" in lacking(result, RULE)[0]


def test_unknown_seeds_may_explain_a_shuffle(tmp_path: Path) -> None:
    orders = order(30)
    a = write_run(tmp_path / "a", rows(orders), {"workers": 1, "shuffle": True})
    b = write_run(tmp_path / "b", rows([o[::-1] for o in orders]), {"workers": 2, "shuffle": True})
    result = audit(a, b)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["seed"]


def test_a_source_that_is_listed_otherwise_comes_first(tmp_path: Path) -> None:
    (indices,) = order(20, epochs=1)
    a = {"index": indices, "record": [f"f{index}" for index in indices]}
    b = {"index": indices, "record": [f"f{19 - index}" for index in indices]}
    result = compare(tmp_path, a, b, {"workers": 2})

    assert loud_rules(result) == ["source-order"]


def test_a_few_other_bytes_are_content_drift(tmp_path: Path) -> None:
    a = rows(order(40)) | {"content": [*range(80)]}
    b = a | {"content": [*range(79), 999]}

    assert loud_rules(compare(tmp_path, a, b, {"workers": 4})) == ["content-drift"]


def test_a_run_that_only_stopped_earlier_is_no_matter_of_topology(tmp_path: Path) -> None:
    a = rows(order(40, epochs=3))
    b = {name: values[:60] for name, values in a.items()}

    assert findings_of(compare(tmp_path, a, b, {"workers": 4}), RULE) == []


@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize("lost", [1, 3])
def test_the_beginning_of_each_epoch_is_no_matter_of_topology(
    epochs: int, lost: int, tmp_path: Path
) -> None:
    orders = order(40, epochs)
    a, b = rows(orders), rows([each[:-lost] for each in orders])
    fewer = compare(tmp_path / "fewer", a, b, {"workers": 4})
    more = compare(tmp_path / "more", b, a, {"workers": 4})

    assert loud_rules(fewer) == loud_rules(more) == []
    assert f"drop_tail(a, {lost})" in str(fewer.reason) or "ends after" in str(fewer.reason)
    assert str(more.reason).startswith(f"{tmp_path / 'more' / 'a'} ends ")


def test_a_run_that_ends_early_with_other_workers_is_said_to(tmp_path: Path) -> None:
    orders = order(40, epochs=1)
    result = compare(tmp_path, rows(orders), rows([orders[0][:-3]]), {"workers": 4})

    assert findings_of(result, RULE) == []
    assert "ends after the first 37 of the 40 rows" in str(result.reason)


def test_other_draws_of_a_run_that_ends_early_follow_the_workers(tmp_path: Path) -> None:
    orders = order(40, epochs=1)
    b = rows([orders[0][:-3]], workers=3)

    assert loud_rules(compare(tmp_path, rows(orders, workers=1), b, {"workers": 3})) == [RULE]


def test_without_the_number_of_workers_it_cannot_tell(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": [1, 3, 0, 2]}, {"shuffle": False})
    b = write_run(tmp_path / "b", {"record": [3, 2, 1, 0]}, {"shuffle": False})

    assert lacking(audit(a, b), RULE) == ["workers"]


def test_ranks_that_share_one_global_batch_differ_in_their_number_alone(tmp_path: Path) -> None:
    a, b = rows(order(16)), rows([[*reversed(each)] for each in order(16)])
    topology = {"world_size": 4, "batch_size": 2}
    result = compare(tmp_path, a, b, topology, world_size=2, batch_size=4, workers=0)
    (finding,) = findings_of(result, RULE)

    assert evidence_of(finding)["fields"] == {"world_size": [2, 4]}


def test_batches_that_grow_with_the_ranks_are_a_difference_of_their_own(tmp_path: Path) -> None:
    a, b = rows(order(16)), rows([[*reversed(each)] for each in order(16)])
    topology = {"world_size": 4, "batch_size": 4}
    result = compare(tmp_path, a, b, topology, world_size=2, batch_size=2, workers=0)

    assert lacking(result, RULE) == [
        "two runs that differ in world_size alone, and not in batch_size"
    ]


@pytest.mark.parametrize("seed", [3, None])
def test_workers_that_take_turns_need_no_known_seed(seed: int | None, tmp_path: Path) -> None:
    base = order(60, epochs=1)[0]
    turns = [base[turn * 12 + worker :: 3][:4] for turn in range(5) for worker in range(3)]
    in_turns = [record for batch in turns for record in batch]
    workers = [worker for _ in range(5) for worker in range(3) for _ in range(4)]
    b = rows([in_turns], drawn=False) | {"worker": workers}
    result = compare(tmp_path, rows([base], drawn=False), b, {"workers": 3}, seed=seed)

    assert sorted(in_turns) == [*range(60)]
    assert loud_rules(result) == [RULE]
    assert evidence_of(findings_of(result, RULE)[0])["formula"] == "b = interleave(shards(a, 3), 4)"


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_that_outlive_an_epoch_are_named_beside_their_number(
    workers: int, tmp_path: Path
) -> None:
    first, second, third = order(40, epochs=3)
    common = {"workers": workers, "config": {"persistent_workers": False, "scale": 2}}
    other = {"workers": 2, "config": {"persistent_workers": True, "scale": 2}}
    a, b = rows([first, second]), rows([first, third])
    result = compare(tmp_path, a, b, other, **common)
    (finding,) = findings_of(result, RULE)
    fields = {"workers": [0, 2]} if not workers else {}

    assert loud_rules(result) == [RULE]
    assert evidence_of(finding)["fields"] == fields | {"persistent_workers": [False, True]}
    assert "config" not in evidence_of(finding)["equal"]
    assert "persistent_workers" in finding.cause


def on_two_ranks(orders: list[list[int]]) -> dict[str, list[Any]]:
    """Deal epochs of odd length to two ranks, in batches of two rows, evened out by first rows."""
    dealt = [(e, p, r) for e, o in enumerate(orders) for p, r in enumerate([*o, o[0]])]
    return {
        "epoch": [epoch for epoch, _, _ in dealt],
        "batch": [place // 4 for _, place, _ in dealt],
        "rank": [place % 2 for _, place, _ in dealt],
        "record": [record for _, _, record in dealt],
        "draws": [1000 * epoch + record for epoch, _, record in dealt],
    }


def on_one_device(orders: list[list[int]]) -> dict[str, list[Any]]:
    dealt = [(e, p, r) for e, o in enumerate(orders) for p, r in enumerate(o)]
    return {
        "epoch": [epoch for epoch, _, _ in dealt],
        "batch": [place // 4 for _, place, _ in dealt],
        "record": [record for _, _, record in dealt],
        "draws": [1000 * epoch + record for epoch, _, record in dealt],
    }


PADDING = {"padding": ([False] * 31 + [True]) * 2}


def test_marked_padding_is_no_fault_beside_one_device(tmp_path: Path) -> None:
    a, b = on_one_device(order(31)), on_two_ranks(order(31)) | PADDING
    declared = {"world_size": 2, "batch_size": 2}
    result = compare(tmp_path, a, b, declared, world_size=1, batch_size=4, source_size=31)

    assert (result.verdict, loud_rules(result)) == (Verdict.CHANGED, [])
    assert (result.reason or "").startswith("2 of 64 rows of ")
    assert "are marked as padding; the others are the same" in (result.reason or "")


@pytest.mark.parametrize("marked", [True, False])
def test_padding_hides_no_draws_that_follow_the_rank(marked: bool, tmp_path: Path) -> None:
    a, b = on_one_device(order(31)), on_two_ranks(order(31)) | (PADDING if marked else {})
    b["draws"] = [draws + 7 * rank for draws, rank in zip(b["draws"], b["rank"], strict=True)]
    declared = {"world_size": 2, "batch_size": 2}
    result = compare(tmp_path, a, b, declared, world_size=1, batch_size=4, source_size=31)

    assert loud_rules(result) == [RULE]
    assert ("records" in evidence_of(findings_of(result, RULE)[0])["other"]) is not marked
