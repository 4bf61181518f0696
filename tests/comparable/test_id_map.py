from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from detloader.audits import audit
from detloader.errors import DetloaderError, LogError, UsageError
from detloader.findings import Counts, Result
from detloader.manifest.schema import Level
from tests.support.runs import write_run

NAMES = {f"{number}.png": number for number in range(20)}


def compare(folder: Path, a: list[Any], b: list[Any], id_map: Any = NAMES, **more: Any) -> Result:
    runs = [
        write_run(folder / name, {"record": ids, "draws": [7] * len(ids)}, more)
        for name, ids in (("a", a), ("b", b))
    ]
    return audit(*runs, id_map=id_map)


def csv(folder: Path, text: str) -> Path:
    path = folder / "ids.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize("turn", [False, True])
def test_names_and_numbers_of_the_same_records_are_identical(tmp_path: Path, turn: bool) -> None:
    names, numbers = ["3.png", "1.png"], [3, 1]
    if turn:
        result = compare(tmp_path, numbers, names, {b: a for a, b in NAMES.items()})
    else:
        result = compare(tmp_path, names, numbers)

    assert result.verdict == "identical"
    assert result.reason is None
    assert not result.verified


@pytest.mark.parametrize("names", [[1, 2], 3, {1, 2}, [("a", "b")], b"ids.csv"])
def test_names_that_are_neither_a_file_nor_a_mapping_are_refused(
    tmp_path: Path, names: Any
) -> None:
    with pytest.raises(UsageError, match="id_map is a file or a mapping of names"):
        compare(tmp_path, ["1.png"], [1], names)


@given(order=st.permutations(range(8)))
def test_a_difference_is_what_it_is_under_one_naming(
    order: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("named")
    names = [f"{number}.png" for number in range(8)]
    told = [f"{number}.png" for number in order]

    under_one = audit(
        write_run(folder / "c", {"record": names}), write_run(folder / "d", {"record": told})
    )
    under_two = audit(
        write_run(folder / "e", {"record": names}),
        write_run(folder / "f", {"record": order}),
        id_map=NAMES,
    )

    assert under_two.verdict == under_one.verdict
    assert under_two.differences == under_one.differences
    assert [f.rule for f in under_two.findings] == [f.rule for f in under_one.findings]
    assert under_two.first_difference == under_one.first_difference


def test_equal_headers_do_not_make_records_equal(tmp_path: Path) -> None:
    result = compare(tmp_path, [0, 1], [0, 1], {0: 1, 1: 0})

    assert result.verdict == "reordered"


def test_asked_ids_are_renamed_with_the_records(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": ["x", "y"], "asked": ["x", "y"]})
    b = write_run(tmp_path / "b", {"record": ["k", "l"], "asked": ["k", "l"]})

    assert audit(a, b, id_map={"x": "k", "y": "l"}).verdict == "identical"


def test_ranks_are_renamed_alike(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": ["0.png", "1.png"] * 2, "rank": [0, 0, 1, 1]})
    b = write_run(tmp_path / "b", {"record": [0, 1] * 2, "rank": [0, 0, 1, 1]}, seal=False)

    result = audit(a, b, id_map=NAMES)

    assert result.verdict == "identical"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "others.csv"])
def test_a_map_is_read_as_logs_are(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"ids.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.table({"b": [3, 1], "a": ["3.png", "1.png"]}), path)
    elif kind == "jsonl":
        path.write_text("\n".join(json.dumps({"b": n, "a": f"{n}.png"}) for n in (1, 3)))
    elif kind == "csv":
        path.write_text("size,b,a\n5,3,3.png\n5,1,1.png\n")
    else:
        path.write_text("old,new\n3.png,3\n1.png,1\n")

    assert compare(tmp_path, ["3.png", "1.png"], [3, 1], path).verdict == "identical"


def test_ids_that_the_map_does_not_have_keep_their_names_and_are_said(tmp_path: Path) -> None:
    result = compare(tmp_path, ["a", "b", "c"], ["k", "b", "x"], {"a": "k"})

    assert result.verdict == "changed"
    assert isinstance(result.differences, Counts)
    assert result.differences.substituted == 1
    assert result.reason is not None
    assert "2 record IDs of" in result.reason
    assert "such as 'b': read under the same name" in result.reason


def test_a_command_for_the_other_run_names_the_record_as_that_run_does(tmp_path: Path) -> None:
    a: dict[str, list[Any]] = {"record": ["x", "y"] * 4, "raw": [1, 2] * 4}
    b: dict[str, list[Any]] = {"record": ["k", "l"] * 4, "raw": [1, 9, *[1, 2] * 3]}
    runs = [write_run(tmp_path / name, rows) for name, rows in (("a", a), ("b", b))]

    result = audit(*runs, id_map={"x": "k", "y": "l"})

    assert result.findings[0].rule == "content-drift"
    assert result.findings[0].confirm == f"detloader show {runs[1]} --record l"


def test_a_map_of_more_records_than_were_read_is_fine(tmp_path: Path) -> None:
    assert compare(tmp_path, ["3.png"], [3]).reason is None


@pytest.mark.parametrize(
    ("a", "b", "id_map", "message"),
    [
        (["x"], ["k"], {"x": "l"}, "names no record of .*b, such as 'k': its columns are"),
        (["k"], ["x"], {"x": "k"}, "names no record of .*b, such as 'x'"),
        ([1], ["k", "l"], {1: "k"}, "'l' .*is not in id_map, and text cannot stand among num"),
        (["x"], ["k", "x"], {"x": "k"}, "'x' .*is not in id_map, which gives its name to another"),
        (["x"], ["k"], {"x": "k", "y": "k"}, "gives 'k' of column b two names of column a"),
        ([1], ["k"], {"x": "k"}, "column a of id_map is no column of int64"),
        (["x"], [1], {"x": "k"}, "column b of id_map is no column of int64"),
        (["x"], ["k"], {"x": None}, "has a row without a name"),
        (["x"], ["k"], {"x": "k", "y": 1}, "names of several types"),
        (["x"], ["k"], {}, "names no record"),
    ],
)
def test_a_map_that_does_not_fit_is_refused(
    tmp_path: Path, a: list[Any], b: list[Any], id_map: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        compare(tmp_path, a, b, id_map)


@pytest.mark.parametrize("text", ["a\nx\n", "a,b\nx,k\nx,l\n", "a,b\nx,\n", ""])
def test_a_file_that_is_no_map_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DetloaderError):
        compare(tmp_path, ["x"], ["k"], csv(tmp_path, text))


@pytest.mark.parametrize("name", ["ids.csv", "."])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(LogError, match=r"is no file: name the one with the names of records"):
        compare(tmp_path, ["x"], ["k"], tmp_path / name)


@pytest.mark.parametrize("name", ["ids.csv", "ids.jsonl", "ids.parquet"])
@pytest.mark.parametrize("text", ["", "\n", "\ufeff"])
def test_an_empty_file_is_said_to_lack_the_columns_of_a_map(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(LogError, match="is empty: a map of names has two columns, a and b"):
        compare(tmp_path, ["x"], ["k"], tmp_path / name)


def test_rows_that_were_not_kept_cannot_be_renamed(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, {"record": ["x"]}, level=Level.DIGEST) for name in ("a", "b")
    ]

    with pytest.raises(UsageError, match="its record IDs were not kept"):
        audit(*runs, id_map={"x": "y"})


def test_hidden_content_still_counts(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": ["x"], "content": [1]}, level=Level.ORDER)
    b = write_run(tmp_path / "b", {"record": ["k"], "content": [2]}, level=Level.ORDER)

    assert audit(a, b, id_map={"x": "k"}).verdict == "changed"


def test_the_command_line_joins_two_namings(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": ["x", "y"]})
    b = write_run(tmp_path / "b", {"record": [0, 1]})
    ids = csv(tmp_path, "a,b\nx,0\ny,1\n")

    script = Path(sys.executable).with_name("detloader")
    words = ["audit", str(a), str(b), "--id-map", str(ids)]
    done = subprocess.run([script, *words], check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("identical")
