"""Sources that have a record at several places: what counts is the place that was asked for."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import record
from detloader.audits import check
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import check_rows
from tests.support.torch_datasets import torch_loader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.findings import Result

SOURCES = {
    "some twice": [*range(41), *range(17)],
    "all twice": [*range(41), *range(41)],
    "one of them often": [*range(29), *[3] * 20],
}


def rows_of(
    source: Sequence[Any], orders: Sequence[Sequence[int]], workers: int, *, batch: int = 5
) -> dict[str, list[Any]]:
    """Make the rows of epochs of these places, whose batches the workers make in turn."""
    rows: dict[str, list[Any]] = {name: [] for name in ("epoch", "batch", "record", "index")}
    for epoch, order in enumerate(orders):
        rows["epoch"] += [epoch] * len(order)
        rows["batch"] += [place // batch for place in range(len(order))]
        rows["record"] += [source[place] for place in order]
        rows["index"] += order
    return rows | ({"worker": [n % workers for n in rows["batch"]]} if workers else {})


def told(source: Sequence[Any], **more: Any) -> dict[str, Any]:
    return {"source_size": len(source), "shuffle": True, "replacement": False} | more


def shuffled(source: Sequence[Any], seed: int, epochs: int) -> list[list[int]]:
    rng = random.Random(seed)
    return [rng.sample(range(len(source)), len(source)) for _ in range(epochs)]


@given(
    name=st.sampled_from([*SOURCES]),
    text=st.booleans(),
    shuffle=st.booleans(),
    workers=st.integers(0, 3),
    epochs=st.integers(1, 4),
    seed=st.integers(0, 10_000),
)
@settings(max_examples=80, deadline=None)
def test_a_source_that_is_passed_through_is_clean(
    *, name: str, text: bool, shuffle: bool, workers: int, epochs: int, seed: int
) -> None:
    source = [f"f{record}" if text else 3 * record for record in SOURCES[name]]
    orders = shuffled(source, seed, epochs) if shuffle else [[*range(len(source))]] * epochs
    declared = told(source, shuffle=shuffle, workers=workers, batch_size=5, drop_remainder=False)
    if not shuffle:
        del declared["replacement"]
    with tempfile.TemporaryDirectory() as folder:
        result = check_rows(Path(folder), rows_of(source, orders, workers), **declared)

    assert loud_rules(result) == []
    assert {"sampling-distribution", "coverage-hole"} & {
        skipped.rule for skipped in result.not_checked
    } <= ({"sampling-distribution"} if not shuffle else set())


NAMES = [f"f{number}" for number in SOURCES["some twice"]]


def test_draws_with_replacement_are_told_by_the_places_that_come_again(tmp_path: Path) -> None:
    rng = random.Random(2)
    orders = [rng.choices(range(58), k=58) for _ in range(2)]
    (finding,) = check_rows(tmp_path, rows_of(NAMES, orders, 0), **told(NAMES)).findings

    assert finding.rule == "sampling-distribution"
    assert finding.evidence["repeated"] == 116 - sum(len(set(order)) for order in orders)


def test_workers_that_have_places_in_common_overlap(tmp_path: Path) -> None:
    rows = rows_of(NAMES, [[*range(58), *range(20, 40)]], 0)
    rows["worker"] = [0] * 40 + [1] * 38
    declared = {"source_size": 58, "shuffle": False, "workers": 2}
    result = check_rows(tmp_path, rows, **declared)

    (finding,) = findings_of(result, "partition-broken")
    assert evidence_of(finding)["kind"] == "overlap"
    assert evidence_of(finding)["records_count"] == 20
    assert set(evidence_of(finding)["records"]) <= {*NAMES[20:40]}


def test_a_place_that_never_comes_is_missed_though_its_record_comes(tmp_path: Path) -> None:
    orders = [[place for place in order if place != 50] for order in shuffled(NAMES, 4, 6)]
    result = check_rows(
        tmp_path, rows_of(NAMES, orders, 0), **told(NAMES, batch_size=5, drop_remainder=False)
    )

    (finding,) = findings_of(result, "coverage-hole")
    assert evidence_of(finding)["dropped"] == [50]


def replaced(folder: Path, source: Sequence[Any], instead: Sequence[Any]) -> Result:
    """Check three epochs in each of which another record came from place 7."""
    orders = shuffled(source, 5, 3)
    rows = rows_of(source, orders, 0)
    of_seven = [row for row, place in enumerate(rows["index"]) if place == 7]
    for row, other in zip(of_seven, instead, strict=True):
        rows["record"][row] = other
    return check_rows(folder, rows, **told(source, batch_size=5, drop_remainder=False))


@pytest.mark.parametrize(
    ("source", "instead", "dropped"),
    [
        ([f"n{n}" for n in range(41)], ["n3", "n20", "n3"], []),
        ([*range(41)], [8, 8, 8], [7]),
        ([*range(41)], [3, 20, 3], [7]),
    ],
    ids=["others each time", "of numbered records the next", "of numbered records others"],
)
def test_records_that_come_instead_of_another_leave_it_out(
    source: list[Any], instead: list[Any], dropped: list[Any], tmp_path: Path
) -> None:
    (finding,) = findings_of(replaced(tmp_path, source, instead), "coverage-hole")

    assert evidence_of(finding)["dropped_count"] == 1
    assert evidence_of(finding)["dropped"] == dropped


def test_one_that_always_comes_from_two_places_may_stand_at_both(tmp_path: Path) -> None:
    result = replaced(tmp_path, [f"n{n}" for n in range(41)], ["n8"] * 3)

    assert loud_rules(result) == []
    assert lacking(result, "coverage-hole") == ["asked"]


def test_places_that_each_rank_counts_for_itself_tell_nothing(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {name: [] for name in ("epoch", "rank", "record", "index")}
    for rank in range(2):
        for epoch, order in enumerate(shuffled(range(30), 7 + rank, 3)):
            rows["epoch"] += [epoch] * 30
            rows["rank"] += [rank] * 30
            rows["record"] += [f"r{rank}/{place}" for place in order]
            rows["index"] += order
    result = check_rows(tmp_path, rows, **told(range(30), world_size=2))

    assert loud_rules(result) == ["weak-mixing"]  # each rank has a part of its own in each epoch


@pytest.mark.parametrize("ids", ["name", "list"])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", SOURCES)
def test_a_shuffled_loader_whose_data_set_lists_records_twice_is_clean(
    name: str, workers: int, ids: str, tmp_path: Path
) -> None:
    names = [f"f{number}" for number in SOURCES[name]]
    samples = [{"x": float(number), "name": f"f{number}"} for number in SOURCES[name]]
    loader = torch_loader(samples, batch_size=5, shuffle=True, num_workers=workers)
    with record(loader, tmp_path / "run", ids=names if ids == "list" else ids) as twin:
        for _ in range(2):
            list(twin)

    assert check(tmp_path / "run").verdict == "clean"
