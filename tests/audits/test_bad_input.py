"""Runs that do not fit together: what can be said is said, and the rest is named."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import detloader
from detloader.audits import audit, check
from detloader.findings import Counts, Verdict
from detloader.reports import headline, render
from tests.support.results import counts_of, findings_of, first_of, lacking, loud_rules
from tests.support.runs import write_run
from tests.support.tables import write_rows

if TYPE_CHECKING:
    from pathlib import Path

    from detloader.findings import Result

DECLARED = {
    "purpose": "train",
    "shuffle": True,
    "seed": 1,
    "source_size": 40,
    "num_epochs": 2,
    "batch_size": 5,
    "replacement": False,
}

Rows = dict[str, list[Any]]


def deliver(epochs: int = 2, *, ranks: int = 1, seed: int = 1) -> Rows:
    """Shuffle forty records anew in each epoch, and deal them to ranks in turn."""
    rows: Rows = {name: [] for name in ("epoch", "batch", "rank", "record")}
    for epoch in range(epochs):
        order = random.Random(f"{seed} {epoch}").sample(range(40), 40)
        for rank in range(ranks):
            for place, record in enumerate(order[rank::ranks]):
                for name, value in zip(rows, (epoch, place // 5, rank, record), strict=True):
                    rows[name].append(value)
    return rows


def keep(rows: Rows, kept: Any) -> Rows:
    """Keep the rows for which a condition on (epoch, rank, place) holds."""
    places = range(len(rows["record"]))
    chosen = [n for n in places if kept(rows["epoch"][n], rows["rank"][n], n)]
    return {name: [values[n] for n in chosen] for name, values in rows.items()}


def compare(
    folder: Path, a: Rows, b: Rows, of_a: dict[str, Any] | None = None, **of_b: Any
) -> Result:
    """Audit two runs, in a folder that sentences do not show."""
    runs = [
        write_run(folder / "a", a, DECLARED | (of_a or {})),
        write_run(folder / "b", b, DECLARED | of_b),
    ]
    return audit(*runs)


def said(result: Result, folder: Path) -> str:
    """Give the reason, with the names of the runs alone."""
    return (result.reason or "").replace(f"{folder}/", "")


def test_runs_that_share_no_column_but_the_record_are_compared_by_it(tmp_path: Path) -> None:
    whole = deliver()
    result = compare(tmp_path, whole, {"record": whole["record"], "draws": [*range(80)]})

    assert result.verdict is Verdict.IDENTICAL
    assert result.not_compared == ["epoch", "batch", "draws"]
    assert "not compared: epoch, batch, draws" in render("text", result)


def test_ids_of_two_types_cannot_be_judged_and_the_mend_is_named(tmp_path: Path) -> None:
    whole = deliver()
    result = compare(tmp_path, whole, whole | {"record": [f"r{n}" for n in whole["record"]]})

    assert result.verdict is Verdict.INCONCLUSIVE
    assert "record or import both with one type of ID" in said(result, tmp_path)


@pytest.mark.parametrize("names", ["case-{}.png", "{:05d}"])
def test_runs_that_share_no_id_are_not_said_to_have_one_order(names: str, tmp_path: Path) -> None:
    whole = deliver()
    a = whole | {"record": [f"img{record}.jpg" for record in whole["record"]]}
    b = whole | {"record": [names.format(record) for record in whole["record"]]}
    result = compare(tmp_path, a, b)

    assert "has none of the 80 records" in headline(result)
    assert said(result, tmp_path).startswith(f"no record ID of a (such as {a['record'][0]}) is in")
    assert result.findings == []


@pytest.mark.parametrize("gone", [0, 2, 3])
@pytest.mark.parametrize("told", [{"world_size": 4}, {}])
def test_a_rank_that_is_not_there_is_named_and_the_others_are_compared(
    gone: int, told: dict[str, Any], tmp_path: Path
) -> None:
    whole = deliver(ranks=4)
    part = keep(whole, lambda _epoch, rank, _place: rank != gone)
    result = compare(tmp_path, whole, part, of_a=told, **told)
    alone = check(tmp_path / "b")

    assert result.findings == []
    if told or gone < 3:
        assert (alone.verdict, alone.findings) == (Verdict.INCONCLUSIVE, [])
        assert (result.verdict, result.coverage) == (Verdict.IDENTICAL, 0.75)
        assert said(result, tmp_path) == f"b lacks rank {gone} of 4"
        assert said(alone, tmp_path) == said(result, tmp_path)
        assert said(result, tmp_path) in headline(alone).replace(f"{tmp_path}/", "")
    else:  # that there was a rank 3 nobody can know from the run
        assert result.verdict is Verdict.CHANGED
        assert said(result, tmp_path).startswith("rank 3 of a is not in b; the rows of the other")
        assert lacking(result, "tail-handling") == ["all 4 ranks"]


def test_a_rank_without_one_of_several_streams_is_named_and_rank_0_may_evaluate_alone(
    tmp_path: Path,
) -> None:
    whole = deliver(ranks=4)
    part = keep(whole, lambda _epoch, rank, _place: rank != 2)
    first = keep(whole, lambda _epoch, rank, _place: rank == 0)
    for stream, rows in (("main", whole), ("evaluation", first)):
        write_run(tmp_path / "sound", rows, {"world_size": 4}, stream=stream)
    for stream, rows in (("main", whole), ("train", part), ("val", whole)):
        write_run(tmp_path / "part", rows, {"world_size": 4}, stream=stream)
    sound, lacks = check(tmp_path / "sound"), check(tmp_path / "part")

    assert sound.verdict is Verdict.CLEAN
    assert lacks.verdict is Verdict.INCONCLUSIVE
    assert said(lacks, tmp_path) == "part lacks rank 2 of 4"


@pytest.mark.parametrize("other", ["train", "zoo"])
def test_a_stream_of_rank_0_alone_is_told_of_wherever_it_stands(other: str, tmp_path: Path) -> None:
    for stream, ranks in ((other, 2), ("val", 1)):
        for rank in range(ranks):
            write_rows(
                tmp_path / "run",
                pa.table({"record": [rank, rank + 2]}),
                rank=rank,
                ranks=2,
                stream=stream,
            )
    result = check(tmp_path / "run")
    (told,) = (each.reason for each in result.streams if each.name == "val")

    assert result.verdict is Verdict.CLEAN
    assert told == f"{tmp_path}/run lacks rank 1 of 2"
    assert f"; in stream val, {told}" in headline(result)
    assert f"clean: stream val: {told}" in " ".join(render("text", result).split())


def test_a_rank_that_differs_beside_one_that_is_gone_is_a_change(tmp_path: Path) -> None:
    whole = deliver(ranks=4)
    part = keep(whole, lambda _epoch, rank, _place: rank != 2)
    part["record"][0] = part["record"][1]
    result = compare(tmp_path, whole, part, of_a={"world_size": 4}, world_size=4)

    assert (result.verdict, result.coverage) == (Verdict.CHANGED, 0.75)
    assert counts_of(result).substituted == 1
    assert said(result, tmp_path) == "b lacks rank 2 of 4"


@pytest.mark.parametrize("longer_first", [True, False])
def test_epochs_of_one_run_alone_are_named(longer_first: bool, tmp_path: Path) -> None:
    runs = [(deliver(3), 3), (deliver(2), 2)][:: 1 if longer_first else -1]
    (a, epochs_a), (b, epochs_b) = runs
    result = compare(tmp_path, a, b, of_a={"num_epochs": epochs_a}, num_epochs=epochs_b)

    assert result.verdict is Verdict.CHANGED
    assert said(result, tmp_path) == (
        f"epoch 2 is in {'a' if longer_first else 'b'} alone; the rows of the other epochs are "
        "the same"
    )
    assert result.findings == []


def test_other_epochs_that_differ_are_not_called_the_same(tmp_path: Path) -> None:
    result = compare(tmp_path, deliver(2), deliver(4, seed=2), num_epochs=4)

    assert said(result, tmp_path) == "epochs 2 and 3 are in b alone"


def test_epochs_that_are_numbered_otherwise_are_named(tmp_path: Path) -> None:
    whole = deliver()
    later = whole | {"epoch": [epoch + 5 for epoch in whole["epoch"]]}
    result = compare(tmp_path, whole, later)

    assert result.verdict is Verdict.CHANGED
    assert counts_of(result) == Counts()
    assert (first_of(result).column, first_of(result).b) == ("epoch", 5)
    assert said(result, tmp_path) == (
        "epochs are numbered 0 to 1 in a and 5 to 6 in b, and all else is the same: number them "
        "alike"
    )


@pytest.mark.parametrize("ranks", [1, 4])
def test_epochs_that_are_counted_from_one_are_no_lost_epoch_and_no_new_one(
    ranks: int, tmp_path: Path
) -> None:
    whole = deliver(3, ranks=ranks)
    later = whole | {"epoch": [epoch + 1 for epoch in whole["epoch"]]}
    result = compare(tmp_path, whole, later, num_epochs=3)

    assert (result.verdict, counts_of(result), result.findings) == (Verdict.CHANGED, Counts(), [])
    assert "epochs are numbered 0 to 2 in a and 1 to 3 in b" in said(result, tmp_path)


def test_what_else_differs_is_found_behind_other_numbers(tmp_path: Path) -> None:
    whole = deliver(3)
    whole["raw"] = [record + 100 for record in whole["record"]]
    later = whole | {"epoch": [epoch + 1 for epoch in whole["epoch"]]}
    later["raw"] = [raw + 500 * (raw == 107) for raw in whole["raw"]]
    result = compare(tmp_path, whole, later, num_epochs=3)

    assert (counts_of(result), loud_rules(result)) == (Counts(content=3), ["content-drift"])
    assert said(result, tmp_path).startswith("epochs are numbered 0 to 2 in a and 1 to 3 in b, and")


def test_runs_without_an_epoch_in_common_have_no_cause_in_what_else_differs(
    tmp_path: Path,
) -> None:
    first, second = deliver(1), deliver(2)
    later = keep(second, lambda epoch, _rank, _place: epoch == 1)
    result = compare(tmp_path, first, later, {"threads": 1}, threads=4)

    assert "epochs are numbered 0 in a and 1 in b" in said(result, tmp_path)
    assert loud_rules(result) == []
    assert "an epoch that both runs have" in lacking(result, "topology-dependence")


def test_an_interrupted_run_is_judged_on_the_common_prefix(tmp_path: Path) -> None:
    begun = keep(deliver(), lambda _epoch, _rank, place: place < 50)
    result = compare(tmp_path, deliver(), begun, complete=False)

    assert (result.verdict, result.coverage) == (Verdict.IDENTICAL, 50 / 80)
    assert headline(result).startswith("identical as far as both were recorded: the first 50 of 80")
    assert "declared as not complete" in headline(check(tmp_path / "b"))


def test_a_prefix_that_differs_has_the_verdict_of_the_prefix(tmp_path: Path) -> None:
    begun = keep(deliver(), lambda _epoch, _rank, place: place < 30)
    begun["record"][0], begun["record"][10] = begun["record"][10], begun["record"][0]
    result = compare(tmp_path, deliver(), begun, complete=False)

    assert (result.verdict, result.coverage) == (Verdict.REORDERED, 30 / 80)
    assert "as far as both were recorded" in headline(result)
    assert "37.5% of the rows could be compared" in headline(result)


def test_a_run_that_claims_to_be_whole_and_ends_early_is_a_change(tmp_path: Path) -> None:
    begun = keep(deliver(), lambda _epoch, _rank, place: place < 50)
    result = compare(tmp_path, deliver(), begun)

    assert (result.verdict, result.coverage) == (Verdict.CHANGED, 1.0)
    assert said(result, tmp_path).startswith("b ends after the first 50 of the 80 rows of a")


def test_a_run_without_rows_is_said_to_have_none(tmp_path: Path) -> None:
    result = compare(tmp_path, deliver(), {name: [] for name in deliver()})

    assert result.verdict is Verdict.CHANGED
    assert said(result, tmp_path) == "b has no row"


def test_a_run_that_lost_all_its_rows_is_said_to_have_lost_them(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with detloader.record([object(), object()], tmp_path / name) as loader:
            list(loader)
    whole = write_run(tmp_path / "whole", deliver())
    lost = "none of its 2 rows: none could be recorded"

    for result in (
        check(tmp_path / "a"),
        audit(tmp_path / "a", tmp_path / "b"),
        audit(whole, tmp_path / "a"),
    ):
        assert result.verdict is Verdict.INCONCLUSIVE
        assert lost in said(result, tmp_path)


@pytest.mark.parametrize(
    ("weights", "said_of_them"),
    [
        ([1.0] * 39, "39 weights are declared for 40 records, and 2 of 80 rows"),
        ([1.0] * 41, "41 weights are declared for 40 records."),
        ({str(record): 1.0 for record in range(30)}, "and 20 of 80 rows have a record without"),
        ([1.0] * 39 + [-1.0], "1 are below zero or not finite"),
    ],
)
def test_weights_that_do_not_fit_the_records_are_a_fault(
    weights: Any, said_of_them: str, tmp_path: Path
) -> None:
    declared = DECLARED | {"weights": weights, "replacement": True}
    result = check(write_run(tmp_path / "run", deliver(), declared))

    assert loud_rules(result) == ["sampling-distribution"]
    assert said_of_them in findings_of(result, "sampling-distribution")[0].message
    assert lacking(result, "ignored-weights") != []
