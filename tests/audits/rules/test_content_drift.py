"""Other bytes under the same ID, and other bytes that are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from detloader.audits import audit, check
from detloader.findings import Result, Severity
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RULE = "content-drift"


def rows_of(size: int, column: str, **changed: int) -> dict[str, list[Any]]:
    values = [1000 + record for record in range(size)]
    for record, value in changed.items():
        values[int(record[1:])] = value
    return {"record": [*range(size)], column: values}


def compare(folder: Path, a: dict[str, Any], b: dict[str, Any], **declared: Any) -> Result:
    return audit(write_run(folder / "a", a, declared), write_run(folder / "b", b, declared))


def in_place(raw: Callable[[int, int], int]) -> dict[str, list[int]]:
    """Deliver 40 records in 3 epochs; the content of two changes with each epoch."""
    places = [(record, epoch) for epoch in range(3) for record in range(40)]
    return {
        "epoch": [epoch for _, epoch in places],
        "record": [record for record, _ in places],
        "draws": [record * 7 + 1000 for record, _ in places],
        "raw": [500 + record + 1000 * raw(record, epoch) for record, epoch in places],
        "content": [900 + r + (1000 * epoch if r in {4, 9} else 0) for r, epoch in places],
    }


@pytest.mark.parametrize("size", [4, 400])
@pytest.mark.parametrize("text", [False, True])
def test_a_record_with_other_raw_bytes_is_named(size: int, text: bool, tmp_path: Path) -> None:
    a, b = rows_of(size, "raw"), rows_of(size, "raw", r2=7)
    if text:
        a["record"] = b["record"] = [f"r{record}" for record in range(size)]
    (finding,) = findings_of(compare(tmp_path, a, b), RULE)

    assert (finding.severity, finding.run) == (Severity.FAIL, "b")
    assert evidence_of(finding)["records"] == ["r2" if text else 2]
    assert evidence_of(finding)["column"] == "raw"


def test_all_records_with_other_content_under_equal_draws(tmp_path: Path) -> None:
    a = rows_of(20, "content") | {"draws": [*range(20)]}
    b = a | {"content": [value + 500 for value in a["content"]]}
    (finding,) = findings_of(compare(tmp_path, a, b), RULE)

    assert evidence_of(finding)["records_count"] == 20


def test_a_few_other_contents_are_a_fault_without_draws(tmp_path: Path) -> None:
    a, b = rows_of(600, "content"), rows_of(600, "content", r17=3, r80=4)
    b["worker"] = [record % 4 for record in range(600)]
    (finding,) = findings_of(compare(tmp_path, a, b), RULE)

    assert evidence_of(finding)["records"] == [17, 80]
    assert evidence_of(finding)["workers"] == [0, 1]


def test_other_content_everywhere_may_be_another_augmentation(tmp_path: Path) -> None:
    a = rows_of(20, "content")
    b = a | {"content": [value + 500 for value in a["content"]]}
    result = compare(tmp_path, a, b)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["draws"]


def test_content_that_never_varies_is_no_augmentation(tmp_path: Path) -> None:
    a = rows_of(20, "content")
    a = {name: values * 2 for name, values in a.items()} | {"epoch": [0] * 20 + [1] * 20}
    b = a | {"content": [value + 500 for value in a["content"]]}

    assert len(findings_of(compare(tmp_path, a, b), RULE)) == 1


def unseen(run: int, every: int, epochs: int, *, draws: bool) -> dict[str, Any]:
    """Deliver 60 records in each epoch; each so-many-th has other content in each run."""
    places = [(record, epoch) for epoch in range(epochs) for record in range(60)]
    rows = {
        "epoch": [epoch for _, epoch in places],
        "record": [record for record, _ in places],
        "content": [1000 + record + 5000 * run * (record % every == 0) for record, _ in places],
    }
    return rows | ({"draws": [None] * len(places)} if draws else {})


@pytest.mark.parametrize("draws", [False, True])
@pytest.mark.parametrize("every", [1, 12])
@pytest.mark.parametrize("epochs", [1, 2])
def test_content_that_does_not_come_again_does_not_tell_the_source_from_an_augmentation(
    epochs: int, every: int, draws: bool, tmp_path: Path
) -> None:
    a, b = (unseen(run, every, epochs, draws=draws) for run in (1, 2))
    (finding,) = findings_of(compare(tmp_path, a, b, seed=7, shuffle=True), RULE)
    source, doubt = "The source, or how it is read,", "An augmentation whose draws nobody saw"
    # An augmentation that is seeded for each record gives it one content in all epochs.
    undecidable = epochs == 1 or every == 1

    assert finding.severity is Severity.FAIL
    assert evidence_of(finding)["undecidable"] is undecidable
    assert str(finding.cause).startswith(doubt if undecidable else source)


@pytest.mark.parametrize("draws", [False, True])
@pytest.mark.parametrize("every", [1, 12])
@pytest.mark.parametrize("epochs", [1, 2])
def test_of_runs_with_other_seeds_it_speaks_where_few_rows_have_other_content(
    epochs: int, every: int, draws: bool, tmp_path: Path
) -> None:
    a, b = (unseen(run, every, epochs, draws=draws) for run in (1, 2))
    told = {"shuffle": False, "batch_size": None}
    result = audit(
        write_run(tmp_path / "a", a, told | {"seed": 1}),
        write_run(tmp_path / "b", b, told | {"seed": 2}),
    )
    (finding,) = result.findings

    assert finding.rule == ("seed-handling" if every == 1 else RULE)
    assert bool(lacking(result, RULE)) is (every == 1)


@pytest.mark.parametrize("purpose", ["train", "eval"])
def test_an_evaluation_has_no_augmentation_that_nobody_saw(purpose: str, tmp_path: Path) -> None:
    a, b = (unseen(run, 12, 1, draws=False) for run in (1, 2))
    (finding,) = findings_of(compare(tmp_path, a, b, purpose=purpose), RULE)

    assert evidence_of(finding)["undecidable"] is (purpose == "train")


def test_other_content_under_other_draws_is_a_consequence(tmp_path: Path) -> None:
    a = rows_of(20, "content") | {"draws": [*range(20)]}
    b = rows_of(20, "content", r3=1) | {"draws": [0, 1, 2, 99, *range(4, 20)]}

    assert findings_of(compare(tmp_path, a, b), RULE) == []


@pytest.mark.parametrize("swapped", [(3, 9), tuple(range(20))])
@pytest.mark.parametrize("indexed", [False, True])
def test_records_with_each_others_bytes_are_named(
    swapped: tuple[int, ...], indexed: bool, tmp_path: Path
) -> None:
    a = rows_of(20, "raw") | ({"index": [*range(20)]} if indexed else {})
    others = dict(zip(swapped, (*swapped[1:], swapped[0]), strict=True))
    b = a | {"raw": [a["raw"][others.get(record, record)] for record in range(20)]}
    result = compare(tmp_path, a, b, seed=1, shuffle=True)
    (finding,) = findings_of(result, RULE)

    assert loud_rules(result) == [RULE]
    assert evidence_of(finding)["records"] == [*swapped]
    assert "under others of these records" in finding.message


def test_each_others_bytes_follow_from_other_workers(tmp_path: Path) -> None:
    a = rows_of(20, "raw") | {"batch": [record // 4 for record in range(20)]}
    b = a | {"record": [*a["record"][::-1]]}
    runs = [
        write_run(tmp_path / name, rows, {"shuffle": False, "workers": workers})
        for name, rows, workers in (("a", a, 1), ("b", b, 2))
    ]

    assert loud_rules(audit(*runs)) == ["topology-dependence"]


def test_raw_bytes_that_change_between_epochs(tmp_path: Path) -> None:
    rows = {name: values * 2 for name, values in rows_of(20, "raw").items()}
    rows["epoch"] = [0] * 20 + [1] * 20
    rows["raw"][25] = 1
    (finding,) = findings_of(check(write_run(tmp_path / "run", rows)), RULE)

    assert evidence_of(finding)["records"] == [5]
    assert evidence_of(finding)["epochs"] == [1]


def test_content_that_changes_is_found_though_raw_bytes_stay(tmp_path: Path) -> None:
    rows = in_place(raw=lambda _record, _epoch: 0)
    (finding,) = findings_of(check(write_run(tmp_path / "run", rows, {"purpose": "eval"})), RULE)

    assert (evidence_of(finding)["column"], evidence_of(finding)["records"]) == ("content", [4, 9])
    assert evidence_of(finding)["rows"] == 4
    assert "in place" in str(finding.cause)


def test_raw_bytes_and_the_content_of_others_are_two_faults(tmp_path: Path) -> None:
    rows = in_place(raw=lambda record, epoch: epoch if record in {4, 7} else 0)
    findings = findings_of(check(write_run(tmp_path / "run", rows, {"purpose": "train"})), RULE)
    told = [(evidence_of(one)["column"], evidence_of(one)["records"]) for one in findings]

    assert told == [("raw", [4, 7]), ("content", [9])]


def test_content_without_draws_may_be_another_augmentation_of_equal_raw_bytes(
    tmp_path: Path,
) -> None:
    rows = in_place(raw=lambda _record, _epoch: 0)
    del rows["draws"]
    rows["content"] = list(range(120))

    assert lacking(check(write_run(tmp_path / "run", rows, {"purpose": "train"})), RULE) == [
        "draws"
    ]


def test_augmentation_that_is_recorded_is_passed(tmp_path: Path) -> None:
    rows = {
        "epoch": [0] * 20 + [1] * 20,
        "record": [*range(20)] * 2,
        "draws": [*range(40)],
        "content": [*range(40)],
    }

    assert findings_of(check(write_run(tmp_path / "run", rows)), RULE) == []


@pytest.mark.parametrize("draws", [{}, {"draws": [None] * 40}])
def test_augmentation_that_is_not_recorded_or_not_seen_cannot_tell(
    draws: dict[str, Any], tmp_path: Path
) -> None:
    rows = {
        "epoch": [0] * 20 + [1] * 20,
        "record": [*range(20)] * 2,
        "content": [*range(40)],
        **draws,
    }
    result = check(write_run(tmp_path / "run", rows))

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["draws"]


def partly_drawn(content: Callable[[int, int], int], epochs: int = 4) -> dict[str, list[Any]]:
    """Deliver 60 records in each epoch; every third one has draws of its own, the others none."""
    places = [(record, epoch) for epoch in range(epochs) for record in range(60)]
    return {
        "epoch": [epoch for _, epoch in places],
        "record": [record for record, _ in places],
        "draws": [None if r % 3 else 7000 + r + 100 * epoch for r, epoch in places],
        "content": [900 + content(r, epoch) if r % 3 else 5000 + r + epoch for r, epoch in places],
    }


@pytest.mark.parametrize("epochs", [2, 4])
@pytest.mark.parametrize(
    "content",
    [
        lambda record, epoch: 1000 * epoch + record,
        lambda record, epoch: 1000 * ((record * 7 + epoch * epoch) % 3 > 1) + record,
    ],
    ids=["each time", "now and then"],
)
def test_an_augmentation_that_nobody_sees_is_no_drift_though_other_records_have_draws(
    content: Callable[[int, int], int], epochs: int, tmp_path: Path
) -> None:
    result = check(write_run(tmp_path / "run", partly_drawn(content, epochs)))

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["draws"]


@pytest.mark.parametrize(
    ("content", "records"),
    [
        (lambda record, epoch: record + 1000 * epoch * (record in {4, 10}), 2),
        (lambda record, epoch: record + 1000 * (epoch > 1), 40),
        (lambda record, epoch: record + 1000 * (epoch > 1) * (record > 30), 20),
    ],
    ids=["a few", "all from one point on", "many from one point on"],
)
def test_records_without_draws_drift_beside_others_that_have_some(
    content: Callable[[int, int], int], records: int, tmp_path: Path
) -> None:
    result = check(write_run(tmp_path / "run", partly_drawn(content)))
    (finding,) = findings_of(result, RULE)

    assert evidence_of(finding)["records_count"] == records
    assert "a generator that nobody saw" in str(finding.cause)


def test_records_under_equal_draws_drift_beside_those_that_nobody_can_tell(tmp_path: Path) -> None:
    rows = partly_drawn(lambda record, epoch: 1000 * epoch + record)
    rows["draws"] = [None if r % 3 else 7000 + r for r in rows["record"]]
    (finding,) = findings_of(check(write_run(tmp_path / "run", rows)), RULE)

    assert evidence_of(finding)["records_count"] == 20


@pytest.mark.parametrize("drawn_too", [False, True])
def test_two_seeds_of_an_augmentation_that_nobody_sees_are_no_drift(
    drawn_too: bool, tmp_path: Path
) -> None:
    a = partly_drawn(lambda record, epoch: 1000 * epoch + record)
    b = partly_drawn(lambda record, epoch: 1000 * epoch + record + 77)
    if drawn_too:
        b["content"] = [content + 10_000 for content in b["content"]]
    result = compare(tmp_path, a, b)

    assert [evidence_of(each)["records_count"] for each in findings_of(result, RULE)] == (
        [20] if drawn_too else []
    )
    assert drawn_too or lacking(result, RULE) == ["draws"]


def test_a_drift_within_the_run_is_said_once(tmp_path: Path) -> None:
    a = {name: values * 2 for name, values in rows_of(20, "raw").items()}
    a["epoch"] = [0] * 20 + [1] * 20
    b = a | {"raw": [*a["raw"][:25], 1, *a["raw"][26:]]}

    assert len(findings_of(compare(tmp_path, a, b), RULE)) == 1


def test_content_of_draws_that_follow_the_place_changes_with_the_order(tmp_path: Path) -> None:
    a = {"record": [*range(40)], "content": [*range(100, 140)]}
    b = {"record": [*range(39, -1, -1)], "content": [*range(200, 240)]}

    assert findings_of(compare(tmp_path, a, b, seed=3, purpose="train"), RULE) == []


def test_records_that_repeat_within_one_epoch_show_nothing_of_another_seed(tmp_path: Path) -> None:
    record = [place % 7 for place in range(70)]
    rows = {"epoch": [0] * 70, "record": record}
    a = rows | {"content": [100 + number for number in record]}
    b = rows | {"content": [200 + number for number in record]}

    assert findings_of(compare(tmp_path, a, b, purpose="train", replacement=True), RULE) == []


@pytest.mark.parametrize("column", ["raw", "content"])
def test_another_argument_may_have_asked_for_other_bytes(column: str, tmp_path: Path) -> None:
    a, b = rows_of(20, column), rows_of(20, column, r2=7)
    run_a = write_run(tmp_path / "a", a, {"config": {"range": None}})
    run_b = write_run(tmp_path / "b", b, {"config": {"range": [0, 255]}})
    result = audit(run_a, run_b)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["equal arguments"]
    assert result.reason == "no rule names a cause; arguments that differ: range (none and [0,255])"


@pytest.mark.parametrize("entry", ["prefetch", "mine"])
def test_an_argument_without_effect_excuses_no_other_bytes(entry: str, tmp_path: Path) -> None:
    a, b = rows_of(20, "raw"), rows_of(20, "raw", r2=7)
    run_a, run_b = (
        write_run(tmp_path / name, rows, {"config": {"inert": ["mine"], entry: value}})
        for name, rows, value in (("a", a, 1), ("b", b, 2))
    )
    result = audit(run_a, run_b)

    assert len(findings_of(result, RULE)) == 1
    assert result.reason is None


def test_other_content_of_the_same_raw_bytes_may_be_other_draws(tmp_path: Path) -> None:
    raw = rows_of(40, "raw")
    a, b = raw | rows_of(40, "content"), raw | rows_of(40, "content", r3=5, r9=6)
    result = compare(tmp_path, a, b, seed=1)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["draws"]


def test_other_content_of_all_rows_of_some_epochs_may_be_other_draws(tmp_path: Path) -> None:
    epochs = [epoch for epoch in range(5) for _ in range(20)]
    a = {"epoch": epochs, "record": [*range(20)] * 5, "content": [*range(100)]}
    b = a | {"content": [*range(80), *range(1000, 1020)]}
    result = compare(tmp_path, a, b, seed=1)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["draws"]
