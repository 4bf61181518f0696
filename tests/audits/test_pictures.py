"""What pictures show is what the rows hold."""

from __future__ import annotations

import pkgutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.audits import audit, check, pictures
from detloader.audits.bands import Bands
from detloader.findings import Picture, Result
from tests.support.runs import write_run

CELLS = 900
"""Cells of the table behind a picture, at most."""

lengths = st.shared(st.integers(1, 60), key="length")


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """Rows of a run, of one to three ranks."""
    length = draw(lengths) + draw(st.integers(0, 3))
    records = st.integers(0, 12) if draw(st.booleans()) else st.sampled_from("abcdefgh")
    ranks = draw(st.integers(1, 3))
    epochs = sorted(draw(st.lists(st.integers(0, 2), min_size=length, max_size=length)))
    return {
        "record": draw(st.lists(records, min_size=length, max_size=length)),
        "epoch": epochs,
        "rank": [place % ranks for place in range(length)],
        "worker": [place // 2 % 3 for place in range(length)],
        "content": draw(st.lists(st.integers(0, 3), min_size=length, max_size=length)),
    }


def taken(result: Result) -> dict[str, Picture]:
    """Give the pictures of a result with one stream, by name."""
    (stream,) = result.streams
    assert not isinstance(stream.pictures, msgspec.UnsetType)
    return {picture.name: picture for picture in stream.pictures}


def audited(a: dict[str, Any], b: dict[str, Any], **declared: Any) -> dict[str, Picture]:
    with tempfile.TemporaryDirectory() as folder:
        runs = [
            write_run(Path(folder, name), columns, declared)
            for name, columns in (("a", a), ("b", b))
        ]
        return taken(audit(*runs, pictures=True))


def checked(columns: dict[str, Any], **declared: Any) -> dict[str, Picture]:
    with tempfile.TemporaryDirectory() as folder:
        return taken(check(write_run(Path(folder, "a"), columns, declared), pictures=True))


def cells(picture: Picture, first: int, run: str | None = None) -> np.ndarray:
    """Give the cells of a table from a column on."""
    chosen = [row[first:] for row in picture.rows if run in {None, row[0]}]
    return np.array(chosen, np.float64)


@given(a=rows(), b=rows())
@settings(max_examples=30)
def test_any_two_runs_have_pictures_of_bounded_size(a: dict[str, Any], b: dict[str, Any]) -> None:
    if isinstance(a["record"][0], str) != isinstance(b["record"][0], str):
        b = {**b, "record": a["record"][:1] * len(b["record"])}
    for picture in audited(a, b).values():
        assert picture.sentence.endswith(".")
        assert picture.sentence[0].isupper() or picture.sentence[0].isdigit()
        assert sum(map(len, picture.rows)) <= CELLS
        assert {len(row) for row in picture.rows} <= {len(picture.columns)}


@given(a=rows())
@settings(max_examples=20)
def test_an_order_map_has_every_row_once_and_coverage_every_record(a: dict[str, Any]) -> None:
    found = checked(a)
    strips = [(epoch, rank) for epoch, rank in zip(a["epoch"], a["rank"], strict=True)]
    shown = {(row[1], row[2]): row[3:5] for row in found["coverage"].rows}

    assert cells(found["order-map"], 2).sum() == len(a["record"])
    for strip, (count, distinct) in shown.items():
        assert count == Counter(strips)[strip]
        records = [r for r, s in zip(a["record"], strips, strict=True) if s == strip]
        assert distinct == len({*records})


@pytest.mark.parametrize("rows", [1, 3, 48, 49, 100_000])
def test_bands_hold_every_number_once_in_order(rows: int) -> None:
    bands = Bands(rows, 24)
    of = bands.of(np.arange(rows))

    assert bands.count == len(bands.labels()) <= 24
    assert of.min() == 0
    assert of.max() == bands.count - 1
    assert (np.diff(of) >= 0).all()
    assert [int(np.argmax(of == band)) for band in range(bands.count)] == bands.starts()[:-1]


ORDER = {"record": [*range(100)], "epoch": [0] * 100, "content": [*range(100)]}
SWAPPED = {**ORDER, "record": [*range(10), 90, *range(11, 90), 10, *range(91, 100)]}
SWAPPED["content"] = SWAPPED["record"]


def test_what_moved_is_counted_and_the_farthest_named() -> None:
    picture = audited(ORDER, SWAPPED)["displacement"]

    assert picture.sentence == (
        "2 of 100 shared rows stand elsewhere, half of them at least 80 rows away; the farthest "
        "went 80: the record of row 10 stands in row 90."
    )
    assert cells(picture, 1).sum() == 100
    assert (picture.rows[0][0], picture.rows[-1][0]) == ("+75 to +84", "-85 to -76")


def test_where_rows_differ_is_counted_by_kind() -> None:
    changed = {**ORDER, "content": [*range(60), *range(1060, 1100)]}
    picture = audited(ORDER, changed)["along-the-run"]
    content = cells(picture, 2)[:, 0]

    assert picture.columns == ["rows", "record", "content"]
    assert picture.sentence == (
        "Another record stands in no row; content differs in 40 of 100 rows, from row 60 to 99."
    )
    assert content[:20].sum() == 0
    assert content.sum() == 40


def test_the_rows_around_the_first_difference_stand_side_by_side() -> None:
    picture = audited(ORDER, SWAPPED)["first-rows"]

    assert picture.columns == ["row", "epoch", "the baseline", "the run", "record", "content"]
    assert picture.rows[3:6] == [
        [9, 0, 9, 9, "same", "same"],
        [10, 0, 10, 90, "other", "other"],
        [11, 0, 11, 11, "same", "same"],
    ]
    assert picture.sentence == (
        "The 10 rows before agree; row 10 is the first that differs, in record. Of the 8 rows "
        "from there, 1 has another record."
    )


def test_records_that_never_come_are_named() -> None:
    lacking = {name: values[:97] for name, values in ORDER.items()}
    picture = audited(ORDER, lacking)["coverage"]

    assert picture.sentence == (
        "The baseline delivers all 100 records; the run delivers 97 of 100 records. "
        "Records 97, 98, 99 never come in the run."
    )
    assert cells(picture, 5, "the run")[0].tolist() == [1.0] * 19 + [0.4]


def test_weights_stand_beside_what_came_of_them() -> None:
    record = [0] * 10 + [1] * 30
    picture = checked({"record": record}, weights=[1.0, 3.0])["weights"]

    assert picture.columns == ["weight", "records", "declared", "the run"]
    assert picture.rows == [["1", 1, 0.25, 0.25], ["3", 1, 0.75, 0.75]]
    assert "weights" not in checked({"record": record}, weights=[1.0, 1.0])
    assert "weights" not in checked({"record": record})


def test_lanes_say_who_takes_turns() -> None:
    rows = {"record": [*range(12)], "batch": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]}
    alone = {**rows, "worker": [0] * 12}
    turns = {**rows, "worker": [0, 0, 1, 1, 2, 2] * 2, "record": [*range(12)][::-1]}
    picture = audited(alone, turns)["lanes"]

    assert picture.sentence == (
        "The baseline takes its rows from one worker; the run takes its rows from 3 workers, "
        "4 rows each. The first 12 rows are drawn."
    )
    assert [row[:4] for row in picture.rows[1:]] == [["the run", 0, n, 4] for n in range(3)]
    assert "lanes" not in checked(alone)


def test_the_environment_lists_what_differs() -> None:
    with tempfile.TemporaryDirectory() as folder:
        a = write_run(Path(folder, "a"), ORDER, {"workers": 0, "config": {"mix": {"rate": 1}}})
        b = write_run(Path(folder, "b"), ORDER, {"workers": 2, "config": {"mix": {"rate": 2}}})
        picture = taken(audit(a, b, pictures=True))["environment"]

    assert [row[0] for row in picture.rows] == ["workers", "config.mix.rate"]
    assert picture.rows[0] == ["workers", "0", "2"]
    assert picture.sentence.startswith("2 of ")


def test_fields_that_differ_behind_what_is_shown_of_them_are_listed() -> None:
    weights = [1.0] * 500
    with tempfile.TemporaryDirectory() as folder:
        a = write_run(Path(folder, "a"), ORDER, {"weights": weights})
        b = write_run(Path(folder, "b"), ORDER, {"weights": [*weights[:-1], 2.0]})
        picture = taken(audit(a, b, pictures=True))["environment"]

    assert [row[0] for row in picture.rows] == ["weights"]
    assert all(len(str(cell)) < 200 for cell in picture.rows[0])


def test_equal_runs_lie_on_the_same_cells() -> None:
    found = audited(ORDER, ORDER)

    assert found["order-map"].sentence.startswith("The rows of both runs lie on the same cells")
    assert {"displacement", "along-the-run", "first-rows"}.isdisjoint(found)
    assert found["environment"].sentence.startswith("All ")


@pytest.mark.parametrize("text", ["x" * 10_000, "<script>", "\u202e"])
def test_a_long_id_is_cut_in_tables_and_sentences(text: str) -> None:
    a = {"record": ["a", text, "b"]}
    for picture in audited(a, {"record": ["a", "c", "b"]}).values():
        assert len(picture.sentence) < 500
        assert all(len(str(cell)) < 200 for row in picture.rows for cell in row)


def test_ids_that_lie_far_apart_are_bands_of_equally_many_records() -> None:
    far = {"record": [7**number for number in range(20)] * 2, "epoch": [0] * 20 + [1] * 20}
    found = checked(far)

    assert found["order-map"].axes["numbered"] == "in ascending order of their IDs"
    assert cells(found["order-map"], 2).sum() == 40
    assert cells(found["coverage"], 5).tolist() == [[1.0] * 20] * 2


def test_runs_of_which_no_row_was_kept_have_no_picture(tmp_path: Path) -> None:
    from detloader.manifest.schema import Level

    a = write_run(tmp_path / "a", ORDER, level=Level.DIGEST)

    assert taken(audit(a, a, pictures=True)) == {}


def test_without_being_asked_for_there_is_none(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", ORDER)

    assert audit(a, a).streams[0].pictures is msgspec.UNSET
    assert check(a).streams[0].pictures is msgspec.UNSET


def test_every_picture_is_drawn_or_is_a_table() -> None:
    from detloader.reports.html import pictures as drawings

    taken_ = {module.name for module in pkgutil.iter_modules(pictures.__path__)}
    drawn = {module.name for module in pkgutil.iter_modules(drawings.__path__)}

    assert taken_ - drawn == {"environment", "first_rows"}
    assert drawn < taken_
