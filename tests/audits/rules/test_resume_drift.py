"""Restarts that go on elsewhere than they should, and restarts that are exact."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader import record
from detloader.audits import audit
from detloader.findings import Finding, Result, Severity
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RULE = "resume-drift"

Row = tuple[int, Any]


def order(size: int, epochs: int = 2, *, text: bool = False) -> list[Row]:
    return [
        (epoch, f"r{record}" if text else record)
        for epoch in range(epochs)
        for record in random.Random(epoch).sample(range(size), size)
    ]


def rows(sequence: Sequence[Row], resumed: Sequence[Any] | None = None) -> dict[str, list[Any]]:
    found = {
        "epoch": [epoch for epoch, _ in sequence],
        "record": [record for _, record in sequence],
    }
    return found if resumed is None else found | {"resumed": [*resumed]}


def flags(before: int, after: int) -> list[bool]:
    return [False] * before + [True] * after


def compare(folder: Path, a: dict[str, Any], b: dict[str, Any], **declared: Any) -> Result:
    meant = {"shuffle": True, "seed": 1}
    return audit(write_run(folder / "a", a, meant), write_run(folder / "b", b, meant | declared))


def only(result: Result) -> Finding:
    (finding,) = findings_of(result, RULE)
    assert loud_rules(result) == [RULE]
    return finding


@pytest.mark.parametrize(("size", "text"), [(20, False), (150, True)])
@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("off", [-5, 4])
def test_a_restart_that_is_off_by_some_records(
    size: int, text: bool, marked: bool, off: int, tmp_path: Path
) -> None:
    whole = order(size, text=text)
    rest = whole[13 + off :]
    b = rows([*whole[:13], *rest], flags(13, len(rest)) if marked else None)
    finding = only(compare(tmp_path, rows(whole), b, resume={"position": 13, "unit": "records"}))
    evidence = evidence_of(finding)
    concerned = [
        record for _, record in (whole[13 : 13 + off] if off > 0 else whole[13 + off : 13])
    ]

    assert finding.severity is Severity.FAIL
    assert evidence["kind"] == ("gap" if off > 0 else "overlap")
    assert (evidence["offset"], evidence["row"], evidence["restart"]) == (off, 13, 1)
    assert (evidence["expected"], evidence["actual"]) == (whole[13][1], rest[0][1])
    assert evidence["lost" if off > 0 else "repeated"] == concerned


def test_a_restart_at_the_first_record(tmp_path: Path) -> None:
    whole = order(30, epochs=1)
    b = rows([*whole[:12], *whole[:18]], flags(12, 18))
    evidence = evidence_of(only(compare(tmp_path, rows(whole), b)))

    assert (evidence["kind"], evidence["matched"]) == ("from-start", 18)
    assert evidence["repeated_count"] == 12


def test_a_resumed_part_alone(tmp_path: Path) -> None:
    whole = order(30)
    resume = {"position": 12, "unit": "records"}
    finding = only(compare(tmp_path, rows(whole), rows(whole[17:]), resume=resume, parent="run-1"))

    assert (evidence_of(finding)["kind"], evidence_of(finding)["offset"]) == ("gap", 5)


@pytest.mark.parametrize(
    ("resume", "position"),
    [
        ({"position": 3, "unit": "batches"}, 12),
        ({"position": 3, "unit": "batches", "epoch": 1}, 32),
        ({"position": 7, "unit": "records", "epoch": 1}, 27),
        ({"position": 1, "unit": "epochs"}, 20),
    ],
)
@pytest.mark.parametrize("recorded", [False, True])
def test_the_unit_of_the_position_is_understood(
    resume: dict[str, Any], position: int, recorded: bool, tmp_path: Path
) -> None:
    whole = order(20)
    batches = [place % 20 // 4 for place in range(40)]
    a, exact, off = rows(whole), rows(whole[position:]), rows(whole[position + 3 :])
    if recorded:
        a["batch"], exact["batch"], off["batch"] = (
            batches[k:] for k in (0, position, position + 3)
        )
    declared = {"resume": resume, "parent": "run-1", "batch_size": 4}

    assert findings_of(compare(tmp_path / "exact", a, exact, **declared), RULE) == []
    (finding,) = findings_of(compare(tmp_path / "off", a, off, **declared), RULE)
    assert evidence_of(finding)["offset"] == 3


def test_a_second_restart_is_found_by_its_count(tmp_path: Path) -> None:
    whole = order(60, epochs=1)
    b = rows([*whole[:30], *whole[38:]], [0] * 10 + [1] * 20 + [2] * 22)
    evidence = evidence_of(only(compare(tmp_path, rows(whole), b)))

    assert (evidence["restart"], evidence["row"], evidence["lost_count"]) == (2, 30, 8)


def test_a_later_restart_that_a_flag_does_not_tell(tmp_path: Path) -> None:
    whole = order(60, epochs=1)
    b = rows([*whole[:30], *whole[38:]], flags(10, 42))
    evidence = evidence_of(only(compare(tmp_path, rows(whole), b)))

    assert (evidence["restart"], evidence["row"], evidence["offset"]) == (2, 30, 8)


def test_the_order_of_another_epoch(tmp_path: Path) -> None:
    whole = order(30, epochs=3)
    wrong = [(epoch, whole[k - 60][1]) for k, (epoch, _) in enumerate(whole) if k >= 70]
    b = rows([*whole[:70], *wrong], flags(70, 20))
    (finding,) = findings_of(compare(tmp_path, rows(whole), b), RULE)

    assert evidence_of(finding)["kind"] == "epoch-order"
    assert (evidence_of(finding)["epoch"], evidence_of(finding)["matches_epoch"]) == (2, 0)


def test_another_order_altogether(tmp_path: Path) -> None:
    whole = order(40, epochs=1)
    b = rows([*whole[:15], *random.Random(9).sample(whole[15:], 25)], flags(15, 25))
    evidence = evidence_of(only(compare(tmp_path, rows(whole), b)))

    assert (evidence["kind"], evidence["offset"]) == ("other-order", None)
    assert (evidence["lost_count"], evidence["repeated_count"]) == (0, 0)


def test_every_rank_is_asked(tmp_path: Path) -> None:
    parts = [order(24), [(epoch, number + 100) for epoch, number in order(24)]]
    off = [[*part[:10], *part[14:]] for part in parts]
    a, b = (
        rows([row for part in ranks for row in part])
        | {"rank": [rank for rank, part in enumerate(ranks) for _ in part]}
        for ranks in (parts, [parts[0], off[1]])
    )
    b["resumed"] = flags(10, 38) + flags(10, 34)
    result = compare(tmp_path, a, b, resume={"position": 10, "unit": "records"})
    (finding,) = findings_of(result, RULE)

    assert (evidence_of(finding)["ranks"], evidence_of(finding)["offset"]) == ([1], 4)


def test_a_run_that_was_interrupted_again_is_judged_by_what_it_has(tmp_path: Path) -> None:
    whole = order(60, epochs=1)
    a = write_run(tmp_path / "a", rows(whole), {"shuffle": True})
    b = write_run(
        tmp_path / "b",
        rows(whole[25:50]),
        {"shuffle": True, "parent": "run-1", "resume": {"position": 20}},
        seal=False,
    )
    (finding,) = findings_of(audit(a, b), RULE)

    assert evidence_of(finding)["lost_count"] == 5


def test_gaps_are_not_told_again_as_missing_records(tmp_path: Path) -> None:
    whole = order(40, epochs=1)
    b = rows([*whole[:13], *whole[20:]], flags(13, 20))
    result = compare(tmp_path, rows(whole), b, source_size=40, num_epochs=1)

    assert loud_rules(result) == [RULE]


def test_a_difference_before_the_restart_has_another_cause(tmp_path: Path) -> None:
    whole = order(40, epochs=1)
    b = rows([*whole[1::-1], *whole[2:13], *whole[20:]], flags(13, 20))

    assert findings_of(compare(tmp_path, rows(whole), b), RULE) == []


def test_without_a_position_it_cannot_tell(tmp_path: Path) -> None:
    whole = order(20)
    result = compare(tmp_path, rows(whole), rows(whole[4:]), parent="run-1")

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["resume, or resumed"]


def test_runs_without_a_restart_are_not_asked(tmp_path: Path) -> None:
    whole = order(20)
    result = compare(tmp_path, rows(whole), rows(whole[::-1]))

    assert (findings_of(result, RULE), lacking(result, RULE)) == ([], [])


@given(
    size=st.integers(5, 60),
    share=st.floats(0, 1),
    joined=st.booleans(),
    marked=st.booleans(),
)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_exact_restart_anywhere_is_clean(
    size: int, share: float, joined: bool, marked: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = order(size)
    position = int(share * (len(whole) - 1))
    resume: dict[str, Any] = {"resume": {"position": position}}
    if not joined:
        resume["parent"] = "run-1"
    before = position if joined else 0
    kept = whole if joined else whole[position:]
    b = rows(kept, flags(before, len(kept) - before) if marked else None)
    result = compare(tmp_path_factory.mktemp("runs"), rows(whole), b, **resume)

    assert loud_rules(result) == []


@given(size=st.integers(30, 60), restart=st.integers(10, 15), off=st.integers(-9, 9))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_offset_is_told_to_the_record(
    size: int, restart: int, off: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = order(size)
    rest = whole[restart + off :]
    b = rows([*whole[:restart], *rest], flags(restart, len(rest)))
    found = findings_of(compare(tmp_path_factory.mktemp("runs"), rows(whole), b), RULE)

    assert [evidence_of(finding)["offset"] for finding in found] == ([off] if off else [])


@pytest.mark.parametrize("swapped", [False, True])
def test_a_resumed_part_that_is_the_whole_run_began_again(swapped: bool, tmp_path: Path) -> None:
    whole = write_run(tmp_path / "a", rows(order(20)), {"shuffle": True, "seed": 1})
    resume = {"resume": {"position": 7, "epoch": 1}, "parent": "before"}
    again = write_run(tmp_path / "b", rows(order(20)), {"shuffle": True, "seed": 1} | resume)
    result = audit(again, whole) if swapped else audit(whole, again)

    assert result.verdict == "identical"
    assert evidence_of(only(result))["kind"] == "from-start"


@pytest.mark.parametrize("resume", [{"position": 0, "epoch": 0}, {"position": 0}])
def test_a_part_that_begins_where_the_run_does_is_exact(
    resume: dict[str, Any], tmp_path: Path
) -> None:
    again = rows(order(20))

    assert loud_rules(compare(tmp_path, again, again, resume=resume, parent="before")) == []


def test_a_joined_log_of_exact_restarts_is_identical(tmp_path: Path) -> None:
    joined = rows(order(20))

    assert loud_rules(compare(tmp_path, joined, joined, resume={"position": 7, "epoch": 1})) == []


@pytest.mark.parametrize("position", [40, 50, 60])
def test_a_part_alone_in_another_order_is_no_joined_log(position: int, tmp_path: Path) -> None:
    whole = order(100, epochs=1)
    rest = random.Random(5).sample(whole[position:], 100 - position)
    result = compare(tmp_path, rows(whole), rows(rest), resume={"position": position})

    assert evidence_of(only(result))["kind"] == "other-order"


@pytest.mark.parametrize("marked", [False, True])
def test_a_log_of_the_whole_run_tells_by_its_marks_that_it_began_again(
    marked: bool, tmp_path: Path
) -> None:
    whole = order(20)
    b = rows(whole, flags(0, 40) if marked else None)
    result = compare(tmp_path, rows(whole), b, resume={"position": 13})

    assert result.verdict == "identical"
    kinds = [evidence_of(finding)["kind"] for finding in findings_of(result, RULE)]
    assert kinds == (["from-start"] if marked else [])
    assert lacking(result, RULE) == ([] if marked else ["parent, or resumed"])


def test_what_is_recorded_after_a_restart_needs_no_parent(tmp_path: Path) -> None:
    resume = {"resume": {"position": 13}}
    for name, declared in (("whole", {}), ("again", resume)):
        with record(range(40), tmp_path / name, ids=int, declared=declared) as loader:
            assert len([*loader]) == 40

    assert evidence_of(only(audit(tmp_path / "whole", tmp_path / "again")))["kind"] == "from-start"


@pytest.mark.parametrize(("position", "start"), [(21, 15), (64, 24), (85, 79), (85, 84)])
def test_a_longer_part_alone_that_began_too_early(
    position: int, start: int, tmp_path: Path
) -> None:
    whole = order(64, epochs=3)
    result = compare(tmp_path, rows(whole), rows(whole[start:]), resume={"position": position})

    assert evidence_of(only(result))["kind"] == "overlap"
    assert evidence_of(only(result))["offset"] == start - position


def test_a_position_counts_what_each_rank_had_delivered(tmp_path: Path) -> None:
    parts = [order(24), [(epoch, number + 100) for epoch, number in order(24)]]
    a, b = (
        rows([row for part in parts for row in part[start:]])
        | {"rank": [rank for rank, part in enumerate(parts) for _ in part[start:]]}
        for start in (0, 30)
    )
    right = compare(tmp_path / "right", a, b, resume={"position": 30})
    summed = compare(tmp_path / "summed", a, b, resume={"position": 60})

    assert (right.verdict, loud_rules(right)) == ("identical", [])
    assert findings_of(summed, RULE)


@pytest.mark.parametrize(
    ("before", "after"), [(False, True), (0, 1), ("", "yes"), ("false", "true"), ("0", "1")]
)
def test_marks_are_flags_numbers_or_words(before: Any, after: Any, tmp_path: Path) -> None:
    whole = order(40)
    marks = [before] * 50 + [after] * 26
    skipping = rows([*whole[:50], *whole[54:]], marks)
    finding = only(compare(tmp_path / "skipping", rows(whole), skipping))
    exact = compare(tmp_path / "exact", rows(whole), rows(whole, [before] * 80))

    assert (evidence_of(finding)["kind"], evidence_of(finding)["row"]) == ("gap", 50)
    assert loud_rules(exact) == []


def test_labels_count_batches_though_no_epoch_fills_one(tmp_path: Path) -> None:
    whole = order(3)  # each of three workers makes a batch of its one record
    a = rows(whole) | {"batch": [0, 1, 2] * 2}
    b = {name: values[4:] for name, values in a.items()}
    told = {"parent": "run-before", "batch_size": 8}
    exact = compare(tmp_path, a, b, resume={"position": 1, "unit": "batches", "epoch": 1}, **told)
    late = {"position": 0, "unit": "batches", "epoch": 1}
    missed = audit(tmp_path / "a", write_run(tmp_path / "late", b, told | {"resume": late}))

    assert findings_of(exact, RULE) == []
    assert evidence_of(findings_of(missed, RULE)[0])["offset"] == 1


def labelled(sequence: Sequence[Row], size: int, *, first: int = 0) -> dict[str, list[Any]]:
    """Label batches of 4, anew in each epoch."""
    batch = [first + place % size // 4 for place in range(len(sequence))]
    return rows(sequence) | {"batch": batch}


@pytest.mark.parametrize(
    ("began", "kind", "offset"),
    [(0, "from-start", -24), (16, "overlap", -8), (28, "gap", 4), (24, None, 0)],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_labels_tell_of_a_restart_that_nobody_declared(
    began: int, kind: str | None, offset: int, swapped: bool, tmp_path: Path
) -> None:
    whole = order(40, epochs=3)
    a = labelled(whole, 40)
    came = [*whole[began : began + 16], *whole[40:]]  # where rows from 24 on should come
    b = rows(came) | {name: a[name][24:] for name in ("epoch", "batch")}
    told = {"shuffle": True, "seed": 1, "source_size": 40, "batch_size": 4}
    runs = write_run(tmp_path / "a", a, told), write_run(tmp_path / "b", b, told)
    result = audit(*(runs[::-1] if swapped else runs))
    found = [evidence_of(finding) for finding in findings_of(result, RULE)]

    assert [(each["kind"], each["offset"]) for each in found] == ([(kind, offset)] if kind else [])


def test_labels_that_are_numbered_otherwise_tell_of_no_restart(tmp_path: Path) -> None:
    whole, told = order(40, epochs=3), {"batch_size": 4}
    from_zero, from_one = labelled(whole, 40), labelled(whole, 40, first=1)
    shifted = labelled([*whole[1:40], whole[0], *whole[40:]], 40, first=1)
    write_run(tmp_path / "zero", from_zero, told)
    write_run(tmp_path / "one", from_one, told)
    write_run(tmp_path / "shifted", shifted, told)
    first_alone = {name: values[:40] for name, values in shifted.items()}
    write_run(tmp_path / "alone", first_alone, told)

    for name in ("one", "shifted", "alone"):
        assert findings_of(audit(tmp_path / "zero", tmp_path / name), RULE) == []
        assert findings_of(audit(tmp_path / name, tmp_path / "zero"), RULE) == []
