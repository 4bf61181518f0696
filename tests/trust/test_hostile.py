"""A run from a stranger costs one line, whatever it holds: no time, no memory, no code of its."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import audit, check, open_run
from detloader.errors import DamageError, DetloaderError, UsageError
from detloader.manifest.schema import BLOCK_ROWS, Declared, Level
from detloader.manifest.verify import verify_run
from detloader.manifest.writer import PART_ROWS
from tests.support.damage import change_header, flipped_bits, refit, resign
from tests.support.tables import rank_writer, write_rows

ROOT = Path(__file__).parents[2]
RANK = Path("main", "rank-00000")
HEADER = RANK / "manifest.json"
PART = RANK / "order" / "part-000000.parquet"
HUGE = 2**53 - 1
ROWS = pa.table({"record": ["a", "b"], "draws": pa.array([1, None], pa.uint64())})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "run", ROWS, seed=3, config={"a": [1, {"b": None}]})


def refused(run: Path) -> str:
    """Read a run in each way; return the one line that the first complaint is."""
    with pytest.raises(DetloaderError) as caught:
        verify_run(run)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 2000
    return message


def said(ask: Callable[[Path], object], run: Path) -> str:
    """Return what is complained of, if anything; an error that is not ours fails the test."""
    try:
        ask(run)
    except DetloaderError as error:
        return str(error)
    return ""


# Headers that a stranger wrote, whose own digest is right.

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-HUGE, HUGE)
    | st.floats(-1e9, 1e9)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    run = write_rows(
        tmp_path_factory.mktemp("stranger") / "run", ROWS, seed=3, config={"a": [1, {"b": None}]}
    )
    return run, json.loads((run / HEADER).read_bytes())


def places(value: Any) -> list[tuple[Any, ...]]:
    """Return the way to each value of a header."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found: list[tuple[Any, ...]] = []
    for key, each in inner:
        found += [(key,)]
        if isinstance(each, dict | list):
            found += [(key, *rest) for rest in places(each)]
    return found


@settings(max_examples=150)
@given(data=st.data())
def test_a_header_with_any_value_anywhere_is_read_or_refused(
    stranger: tuple[Path, dict[str, Any]], data: st.DataObject
) -> None:
    run, header = stranger
    changed = json.loads(json.dumps(header))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(places(changed)))
        holder = changed
        for key in way:
            holder = holder[key]
        holder[last] = data.draw(JSON)
    resign(run / HEADER, changed)

    for ask in (check, verify_run, lambda path: audit(path, path)):
        assert "\n" not in said(ask, run)


@settings(max_examples=100)
@given(data=st.binary(max_size=64) | JSON.map(lambda value: json.dumps(value).encode()))
def test_a_header_of_any_bytes_is_refused(
    stranger: tuple[Path, dict[str, Any]], data: bytes
) -> None:
    run, _ = stranger
    (run / HEADER).write_bytes(data)

    assert "manifest.json" in refused(run)


DEEP = 100_000
HEADERS: dict[str, bytes] = {
    "lists in lists": b"[" * DEEP + b"]" * DEEP,
    "objects in objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "lists in an object": b'{"config":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "a number of a million digits": b'{"schema_version":' + b"9" * 10**6 + b"}",
    "a version of a million digits": b'{"schema_version":1' + b"0" * 10**6 + b"}",
    "no UTF-8": b'{"run_id":"\xff"}',
    "half a surrogate": rb'{"run_id":"\ud800"}',
    "the same name twice": b'{"rank":0,"rank":1}',
    "nothing": b"",
    "a null": b"null",
    "another version": b'{"schema_version":2}',
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_strange_header_is_one_line(run: Path, name: str) -> None:
    (run / HEADER).write_bytes(HEADERS[name])

    assert "manifest.json" in refused(run)


@pytest.mark.parametrize("deep", [50, 5000])
def test_a_deep_configuration_is_read_or_refused(run: Path, deep: int) -> None:
    header = json.loads((run / HEADER).read_bytes())
    nested: Any = 1
    for _ in range(deep):
        nested = [nested]
    header["declared"]["config"] = {"a": nested}
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(50_000)
        resign(run / HEADER, header)
    finally:
        sys.setrecursionlimit(limit)

    if deep == 50:
        assert verify_run(run).complete
    else:
        assert "manifest.json" in refused(run)


# Counts that nothing could have counted.

COUNTS = [
    name
    for name in Declared.__struct_fields__
    if name in {"source_size", "num_samples", "batch_size", "num_epochs", "workers", "threads",
                "world_size", "seed"}
]  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("count", [HUGE, 2**63 - 1])
def test_a_huge_declaration_costs_nothing(tmp_path: Path, name: str, count: int) -> None:
    rows = pa.table({"record": [0, 1, 2, 3], "epoch": [0, 0, 1, 1], "batch": [0, 1, 0, 1]})
    other = pa.table({"record": [3, 1, 2, 0], "epoch": [0, 0, 1, 1], "batch": [0, 1, 0, 1]})
    declared: dict[str, Any] = {"shuffle": True, name: count}
    a = write_rows(tmp_path / "a", rows, **declared)
    b = write_rows(tmp_path / "b", other, shuffle=True, workers=4, num_samples=4)

    assert check(a).runs[0].rows == 4
    assert audit(b, a).runs[1].rows == 4


@pytest.mark.parametrize("count", [HUGE, 2**63 - 1])
def test_a_huge_count_of_ranks_is_a_run_that_lacks_ranks(tmp_path: Path, count: int) -> None:
    run = write_rows(tmp_path / "run", ROWS, ranks=count)

    assert not open_run(run).complete
    assert f"lacks {count - 1} of the ranks" in refused(run)
    assert check(run).runs[0].rows == 2


def test_huge_counts_of_rows_are_refused(run: Path) -> None:
    header = json.loads((run / HEADER).read_bytes())
    header["seen"]["rows"] = HUGE
    header["files"][0]["rows"] = HUGE
    resign(run / HEADER, header)

    assert "do not add up" in refused(run)


def test_parts_of_a_run_that_kept_no_rows_are_refused(run: Path) -> None:
    change_header(run / HEADER, level=Level.DIGEST)

    assert "it has parts, though it kept no rows" in refused(run)


# Ways out of the folder.


def link_header(run: Path) -> None:
    (run / HEADER).rename(run.parent / "elsewhere.json")
    (run / HEADER).symlink_to(run.parent / "elsewhere.json")


def link_part(run: Path) -> None:
    (run / PART).rename(run.parent / "elsewhere.parquet")
    (run / PART).symlink_to(run.parent / "elsewhere.parquet")


def link_folder(name: Path) -> Callable[[Path], None]:
    def link(run: Path) -> None:
        (run / name).rename(run.parent / "elsewhere")
        (run / name).symlink_to(run.parent / "elsewhere")

    return link


def pipe(name: Path) -> Callable[[Path], None]:
    def make(run: Path) -> None:
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)

    return make


def endless(run: Path) -> None:
    (run / HEADER).unlink()
    (run / HEADER).symlink_to("/dev/zero")


def sparse(name: Path) -> Callable[[Path], None]:
    def grow(run: Path) -> None:
        os.truncate(run / name, 2**40)
        if name == PART:
            header = json.loads((run / HEADER).read_bytes())
            header["files"][0]["size"] = 2**40
            resign(run / HEADER, header)

    return grow


WAYS_OUT: dict[str, tuple[Callable[[Path], None], str]] = {
    "a header that is a link": (link_header, "it is a link"),
    "a part that is a link": (link_part, "it is a link"),
    "an order that is a link": (link_folder(RANK / "order"), "it is a link"),
    "a rank that is a link": (link_folder(RANK), "it is a link"),
    "a stream that is a link": (link_folder(Path("main")), "it is a link"),
    "a header without an end": (endless, "it is a link"),
    "a header that is a pipe": (pipe(HEADER), "a link or a device"),
    "a part that is a pipe": (pipe(PART), "a link or a device"),
    "a further pipe": (pipe(RANK / "more"), "a link or a device"),
    "a header of a terabyte": (sparse(HEADER), "more than any run's"),
    "a part of a terabyte": (sparse(PART), "more than any run's"),
}


@pytest.mark.parametrize("name", WAYS_OUT)
def test_nothing_is_read_but_files_of_the_run(run: Path, name: str) -> None:
    change, message = WAYS_OUT[name]
    change(run)

    assert message in refused(run)


# Parts that unpack to more than anybody has.


def written(rows: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    chosen: dict[str, Any] = {"row_group_size": BLOCK_ROWS, "compression": "zstd"}
    pq.write_table(rows, sink, store_schema=False, **(chosen | options))
    return sink.getvalue().to_pybytes()


def repeated(text: str, rows: int) -> pa.Table:
    """Say the same text in each row, which a dictionary has once."""
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    return pa.table({"record": dictionary})


def claiming(size: int, claim: int) -> bytes:
    """Let the page of one long text say that it unpacks to more."""
    data = written(pa.table({"record": ["a" * size]}), use_dictionary=False, write_statistics=False)
    # The length of the text stands before it, and before that whether it is null.
    place = max(data.find(natural(2 * (size + more))) for more in range(4, 16))
    assert place > 0
    return data[:place] + natural(2 * claim) + data[place + 5 :]


def natural(number: int) -> bytes:
    """Write a whole number in five bytes, as Thrift does."""
    pieces = [number >> shift & 127 for shift in range(0, 35, 7)]
    return bytes([*(piece | 128 for piece in pieces[:4]), pieces[4]])


BOMBS: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "a dictionary": (
        lambda: written(repeated("a" * 2**20, BLOCK_ROWS)),
        BLOCK_ROWS,
        "would unpack to more",
    ),
    "a page": (lambda: claiming(2**27, 2**31 - 1), 1, "would unpack to more"),
    "text that repeats its beginning": (
        lambda: written(
            pa.table({"record": ["a" * 1000] * 1000}),
            use_dictionary=False,
            column_encoding={"record": "DELTA_BYTE_ARRAY"},
        ),
        1000,
        "its text has encodings",
    ),
    "rows in one group": (
        lambda: written(pa.table({"record": [0] * PART_ROWS}), row_group_size=PART_ROWS),
        PART_ROWS,
        "are not the blocks of",
    ),
    "lists": (lambda: written(pa.table({"record": [[0] * 10**5]})), 1, "is list<"),
    "columns": (
        lambda: written(pa.table({f"c{number}": [0] for number in range(1500)})),
        1,
        "has 1,500 columns",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_not_unpacked(tmp_path: Path, name: str) -> None:
    make, rows, message = BOMBS[name]
    run = write_rows(tmp_path / "run", pa.table({"record": ["a"] * rows}))
    refit(run / HEADER, make(), rows)

    assert message in refused(run)
    with pytest.raises(DamageError, match=message):
        open_run(run).streams["main"].table()


def test_a_part_with_any_bit_flipped_and_listed_as_it_is_costs_one_line(run: Path) -> None:
    kept = json.loads((run / HEADER).read_bytes())
    for _ in flipped_bits(run / PART, step=11):
        refit(run / HEADER, (run / PART).read_bytes(), len(ROWS))
        assert "\n" not in said(lambda path: open_run(path).streams["main"].table(), run)
        assert "\n" not in said(verify_run, run)
    resign(run / HEADER, kept)

    assert verify_run(run).complete


def test_more_rows_than_a_part_has_are_refused(tmp_path: Path) -> None:
    rows = PART_ROWS + BLOCK_ROWS
    run = write_rows(tmp_path / "run", pa.table({"record": [0] * rows}))
    header = json.loads((run / HEADER).read_bytes())
    first, second = header["files"]
    resign(run / HEADER, header | {"files": [first | {"rows": rows}, second | {"rows": 0}]})

    assert "more than 262144 rows" in refused(run)


def test_a_recorder_writes_no_part_that_no_reader_takes(tmp_path: Path) -> None:
    text = pa.array(["a" * 2**20] * 64)
    rows = pa.table({"record": pa.chunked_array([text] * 17)})
    with rank_writer(tmp_path / "run") as writer, pytest.raises(UsageError, match="bytes at most"):
        writer.append(rows)

    assert open_run(tmp_path / "run").rows == 0


@pytest.mark.parametrize("compressed", [False, True])
def test_a_journal_that_is_compressed_is_not_unpacked(tmp_path: Path, compressed: bool) -> None:
    writer = rank_writer(tmp_path / "run")
    writer.append(pa.table({"record": [1]}))
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    writer.discard()
    schema = pa.schema([("record", pa.int64())], metadata={"first_row": "0"})
    options = pa.ipc.IpcWriteOptions(compression="zstd" if compressed else None)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema, options=options) as stream:
        stream.write_batch(pa.record_batch({"record": [0] * 10**5}, schema=schema))
    (tmp_path / "copy" / RANK / "journal.arrows").write_bytes(sink.getvalue())

    assert open_run(tmp_path / "copy").rows == (0 if compressed else 10**5)


# What happens meanwhile, seen from outside.


def test_reading_a_hostile_run_takes_little_time_and_memory_and_runs_none_of_its_code(
    tmp_path: Path,
) -> None:
    folders = []
    for name, (make, rows, _) in BOMBS.items():
        run = write_rows(tmp_path / name, pa.table({"record": ["a"] * rows}))
        refit(run / HEADER, make(), rows)
        folders.append(run)
    for name, (change, _) in WAYS_OUT.items():
        (tmp_path / name).mkdir()
        change(write_rows(tmp_path / name / "run", ROWS))
        folders.append(tmp_path / name / "run")
    for name, header in HEADERS.items():
        run = write_rows(tmp_path / name, ROWS)
        (run / HEADER).write_bytes(header)
        folders.append(run)
    sound = write_rows(tmp_path / "sound", ROWS)
    command = [sys.executable, "-m", "tests.support.reading", *map(str, [sound, *folders])]

    answers = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)

    first, *told = [json.loads(line) for line in answers.stdout.splitlines()]
    assert first["outcome"] == "read, read, read"
    assert [answer["run"] for answer in told] == [*map(str, folders)]
    for answer in told:
        assert "Error" in answer["outcome"], answer
        assert answer["processor_seconds"] < 10
        assert answer["most_megabytes"] < 1500
        assert answer["events"] == []
