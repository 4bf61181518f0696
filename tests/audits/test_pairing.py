"""Which stream of one run is compared with which of another, of programs that were edited."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.audits import audit
from detloader.audits.pairing import paired
from detloader.findings import Outcome, Result, Verdict
from detloader.manifest.reader import Run, Stream
from detloader.reports import render
from tests.support.programs import HEAD, record_program, write_program
from tests.support.runs import write_run

TRAIN, VALID = [2, 0, 1, 3], [4, 5]


def write(path: Path, streams: Mapping[str, Sequence[int]]) -> Path:
    for name, records in streams.items():
        write_run(path, {"record": records}, stream=name)
    return path


def compare(folder: Path, a: Sequence[str], b: Sequence[str]) -> Result:
    """Audit runs with the same records in all streams."""
    runs = (("a", a), ("b", b))
    return audit(*(write(folder / run, dict.fromkeys(names, TRAIN)) for run, names in runs))


def pairs(result: Result) -> list[str]:
    return sorted(stream.name for stream in result.streams)


@pytest.mark.parametrize("moved_by", [1, 5])
def test_an_edited_program_is_compared_loader_by_loader(tmp_path: Path, moved_by: int) -> None:
    text = """
        torch.manual_seed(0)
        train = DataLoader(data, batch_size=4, shuffle=True)
        valid = DataLoader(data, batch_size=5)
        for batches in (train, valid, valid):
            for (x,) in batches:
                pass
    """
    for run, more in (("a", 0), ("b", moved_by)):
        program = write_program(tmp_path, text, head=HEAD + "    # a comment\n" * more)
        record_program(tmp_path, sys.executable, program, run=run)
    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.verdict is Verdict.IDENTICAL
    assert result.coverage == 1
    assert pairs(result) == [f"train.py:{line} and train.py:{line + moved_by}" for line in (7, 8)]


def test_lines_are_ordered_as_numbers(tmp_path: Path) -> None:
    result = compare(tmp_path, ["a.py:9", "a.py:10"], ["a.py:99", "a.py:100"])

    assert pairs(result) == ["a.py:10 and a.py:100", "a.py:9 and a.py:99"]


def test_loaders_of_one_line_and_of_children_are_paired_with_their_own_kind(
    tmp_path: Path,
) -> None:
    forms = ["", "-2", "@2", "@2.3-2", "@uv=2.3-2", "+restart1", "@2-2+restart2"]
    result = compare(
        tmp_path, [f"a.py:4{form}" for form in forms], [f"a.py:6{form}" for form in forms]
    )

    assert result.verdict is Verdict.IDENTICAL
    assert pairs(result) == sorted(f"a.py:4{form} and a.py:6{form}" for form in forms)


def test_each_file_is_paired_by_itself(tmp_path: Path) -> None:
    result = compare(tmp_path, ["a.py:4", "b.py:4", "train:3"], ["a.py:5", "b.py:4", "train:4"])

    assert pairs(result) == ["a.py:4 and a.py:5", "b.py:4", "train:3 and train:4"]


def test_names_that_were_given_are_paired_by_name_alone(tmp_path: Path) -> None:
    result = compare(tmp_path, ["fold1", "fold2", "train"], ["fold2", "fold3", "valid"])

    assert pairs(result) == ["fold1", "fold2", "fold3", "train", "valid"]


def test_where_loaders_came_or_went_equal_lines_are_paired_and_the_mend_is_told(
    tmp_path: Path,
) -> None:
    a = write(tmp_path / "a", {"a.py:11": TRAIN, "a.py:12": VALID, "b.py:3": TRAIN})
    b = write(tmp_path / "b", {"a.py:12": TRAIN, "a.py:13": VALID, "a.py:20": VALID})
    result = audit(a, b)
    reasons = {stream.name: stream.reason or "" for stream in result.streams}

    assert {*reasons} == {"a.py:11", "a.py:12", "a.py:13", "a.py:20", "b.py:3"}
    for name, reason in reasons.items():
        assert (
            "loaders of a.py are at other lines, and at 3 in place of 2" in reason
        ) is name.startswith("a.py")
        assert ("detloader.name" in reason) is name.startswith("a.py")
    assert result.reason is not None


@pytest.mark.parametrize("line", [3, 4])
@pytest.mark.parametrize("form", ["", "@2", "+restart1"])
def test_where_one_line_made_more_loaders_their_numbers_are_doubted(
    tmp_path: Path, line: int, form: str
) -> None:
    child, restart = (form, "") if form == "@2" else ("", form)
    numbered = [f"{child}{number}{restart}" for number in ("", "-2", "-3", "-4")]
    records = (TRAIN, VALID, TRAIN, VALID)
    a = {f"cv.py:3{which}": each for which, each in zip(numbered, records, strict=True)}
    b = {f"cv.py:{line}{which}": TRAIN for which in numbered[:2]}
    same = {"one.py:7": TRAIN, "one.py:7-2": VALID, "mine-2": TRAIN}
    other = {"one.py:7": VALID, "one.py:7-2": TRAIN, "mine-2": VALID, "mine-3": TRAIN}
    result = audit(write(tmp_path / "a", a | same), write(tmp_path / "b", b | other))
    reasons = [stream.reason or "" for stream in result.streams if stream.name.startswith("cv")]
    others = [stream.reason or "" for stream in result.streams if not stream.name.startswith("cv")]
    doubt = f"the loaders that cv.py:3{form} made are 2 in place of 4, numbered as they came"

    assert [doubt in reason for reason in reasons] == [False, True, True, True]
    assert all("detloader.name" in reason for reason in reasons[1:])
    assert not any("numbered" in reason for reason in others)


def test_children_that_came_or_went_are_no_doubt_of_the_others(tmp_path: Path) -> None:
    a = write(tmp_path / "a", {"a.py:3": TRAIN, "a.py:3@2": TRAIN})
    b = write(tmp_path / "b", {"a.py:3": VALID})

    assert not any("numbered" in (stream.reason or "") for stream in audit(a, b).streams)


def test_a_change_between_unlike_lines_tells_that_the_pair_is_doubtful(tmp_path: Path) -> None:
    a = write(tmp_path / "a", {"data.py:10": TRAIN, "data.py:20": VALID})
    b = write(tmp_path / "b", {"data.py:20": VALID, "data.py:25": TRAIN})
    reasons = [stream.reason or "" for stream in audit(a, b).streams]

    assert all("lines moved" in reason and "detloader.name" in reason for reason in reasons)


def test_what_is_the_same_needs_no_hint(tmp_path: Path) -> None:
    result = compare(tmp_path, ["a.py:1"], ["a.py:1", "a.py:2"])
    reasons = {stream.name: stream.reason for stream in result.streams}

    assert reasons["a.py:1"] is None
    assert reasons["a.py:2"] is not None


def test_each_of_several_runs_is_paired_with_the_baseline(tmp_path: Path) -> None:
    a, b, c = (
        write(tmp_path / run, {f"a.py:{line}": TRAIN, f"a.py:{line + 1}": VALID})
        for run, line in (("a", 4), ("b", 5), ("c", 3))
    )
    result = audit(a, b, c, equivalence="same-order")

    assert result.verdict is Verdict.IDENTICAL
    assert result.comparisons
    assert [pairs(each) for each in result.comparisons] == [
        ["a.py:4 and a.py:5", "a.py:5 and a.py:6"],
        ["a.py:4 and a.py:3", "a.py:5 and a.py:4"],
    ]


def test_places_of_findings_are_files_of_the_runs(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": TRAIN}, stream="a.py:4")
    b = write_run(tmp_path / "b", {"record": VALID}, stream="a.py:5")
    log = json.loads(render("sarif", audit(a, b)))
    places = [
        location["physicalLocation"]["artifactLocation"]["uri"]
        for found in log["runs"][0]["results"]
        for location in found["locations"]
    ]

    assert places == [(b / "a.py:5" / "rank-00000" / "manifest.json").as_uri()]


def test_ranks_and_names_of_records_follow_the_pairs(tmp_path: Path) -> None:
    ranks = {"rank": [0, 0, 1, 1], "batch": [0, 1, 0, 1]}
    a = write_run(tmp_path / "a", {"record": ["x", "y", "z", "u"], **ranks}, stream="a.py:4")
    b = write_run(tmp_path / "b", {"record": ["1", "2", "3", "4"], **ranks}, stream="a.py:5")
    names = {"x": "1", "y": "2", "z": "3", "u": "4"}
    result = audit(a, b, id_map=names, equivalence="same-order-per-rank")

    assert result.outcome is Outcome.HOLDS


@given(st.sets(st.integers(1, 500), max_size=9), st.sets(st.integers(1, 500), max_size=9))
def test_pairing_keeps_all_streams_and_pairs_as_many_as_equal_names_would(
    a: set[int], b: set[int]
) -> None:
    names = [[f"a.py:{line}" for line in lines] for lines in (a, b)]
    runs = [Run(".", {name: Stream(name, ()) for name in own}) for own in names]
    found = paired(*runs).streams

    assert len(found) == len(b)
    assert len(found.keys() & runs[0].streams.keys()) >= len(a & b)
    assert (found.keys() == runs[0].streams.keys()) is (len(a) == len(b))
