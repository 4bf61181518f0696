from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.errors import LogError
from detloader.importers import formats, import_log
from detloader.manifest.reader import open_run
from detloader.manifest.verify import verify_run

int64 = st.integers(-(2**63), 2**63 - 1)
uint64 = st.integers(0, 2**64 - 1)
words = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1)
rows = st.lists(
    st.tuples(int64, st.integers(0, 9), st.none() | uint64, st.none() | uint64), min_size=1
)


def imported(log: Path, **options: Any) -> pa.Table:
    with tempfile.TemporaryDirectory() as folder:
        import_log(log, f"{folder}/run", **options)
        return verify_run(f"{folder}/run").streams["main"].table()


def import_text(name: str, text: str, **options: Any) -> pa.Table:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, name)
        log.write_text(text, encoding="utf-8")
        return imported(log, **options)


def write_log(path: Path, columns: dict[str, list[Any]]) -> None:
    """Write the same rows in the format that the ending names."""
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    if path.suffix == ".parquet":
        types = {"draws": pa.uint64(), "content": pa.uint64()}
        arrays = {name: pa.array(values, types.get(name)) for name, values in columns.items()}
        pq.write_table(pa.table(arrays), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@given(rows=rows)
def test_integers_and_digests_arrive_exactly_from_every_format(
    ending: str, rows: list[tuple[int, int, int | None, int | None]]
) -> None:
    record, epoch, draws, content = (list(column) for column in zip(*rows, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, f"log{ending}")
        columns = {"record": record, "epoch": epoch, "draws": draws, "content": content}
        write_log(log, columns)

        table = imported(log)

    assert table.select(list(columns)).to_pydict() == columns
    assert table.schema.field("record").type == pa.int64()


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@given(record=st.lists(words, min_size=1))
def test_text_ids_arrive_as_they_are(ending: str, record: list[str]) -> None:
    record = [*record, "not a number"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, f"log{ending}")
        write_log(log, {"record": record})

        assert imported(log)["record"].to_pylist() == record


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_the_format_of_a_log_does_not_change_its_fingerprint(ending: str, tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "record": [3, 1, 2],
        "epoch": [0, 0, 1],
        "draws": [2**64 - 1, None, 2**53 + 1],
    }
    write_log(tmp_path / "log.csv", columns)
    write_log(tmp_path / f"log{ending}", columns)

    import_log(tmp_path / "log.csv", tmp_path / "csv")
    import_log(tmp_path / f"log{ending}", tmp_path / "run")

    assert open_run(tmp_path / "run").fingerprint == open_run(tmp_path / "csv").fingerprint


def test_text_in_json_stays_text_even_where_it_looks_like_a_number() -> None:
    table = import_text("log.jsonl", '{"record": "1"}\n{"record": "2"}\n')

    assert table["record"].to_pylist() == ["1", "2"]


def test_a_key_that_a_json_line_leaves_out_is_empty() -> None:
    table = import_text("log.jsonl", '{"record": 1, "worker": 0}\n{"record": 2}\n')

    assert table["worker"].to_pylist() == [0, None]


def test_a_byte_order_mark_is_no_part_of_a_name() -> None:
    for name, text in (("log.csv", "\ufeffrecord\n1\n"), ("log.jsonl", '\ufeff{"record": 1}\n')):
        assert import_text(name, text)["record"].to_pylist() == [1]


def test_folders_of_a_parquet_file_add_no_column(tmp_path: Path) -> None:
    log = tmp_path / "split=train" / "log.parquet"
    log.parent.mkdir()
    write_log(log, {"record": [1]})

    assert "split" not in imported(log).column_names


def test_categories_of_a_parquet_file_are_the_text_that_they_stand_for(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    pq.write_table(pa.table({"record": pa.array(["b", "a", "b"]).dictionary_encode()}), log)

    assert imported(log)["record"].to_pylist() == ["b", "a", "b"]


def test_endings_name_the_formats() -> None:
    endings = {end for known in formats() if not known.recognises for end in known.suffixes}

    assert endings == {".csv", ".jsonl", ".ndjson", ".npy", ".parquet", ".pq"}


BAD = {
    "empty csv": ("log.csv", "", "is empty"),
    "csv of a blank line": ("log.csv", "\n", "is empty"),
    "ragged csv": ("log.csv", "record,epoch\n1,0\n2\n", "row 3 has 1 fields"),
    "csv with a field too many": ("log.csv", "record\n1\n2,3\n", "row 3 has 2 fields"),
    "csv of names without a line end": ("log.csv", "record", "no line end"),
    "empty json lines": ("log.jsonl", "\n", "is empty"),
    "blank json line": ("log.jsonl", '{"record": 1}\n\n{"record": 2}\n', "line 2 is blank"),
    "torn json line": ("log.jsonl", '{"record": 1}\n{"record"', "line 2 is no JSON"),
    "json line of a list": ("log.jsonl", "[1]\n", "line 1 is no object"),
    "json value of a list": ("log.jsonl", '{"record": [1]}\n', "record is not one value"),
    "json key twice": ("log.jsonl", '{"record": 1, "record": 2}\n', "twice"),
    "json nan": ("log.jsonl", '{"record": 1, "epoch": NaN}\n', "NaN"),
    "half a surrogate pair": ("log.jsonl", '{"record": "\\ud800"}\n', "surrogate"),
    "no parquet": ("log.parquet", "record\n1\n", "is no Parquet"),
    "unknown ending": ("log.txt", "record\n1\n", "no known format"),
}


@pytest.mark.parametrize(("name", "text", "reason"), BAD.values(), ids=BAD)
def test_a_file_that_cannot_be_read_is_one_line_that_names_the_place(
    name: str, text: str, reason: str
) -> None:
    with pytest.raises(LogError) as caught:
        import_text(name, text)

    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"record\n\xff\n", b"rec\xffrd\n1\n"])
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_what_is_not_utf8_is_refused(ending: str, content: bytes, tmp_path: Path) -> None:
    log = tmp_path / f"log{ending}"
    log.write_bytes(content)

    with pytest.raises(LogError, match=r"no JSON|not UTF-8"):
        imported(log)


def test_a_missing_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="is no file"):
        import_log(tmp_path / "log.csv", tmp_path / "run")


def test_a_parquet_column_of_lists_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"record": [1], "labels": [[1, 2]]}), tmp_path / "log.parquet")

    with pytest.raises(LogError, match="column labels is of type list"):
        imported(tmp_path / "log.parquet")


@pytest.mark.parametrize("name", [" batch", "batch ", "\tbatch", "\u00a0batch"])
def test_a_column_name_with_blanks_around_it_is_named_with_its_mend(name: str) -> None:
    with pytest.raises(LogError, match="begins or ends with white space") as caught:
        import_text("log.csv", f"record,{name}\n1,2\n")

    assert f"column {name!r}" in str(caught.value)
    assert f"--column batch={name!r}" in str(caught.value)


def test_a_column_name_with_blanks_can_be_given_another_name() -> None:
    table = import_text("log.csv", "record, batch\n1,2\n", columns={"batch": " batch"})

    assert table["batch"].to_pylist() == [2]
