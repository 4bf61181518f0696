"""A run that goes on with another one is compared with the uninterrupted one from there on."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from detloader import audit, check, record, to_grain
from detloader.findings import Counts, FirstDifference, Result, Verdict
from tests.support.results import evidence_of, loud_rules
from tests.support.runs import write_run

Rows = dict[str, list[Any]]

SHUFFLED = {"shuffle": True, "seed": 1, "batch_size": 4, "source_size": 24}


def whole(size: int, *, ranks: int = 1, batch: int = 4, epochs: int = 2) -> Rows:
    rows: Rows = {"epoch": [], "batch": [], "rank": [], "record": [], "content": []}
    for epoch in range(epochs):
        order = random.Random(epoch).sample(range(size), size)
        for rank in range(ranks):
            for place, number in enumerate(order[rank::ranks]):
                rows["epoch"].append(epoch)
                rows["batch"].append(place // batch)
                rows["rank"].append(rank)
                rows["record"].append(number)
                rows["content"].append(number + 1)
    return rows


def after(rows: Rows, position: int) -> Rows:
    """Leave out so many rows of each rank."""
    seen: dict[int, int] = {}
    kept = []
    for row, rank in enumerate(rows["rank"]):
        seen[rank] = seen.get(rank, 0) + 1
        if seen[rank] > position:
            kept.append(row)
    return {name: [values[row] for row in kept] for name, values in rows.items()}


def compare(folder: Path, a: Rows, b: Rows, resume: dict[str, Any], **more: Any) -> Result:
    declared = {"shuffle": True, "seed": 1, "batch_size": 4}
    b_declared = declared | {"parent": "0" * 64, "resume": resume} | more
    return audit(write_run(folder / "a", a, declared), write_run(folder / "b", b, b_declared))


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(
    ("position", "resume"),
    [
        (8, {"position": 2, "unit": "batches"}),
        (24, {"position": 1, "unit": "epochs"}),
        (28, {"epoch": 1, "position": 1, "unit": "batches"}),
    ],
)
def test_what_comes_after_the_restart_is_compared_and_the_rest_is_not(
    ranks: int, position: int, resume: dict[str, Any], tmp_path: Path
) -> None:
    rows = whole(24 * ranks, ranks=ranks)
    result = compare(tmp_path, rows, after(rows, position), resume)

    assert result.verdict is Verdict.IDENTICAL
    assert result.findings == []
    assert result.coverage == pytest.approx(1 - position / 48)
    assert f"goes on after the first {position * ranks} rows" in str(result.reason)
    turned = audit(tmp_path / "b", tmp_path / "a")
    assert (turned.verdict, turned.coverage, turned.reason) == (
        result.verdict,
        result.coverage,
        result.reason,
    )


@pytest.mark.parametrize("first", [False, True])
def test_other_content_after_the_restart_is_all_that_differs(first: bool, tmp_path: Path) -> None:
    rows = whole(24)
    rest = after(rows, 8)
    rest["content"][10] = 7_000
    compare(tmp_path, rows, rest, {"position": 2, "unit": "batches"})
    result = audit(tmp_path / "a", tmp_path / "b", first=first)

    assert result.verdict is Verdict.CHANGED
    assert isinstance(result.first_difference, FirstDifference)
    assert (result.first_difference.row, result.first_difference.column) == (10, "content")
    if not first:
        assert result.differences == Counts(content=1)
        assert loud_rules(result) == ["content-drift"]


def test_the_first_difference_alone_says_where_the_comparison_begins(tmp_path: Path) -> None:
    rows = whole(24)
    compare(tmp_path, rows, after(rows, 8), {"position": 2, "unit": "batches"})
    result = audit(tmp_path / "a", tmp_path / "b", first=True)

    assert result.verdict is Verdict.IDENTICAL
    assert "goes on after the first 8 rows" in str(result.reason)


def test_a_run_that_goes_on_and_ends_early_lacks_the_end_alone(tmp_path: Path) -> None:
    rows = whole(24)
    rest = {name: values[:-4] for name, values in after(rows, 8).items()}
    result = compare(tmp_path, rows, rest, {"position": 2, "unit": "batches"})
    assert result.verdict is Verdict.CHANGED
    assert isinstance(result.differences, Counts)
    assert (result.differences.missing, result.differences.extra) == (4, 0)

    unfinished = tmp_path / "unfinished"
    result = compare(unfinished, rows, rest, {"position": 2, "unit": "batches"}, complete=False)
    assert result.verdict is Verdict.IDENTICAL


@pytest.mark.parametrize("off", [-4, 4])
def test_a_restart_that_missed_its_place_is_a_fault_as_before(off: int, tmp_path: Path) -> None:
    rows = whole(24)
    result = compare(tmp_path, rows, after(rows, 8 + off), {"position": 2, "unit": "batches"})

    assert result.verdict is Verdict.CHANGED
    assert loud_rules(result) == ["resume-drift"]


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("all_rows", [True, False])
@pytest.mark.parametrize("position", [8, 24, 28])
def test_a_first_row_that_is_marked_tells_that_a_run_goes_on(
    position: int, all_rows: bool, ranks: int, tmp_path: Path
) -> None:
    rows = whole(24 * ranks, ranks=ranks, epochs=4)
    rest = after(rows, position)
    first = rest["epoch"][0]
    rest["resumed"] = [all_rows or epoch == first for epoch in rest["epoch"]]
    declared = {"shuffle": True, "seed": 1, "batch_size": 4, "source_size": 24 * ranks}
    a = write_run(tmp_path / "a", rows | {"resumed": [False] * len(rows["epoch"])}, declared)
    b = write_run(tmp_path / "b", rest, declared)
    result = audit(a, b)

    assert result.verdict is Verdict.IDENTICAL
    assert result.findings == []
    assert f"goes on after the first {position * ranks} rows" in str(result.reason)
    assert loud_rules(check(b)) == []


@pytest.mark.parametrize("labelled", [True, False])
def test_a_marked_part_that_goes_on_nowhere_lacks_no_records(
    labelled: bool, tmp_path: Path
) -> None:
    rows = whole(24)
    rest = {name: values[::-1] for name, values in after(rows, 28).items()}
    rest |= {"resumed": [True] * len(rest["record"]), "batch": sorted(rest["batch"])}
    if not labelled:
        del rest["batch"]
    result = audit(
        write_run(tmp_path / "a", rows, SHUFFLED), write_run(tmp_path / "b", rest, SHUFFLED)
    )

    assert result.verdict is Verdict.CHANGED
    assert loud_rules(result) == (["resume-drift"] if labelled else [])


def counted_anew(rest: Rows) -> Rows:
    """Number the epochs of a part from 0, and mark those rows of it that were resumed."""
    first = rest["epoch"][0]
    return rest | {
        "epoch": [epoch - first for epoch in rest["epoch"]],
        "resumed": [epoch == first for epoch in rest["epoch"]],
    }


def compare_marked(folder: Path, a: Rows, b: Rows, **more: Any) -> Result:
    """Compare a part that marks its first row, both ways."""
    write_run(folder / "a", a | {"resumed": [False] * len(a["epoch"])}, SHUFFLED)
    write_run(folder / "b", b, SHUFFLED | more)
    result, turned = (audit(folder / x, folder / y) for x, y in ("ab", "ba"))
    assert (turned.verdict, turned.reason) == (result.verdict, result.reason)
    return result


@pytest.mark.parametrize(("ranks", "labelled"), [(1, True), (1, False), (3, True), (3, False)])
@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize(
    "resume",
    [
        {},
        {"resume": {"position": 8, "unit": "batches"}},
        {"resume": {"position": 2, "unit": "batches", "epoch": 1}, "parent": "0" * 64},
    ],
)
def test_a_part_that_counts_its_epochs_anew_goes_on_with_those_that_they_are(
    resume: dict[str, Any], shuffled: bool, ranks: int, labelled: bool, tmp_path: Path
) -> None:
    size = 24 * ranks
    rows = whole(size, ranks=ranks, epochs=3)
    if not shuffled:
        rows["record"] = [*range(size)] * 3
        rows["content"] = [*range(1, size + 1)] * 3
    if not labelled:
        del rows["batch"]
    result = compare_marked(tmp_path, rows, counted_anew(after(rows, 32)), **resume)

    assert result.verdict is Verdict.IDENTICAL
    assert result.findings == []
    place = f"b goes on after the first {32 * ranks} rows"
    assert place in str(result.reason)
    assert "epoch 0 of" in str(result.reason)
    assert "is epoch 1 of" in str(result.reason)


def test_in_a_later_epoch_that_counts_anew_other_content_is_all_that_differs(
    tmp_path: Path,
) -> None:
    rows = whole(24)
    rest = counted_anew(after(rows, 32))
    rest["content"][5] = 7_000
    result = compare_marked(tmp_path, rows, rest)

    assert (result.verdict, result.differences) == (Verdict.CHANGED, Counts(content=1))
    assert loud_rules(result) == ["content-drift"]
    assert "is epoch 1 of" in str(result.reason)


@pytest.mark.parametrize("off", [-4, 4])
@pytest.mark.parametrize("declared", [True, False])
def test_where_epochs_count_anew_rows_that_were_skipped_or_came_again_are_told(
    declared: bool, off: int, tmp_path: Path
) -> None:
    rows = whole(24, epochs=3)
    rest = counted_anew(after(rows, 32 + off))
    first = rest["epoch"].count(0)
    rest["batch"][:first] = [2 + place // 4 for place in range(first)]
    resume = {"resume": {"position": 8, "unit": "batches"}} if declared else {}
    result = compare_marked(tmp_path, rows, rest, **resume)

    assert result.verdict is Verdict.CHANGED
    assert loud_rules(result) == ["resume-drift"]
    assert evidence_of(result.findings[0])["offset"] == off


@pytest.mark.parametrize("anew", [True, False])
@pytest.mark.parametrize("declared", [True, False])
def test_an_epoch_after_the_resumed_one_is_told_as_no_further_restart(
    declared: bool, anew: bool, tmp_path: Path
) -> None:
    rows = whole(24, epochs=3)
    rest = after(rows, 32)
    rest["record"][16:] = random.Random(9).sample(range(24), 24)
    rest["content"][16:] = [number + 1 for number in rest["record"][16:]]
    resumed = [epoch == 1 for epoch in rest["epoch"]]
    rest = counted_anew(rest) if anew else rest | {"resumed": resumed}
    resume = {"resume": {"position": 8, "unit": "batches"}} if declared else {}
    result = compare_marked(tmp_path, rows, rest, **resume)

    assert result.verdict is Verdict.REORDERED
    assert loud_rules(result) == ["resume-drift"]
    evidence = evidence_of(result.findings[0])
    assert (evidence["restart"], evidence["row"], evidence["epoch"]) == (1, 16, 2)
    assert "Restart 1, from row 16 on" in result.findings[0].message


def test_an_epoch_that_a_loader_was_told_keeps_its_number(tmp_path: Path) -> None:
    rows = whole(24, epochs=3)
    rest = after(rows, 32)
    rest["epoch"] = [epoch + 1 for epoch in rest["epoch"]]
    result = compare_marked(tmp_path, rows, rest | {"resumed": [True] * len(rest["epoch"])})

    assert result.verdict is Verdict.CHANGED


@settings(deadline=None, max_examples=40)
@given(size=st.integers(4, 60), share=st.floats(0, 1), batch=st.integers(1, 7))
def test_a_loader_that_is_taken_up_where_it_stopped_goes_on_with_the_whole_run(
    size: int, share: float, batch: int
) -> None:
    def loader() -> Any:
        return to_grain(range(size), seed=3, shuffle=True, batch_size=batch, num_epochs=2)

    batches = -(-size * 2 // batch)
    before = min(max(int(share * batches), 1), batches - 1)
    with tempfile.TemporaryDirectory() as folder:
        a, cut, b = (Path(folder, name) for name in ("whole", "cut", "resumed"))
        with record(loader(), a) as recorded:
            assert len([*recorded]) == batches
        with record(loader(), cut) as recorded:
            iterator = iter(recorded)
            for _ in range(before):
                next(iterator)
            state = iterator.get_state()
        declared = {"resume": {"position": before, "unit": "batches"}}
        with record(loader(), b, parent=cut, declared=declared) as recorded:
            iterator = iter(recorded)
            iterator.set_state(state)
            assert len([*iterator]) == batches - before
        result = audit(a, b)

    assert result.verdict is Verdict.IDENTICAL
    assert result.findings == []


def repeated(size: int, batch: int, epochs: int) -> Rows:
    """Deliver batches that may begin in one epoch and end in the next."""
    records = [r for epoch in range(epochs) for r in random.Random(epoch).sample(range(size), size)]
    return {
        "epoch": [place // size for place in range(len(records))],
        "batch": [place // batch for place in range(len(records))],
        "record": records,
        "content": [1 + place for place in range(len(records))],
    }


def resumed(rows: Rows, place: int) -> Rows:
    """Leave out so many rows, count batches from 0, and mark what is left."""
    left = {name: values[place:] for name, values in rows.items()}
    batch = [label - left["batch"][0] for label in left["batch"]]
    return left | {"batch": batch, "resumed": [True] * len(batch)}


@given(size=st.integers(5, 12), batch=st.integers(2, 7), epochs=st.integers(2, 4), data=st.data())
@settings(max_examples=40, deadline=None)
def test_batches_that_span_epochs_are_the_same_where_a_run_goes_on_with_one(
    size: int, batch: int, epochs: int, data: st.DataObject
) -> None:
    rows, last = repeated(size, batch, epochs), (size * epochs - 1) // batch
    assume(size > batch or last > 1)
    first = data.draw(st.integers(1, last if size > batch else last - 1))
    declared = {"shuffle": True, "seed": 1, "batch_size": batch, "source_size": size}
    told = declared | {"resume": {"position": first, "unit": "batches"}}
    with tempfile.TemporaryDirectory() as folder:
        a = write_run(Path(folder, "a"), rows, declared)
        right = audit(a, write_run(Path(folder, "b"), resumed(rows, first * batch), told))
        lost = resumed(rows, first * batch + 1)
        wrong = audit(a, write_run(Path(folder, "c"), lost, told)) if lost["record"] else None

    assert (right.verdict, right.findings) == (Verdict.IDENTICAL, [])
    assert wrong is None or wrong.verdict is Verdict.CHANGED


def test_one_batch_in_each_epoch_is_no_batch_that_spans_them(tmp_path: Path) -> None:
    rows = {"epoch": [0] * 3 + [1] * 3, "record": [0, 1, 2] * 2, "batch": [0] * 6}
    together, apart = rows, rows | {"batch": [0, 0, 0, 1, 1, 1]}
    declared = {"batch_size": 8, "source_size": 3}
    result = audit(
        write_run(tmp_path / "a", together, declared), write_run(tmp_path / "b", apart, declared)
    )

    assert result.verdict is Verdict.IDENTICAL
