"""What a writer takes, what it refuses, and what it leaves when it fails."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from detloader import open_run
from detloader.errors import RunError, RunExistsError, UsageError
from detloader.manifest.schema import Declared, Environment
from detloader.manifest.verify import verify_run
from detloader.manifest.writer import RankWriter
from tests.support.tables import rank_writer, write_rows

RANK = Path("main", "rank-00000")
ROWS = pa.table({"record": [1, 2]})


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("seal", [True, False])
def test_a_recorded_rank_is_never_overwritten(tmp_path: Path, seal: bool) -> None:
    writer = rank_writer(tmp_path / "run")
    writer.append(ROWS)
    if seal:
        writer.close()
    before = files(tmp_path)

    with pytest.raises(RunExistsError, match=r"choose another folder") as caught:
        rank_writer(tmp_path / "run")
    assert str(tmp_path / "run") in str(caught.value)
    assert files(tmp_path) == before
    writer.close()


def test_a_folder_that_holds_anything_is_left_as_it_is(tmp_path: Path) -> None:
    part = tmp_path / "run" / RANK / "order" / "part-000000.parquet"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"kept")
    before = files(tmp_path)

    with pytest.raises(RunExistsError, match="holds a run already"):
        rank_writer(tmp_path / "run")
    assert files(tmp_path) == before


def test_other_ranks_and_streams_go_beside_a_recorded_one(tmp_path: Path) -> None:
    run = write_rows(tmp_path / "run", ROWS)
    write_rows(run, ROWS, rank=1)
    write_rows(run, ROWS, stream="eval")

    assert {name: len(s.ranks) for name, s in verify_run(run).streams.items()} == {
        "main": 2,
        "eval": 1,
    }


def test_a_rank_of_another_run_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    run = write_rows(tmp_path / "run", ROWS)
    before = files(tmp_path)

    with pytest.raises(RunExistsError, match="holds run a-run, this is run another"):
        RankWriter(run, rank=1, declared=Declared(), environment=Environment(), run_id="another")
    assert files(tmp_path) == before


def test_a_file_in_the_way_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")

    with pytest.raises(RunError, match="cannot be written: Not a directory; choose another"):
        rank_writer(tmp_path / "run")
    assert (tmp_path / "run").read_text() == "a file"


def test_a_discarded_rank_leaves_the_disk_as_it_was(tmp_path: Path) -> None:
    run = write_rows(tmp_path / "kept", ROWS)
    (tmp_path / "empty" / RANK).mkdir(parents=True)
    before = files(tmp_path)
    for where in ("new/deep", "kept", "empty"):
        writer = rank_writer(tmp_path / where, rank=0 if where == "empty" else 7)
        writer.append(ROWS)
        writer.discard()

    assert files(tmp_path) == before
    assert verify_run(run).complete


def test_an_error_in_the_block_discards_the_rank(tmp_path: Path) -> None:
    wrong = pa.table({"record": [[1]]})
    with pytest.raises(UsageError), rank_writer(tmp_path / "run") as writer:
        writer.append(wrong)

    assert files(tmp_path) == {}


@pytest.mark.parametrize(
    "stream",
    ["", ".", "..", ".a", "a.", "a/b", "a\\b", "a b", "a*", "ü", "con", "NUL", "com1.log",
     "a" * 201, "a\n", "-a", "~"],
)  # fmt: skip
def test_a_stream_that_some_system_could_not_store_is_refused(tmp_path: Path, stream: str) -> None:
    with pytest.raises(UsageError, match="cannot name a folder"):
        rank_writer(tmp_path / "run", stream=stream)
    assert files(tmp_path) == {}


@pytest.mark.parametrize("stream", ["main", "eval-2", "a.b", "x=1", "_", "console", "COM", "com10"])
def test_other_names_of_streams_are_taken(tmp_path: Path, stream: str) -> None:
    assert list(open_run(write_rows(tmp_path / "run", ROWS, stream=stream)).streams) == [stream]


def test_a_negative_rank_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rank -1 is negative"):
        rank_writer(tmp_path / "run", rank=-1)


BAD_COLUMNS: list[dict[str, Any]] = [
    {"record": pa.array([1], pa.int32())},
    {"record": pa.array([1.0])},
    {"record": pa.array([1], pa.uint64())},
    {"record": pa.array([None], pa.null())},
    {"record": [1], "draws": [1]},
    {"record": [1], "draws_image": [1]},
    {"record": [1], "epoch": ["0"]},
    {"record": [1], "label": [[1]]},
    {"record": [1], "rank": [0]},
    {"record": [1], "position": [0]},
]


@pytest.mark.parametrize("columns", BAD_COLUMNS, ids=range(len(BAD_COLUMNS)))
def test_a_column_that_a_manifest_does_not_hold_is_refused_by_name(
    tmp_path: Path, columns: dict[str, Any]
) -> None:
    with rank_writer(tmp_path / "run") as writer:
        with pytest.raises(UsageError, match=f"column '{list(columns)[-1]}'"):
            writer.append(pa.table(columns))
        writer.append(ROWS)

    assert verify_run(tmp_path / "run").rows == 2


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["record", "record"])
    with rank_writer(tmp_path / "run") as writer, pytest.raises(UsageError, match="one name"):
        writer.append(twice)


def test_columns_may_come_in_another_order_but_not_change(tmp_path: Path) -> None:
    a, b = pa.array([1, 2]), pa.array([3, 4])
    with rank_writer(tmp_path / "run") as writer:
        writer.append(pa.table({"record": a, "epoch": b}))
        writer.append(pa.table({"epoch": b, "record": a}))
        for changed in ({"record": a}, {"record": a, "epoch": b, "batch": b}):
            with pytest.raises(UsageError, match="the columns changed"):
                writer.append(pa.table(changed))

    table = verify_run(tmp_path / "run").streams["main"].table(["record", "epoch"])
    assert table.to_pydict() == {
        "record": [1, 2, 1, 2], "epoch": [3, 4, 3, 4], "rank": [0] * 4, "position": [0, 1, 2, 3]
    }  # fmt: skip


def test_marks_of_another_library_on_a_table_are_left_out(tmp_path: Path) -> None:
    field = pa.field("record", pa.int64(), nullable=False, metadata={"a": "b"})
    marked = pa.table([pa.array([1])], schema=pa.schema([field], metadata={"c": "d"}))
    with rank_writer(tmp_path / "run") as writer:
        writer.append(ROWS)
        writer.append(marked)

    assert verify_run(tmp_path / "run").rows == 3


def test_what_cannot_be_written_as_json_is_refused_before_anything_is_made(
    tmp_path: Path,
) -> None:
    for config in ({"a": np.arange(2)}, {"a": object()}, {"a": "\udcff"}, {"\udcff": 1}):
        with pytest.raises(UsageError, match="cannot be written as JSON"):
            rank_writer(tmp_path / "run", config=config)
    assert files(tmp_path) == {}


def test_a_sealed_writer_takes_no_more_rows_and_closes_once(tmp_path: Path) -> None:
    writer = rank_writer(tmp_path / "run")
    writer.append(ROWS)
    writer.close(seeds=[3, 4], lost=5)
    before = files(tmp_path)
    writer.close()

    with pytest.raises(UsageError, match="is sealed"):
        writer.append(ROWS)
    (rank,) = open_run(tmp_path / "run").streams["main"].ranks
    assert (rank.header.seen.seeds, rank.header.seen.lost, rank.complete) == ([3, 4], 5, False)
    assert files(tmp_path) == before


def test_what_shows_itself_only_later_is_declared_at_once(tmp_path: Path) -> None:
    writer = rank_writer(tmp_path / "run", seed=7, seed_used=7)
    writer.append(ROWS)
    writer.redeclare(seed_used="7, 5")

    found = open_run(tmp_path / "run").streams["main"]
    assert (found.declared.seed, found.declared.seed_used) == (7, "7, 5")
    assert (found.rows, found.complete) == (len(ROWS), False)
    writer.close()
    assert verify_run(tmp_path / "run").streams["main"].declared.seed_used == "7, 5"


def test_a_program_may_change_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    writer = rank_writer(Path("run"))
    os.chdir("elsewhere")
    writer.append(ROWS)
    writer.close()

    assert verify_run(tmp_path / "run").rows == 2
    assert not list((tmp_path / "elsewhere").iterdir())


def test_another_thread_may_close_a_run(tmp_path: Path) -> None:
    writer = rank_writer(tmp_path / "run")
    writer.append(ROWS)
    thread = threading.Thread(target=writer.close)
    thread.start()
    thread.join()

    assert verify_run(tmp_path / "run").complete


def test_epochs_are_counted(tmp_path: Path) -> None:
    rows = pa.table({"record": [1, 2, 3], "epoch": [4, 6, 4]})

    def epochs(name: str, table: pa.Table) -> int:
        run = open_run(write_rows(tmp_path / name, table))
        return run.streams["main"].ranks[0].header.seen.epochs

    assert epochs("two", rows) == 2
    assert epochs("one", rows.select(["record"])) == 1
    assert epochs("none", rows.slice(3)) == 0


def test_a_run_declared_as_a_part_is_not_complete(tmp_path: Path) -> None:
    run = write_rows(tmp_path / "run", ROWS)
    write_rows(run, ROWS, rank=1, complete=False)

    assert not open_run(run).complete
    assert open_run(run).fingerprint is not None
