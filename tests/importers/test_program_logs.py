"""Logs that other programs write of their own accord."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detloader.audits import audit
from detloader.errors import DamageError, LogError
from detloader.findings import Verdict
from detloader.importers import import_log
from detloader.manifest.reader import open_run
from detloader.manifest.verify import verify_run


def rows(run: Path, *columns: str, stream: str = "main") -> list[tuple[Any, ...]]:
    table = open_run(run).streams[stream].table()
    return list(zip(*(table[name].to_pylist() for name in columns), strict=True))


def write_olmo(folder: Path, ranks: dict[int, list[list[int]]]) -> Path:
    """Write as OLMo does: a line a step, the step and the indices of its batch."""
    folder.mkdir()
    for rank, batches in ranks.items():
        with gzip.open(folder / f"rank{rank}.tsv.gz", "wt") as file:
            for step, batch in enumerate(batches, start=1):
                file.write("\t".join(map(str, [step, *batch])) + "\n")
    return folder


def write_energon(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def yielded(rank: int, worker: int, number: int, keys: list[str], loader: int = 5) -> Any:
    """Make the line of a training process's loader, with the fields of Energon 7."""
    return {
        "t": "SavableDataLoader.yield",
        "r": rank,
        "w": None,
        "id": loader,
        "iter_id": 0,
        "worker_id": worker,
        "worker_idx": number // 2,
        "idx": number,
        "iter_idx": number,
        "global_idx": number,
        "keys": keys,
    }


def batch_of_worker(rank: int, worker: int, number: int, keys: list[str], mode: str) -> Any:
    return {"t": "yield_batch", "r": rank, "w": worker, "m": mode, "idx": number, "keys": keys}


def test_a_folder_of_olmo_is_a_run_of_all_its_ranks(tmp_path: Path) -> None:
    log = write_olmo(
        tmp_path / "data-indices", {0: [[7, 3], [1]], 1: [[4, 0]], 10: [[9]]}
    )  # fmt: skip
    import_log(log, tmp_path / "run")
    stream = open_run(tmp_path / "run").streams["main"]

    assert [rank.header.rank for rank in stream.ranks] == [0, 1, 10]
    assert rows(tmp_path / "run", "rank", "batch", "record") == [
        (0, 1, 7), (0, 1, 3), (1, 1, 4), (1, 1, 0), (10, 1, 9), (0, 2, 1)
    ]  # fmt: skip


def test_one_file_of_olmo_is_one_rank(tmp_path: Path) -> None:
    log = write_olmo(tmp_path / "data-indices", {3: [[7, 3]]})
    import_log(log / "rank3.tsv.gz", tmp_path / "run")

    assert rows(tmp_path / "run", "rank", "record") == [(3, 7), (3, 3)]


def test_whole_lines_of_a_cut_off_file_of_olmo_count(tmp_path: Path) -> None:
    log = write_olmo(tmp_path / "data-indices", {0: [[step, step + 1] for step in range(9999)]})
    file = log / "rank0.tsv.gz"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    (told,) = import_log(log, tmp_path / "run")
    found = rows(tmp_path / "run", "batch", "record")

    assert told == f"{file} is cut off after line {len(found) // 2}"
    assert not open_run(tmp_path / "run").complete
    assert 0 < len(found) < 2 * 9999
    assert found == [(s + 1, r) for s in range(9999) for r in (s, s + 1)][: len(found)]


def test_a_number_that_was_cut_in_two_is_no_record(tmp_path: Path) -> None:
    log = tmp_path / "rank0.tsv"
    log.write_text("1\t5\t6\n2\t7\t123")
    (told,) = import_log(log, tmp_path / "run")

    assert told == f"{log} is cut off after line 1"
    assert rows(tmp_path / "run", "record") == [(5,), (6,)]
    assert not open_run(tmp_path / "run").complete


def test_a_rank_that_was_killed_before_it_wrote_is_missing(tmp_path: Path) -> None:
    log = write_olmo(tmp_path / "data-indices", {0: [[7, 3]]})
    (log / "rank1.tsv.gz").touch()
    (told,) = import_log(log, tmp_path / "run")

    assert told == f"{log / 'rank1.tsv.gz'} is cut off after line 0"
    assert not open_run(tmp_path / "run").complete
    with pytest.raises(DamageError, match="lacks 1 of the ranks"):
        verify_run(tmp_path / "run")


def test_a_rank_between_others_whose_log_is_not_there_is_missing(tmp_path: Path) -> None:
    import_log(write_olmo(tmp_path / "data-indices", {0: [[7]], 2: [[3]]}), tmp_path / "olmo")
    (tmp_path / "log.csv").write_text("record,rank\n7,0\n3,2\n")
    import_log(tmp_path / "log.csv", tmp_path / "csv")

    for run in ("olmo", "csv"):
        with pytest.raises(DamageError, match="lacks 1 of the ranks"):
            verify_run(tmp_path / run)


@pytest.mark.parametrize(
    ("place", "byte"),
    [(0, 0), (10, 0b111), (-8, 0)],
    ids=["magic", "kind of block", "checksum"],
)
def test_damaged_bytes_of_olmo_are_refused_in_one_line(
    tmp_path: Path, place: int, byte: int
) -> None:
    file = tmp_path / "rank0.tsv.gz"
    lines = "".join(f"{step}\t{step}\n" for step in range(999))
    damaged = bytearray(gzip.compress(lines.encode()))
    damaged[place] = byte
    file.write_bytes(damaged)

    with pytest.raises(LogError, match=r"^\S*rank0\.tsv\.gz: its compressed bytes .*$"):
        import_log(file, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "line",
    [
        "step\t1\n",
        "1\tx\n",
        "1 2 3\n",
        "\n",
        "1\t2.5\n",
        f"1\t{2**63}\n",
        "1\t\0\n",
        "1\tä\n",
        "1_110\t111\n",
        "1\t 2\n",
        "1\t+2\n",
        "1\t٣\n",
    ],
)
def test_a_line_that_olmo_never_wrote_is_named(tmp_path: Path, line: str) -> None:
    log = tmp_path / "rank0.tsv"
    log.write_text("1\t5\n" + line)
    with pytest.raises(LogError, match=r"rank0\.tsv: line 2: .* is not a step"):
        import_log(log, tmp_path / "run")

    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("other", ["rank0.tsv", "rank00.tsv.gz"])
def test_two_files_of_one_rank_are_refused_by_name(tmp_path: Path, other: str) -> None:
    log = write_olmo(tmp_path / "data-indices", {0: [[7]], 1: [[3]]})
    (log / other).write_text("1\t5\n")
    with pytest.raises(
        LogError, match=r"^\S*rank0\S* and \S*rank0\S* are of one rank: .*$"
    ) as told:
        import_log(log, tmp_path / "run")

    assert "rank0.tsv.gz" in str(told.value)
    assert other in str(told.value)


def test_compressed_bytes_of_olmo_are_read_whatever_the_file_is_called(tmp_path: Path) -> None:
    log = write_olmo(tmp_path / "data-indices", {0: [[7]], 1: [[3, 4]]})
    (log / "rank1.tsv.gz").rename(log / "rank1.tsv")
    import_log(log, tmp_path / "run")

    assert rows(tmp_path / "run", "rank", "record") == [(0, 7), (1, 3), (1, 4)]


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_file_of_olmo_that_cannot_be_read_is_named(tmp_path: Path, is_folder: bool) -> None:
    log = write_olmo(tmp_path / "data-indices", {0: [[7]]})
    file = log / "rank1.tsv.gz"
    if is_folder:
        file.mkdir()
    else:
        file.symlink_to(tmp_path / "gone")
    with pytest.raises(LogError, match=r"rank1\.tsv\.gz cannot be read: \w+"):
        import_log(log, tmp_path / "run")


@pytest.mark.parametrize("number", ["9" * 23, str(2**63 - 1)])
def test_a_file_of_olmo_with_a_number_that_no_rank_has_is_refused(
    tmp_path: Path, number: str
) -> None:
    log = tmp_path / f"rank{number}.tsv"
    log.write_text("1\t5\n")
    with pytest.raises(LogError, match=rf"rank{number}\.tsv has a number that no rank has"):
        import_log(log, tmp_path / "run")


def test_a_rank_of_energon_that_no_rank_can_have_is_refused(tmp_path: Path) -> None:
    log = write_energon(tmp_path / "debug.jsonl", [yielded(10**23, 0, 0, ["a"])])
    with pytest.raises(LogError, match="line 1 is no line of Energon"):
        import_log(log, tmp_path / "run")


def test_what_the_loaders_of_energon_yielded_is_the_order(tmp_path: Path) -> None:
    first = [yielded(0, n % 2, n, [f"shard/{n}", f"shard/{n + 10}"]) for n in range(3)]
    again = [yielded(0, 0, 0, ["shard/9"]), yielded(0, 1, 1, ["shard/8"])]
    worker = [batch_of_worker(0, 0, 0, ["shard/0", "shard/10"], "train")]
    folder = tmp_path / "debug"
    write_energon(folder / "0.jsonl", first + again)
    write_energon(folder / "1.jsonl", worker)
    import_log(folder, tmp_path / "run")

    assert rows(tmp_path / "run", "epoch", "batch", "worker", "record") == [
        (0, 0, 0, "shard/0"), (0, 0, 0, "shard/10"),
        (0, 1, 1, "shard/1"), (0, 1, 1, "shard/11"),
        (0, 2, 0, "shard/2"), (0, 2, 0, "shard/12"),
        (1, 0, 0, "shard/9"), (1, 1, 1, "shard/8"),
    ]  # fmt: skip


def test_a_line_of_energon_that_was_cut_off_is_told(tmp_path: Path) -> None:
    lines = [yielded(0, 0, number, [f"ä{number}"]) for number in range(3)]
    log = write_energon(tmp_path / "debug.jsonl", lines)
    log.write_bytes(log.read_bytes()[:-20])
    (told,) = import_log(log, tmp_path / "run")

    assert told == f"{log} is cut off after line 2"
    assert rows(tmp_path / "run", "record") == [("ä0",), ("ä1",)]
    assert not open_run(tmp_path / "run").complete


@pytest.mark.parametrize(
    "other",
    [
        {"r": 2**63},
        {"iter_idx": "1"},
        {"iter_idx": None},
        {"worker_id": 2**70},
        {"id": [1]},
        {"keys": "ab"},
        {"keys": ["\ud800"]},
    ],
)
def test_a_line_that_energon_never_wrote_is_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    lines = [yielded(0, 0, 0, ["a"]), yielded(0, 0, 1, ["b"]) | other]
    with pytest.raises(LogError, match=r"^\S*debug\.jsonl: "):
        import_log(write_energon(tmp_path / "debug.jsonl", lines), tmp_path / "run")


def test_bytes_that_are_no_text_are_no_line_of_energon(tmp_path: Path) -> None:
    log = write_energon(tmp_path / "debug.jsonl", [yielded(0, 0, 0, ["a"])])
    log.write_bytes(log.read_bytes() * 2 + b'{"t": "\xff"}\n')
    with pytest.raises(LogError, match=r"debug\.jsonl: line 3 is no line of Energon"):
        import_log(log, tmp_path / "run")


def test_each_loader_of_energon_is_a_stream(tmp_path: Path) -> None:
    log = write_energon(
        tmp_path / "debug.jsonl",
        [yielded(0, 0, 0, ["a"], loader=2), yielded(0, 0, 0, ["v"], loader=7)],
    )
    import_log(log, tmp_path / "run")

    assert rows(tmp_path / "run", "record") == [("a",)]
    assert rows(tmp_path / "run", "record", stream="loader-1") == [("v",)]


def test_workers_of_energon_take_turns_where_nothing_else_was_logged(tmp_path: Path) -> None:
    for worker in (1, 0):
        write_energon(
            tmp_path / "debug" / f"{worker + 1}.jsonl",
            [
                batch_of_worker(0, worker, number, [f"{worker}-{number}"], mode)
                for mode in ("train", "val")
                for number in range(2)
            ],
        )
    import_log(tmp_path / "debug", tmp_path / "run")

    expected = [(0, "0-0"), (1, "1-0"), (0, "0-1"), (1, "1-1")]
    assert rows(tmp_path / "run", "worker", "record") == expected
    assert rows(tmp_path / "run", "worker", "record", stream="val") == expected


def test_lines_of_energon_without_keys_are_refused_with_the_mend(tmp_path: Path) -> None:
    line = {name: value for name, value in yielded(0, 0, 0, []).items() if name != "keys"}
    log = write_energon(tmp_path / "debug.jsonl", [line])
    with pytest.raises(LogError, match="worker_log_level=1"):
        import_log(log, tmp_path / "run")


def test_other_json_lines_are_not_taken_for_those_of_energon(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"record": 1, "t": 5}\n')
    import_log(log, tmp_path / "run")

    assert rows(tmp_path / "run", "record", "t") == [(1, 5)]


@pytest.mark.parametrize("dtype", ["<u4", ">i8", "<i8", "u2"])
def test_an_index_of_megatron_is_the_order(tmp_path: Path, dtype: str) -> None:
    log = tmp_path / "corpus_train_indexmap_10ns_shuffle_idx.npy"
    np.save(log, np.array([3, 0, 2, 1], dtype))
    import_log(log, tmp_path / "run")

    assert rows(tmp_path / "run", "record") == [(3,), (0,), (2,), (1,)]


def test_global_indices_of_olmo_have_no_header(tmp_path: Path) -> None:
    np.array([5, 1, 4], np.uint32).tofile(tmp_path / "global_indices.npy")
    import_log(tmp_path / "global_indices.npy", tmp_path / "run")

    assert rows(tmp_path / "run", "record") == [(5,), (1,), (4,)]


def test_global_indices_that_end_within_a_number_are_cut_off(tmp_path: Path) -> None:
    log = tmp_path / "global_indices.npy"
    log.write_bytes(np.array([5, 1, 4], np.uint32).tobytes()[:-1])
    (told,) = import_log(log, tmp_path / "run")

    assert told == f"{log} is cut off after number 2"
    assert not open_run(tmp_path / "run").complete


def test_an_archive_of_arrays_is_no_order(tmp_path: Path) -> None:
    np.savez(tmp_path / "orders.npz", np.arange(5))
    log = (tmp_path / "orders.npz").rename(tmp_path / "order.npy")
    with pytest.raises(LogError, match=r"order\.npy is no array"):
        import_log(log, tmp_path / "run")


@pytest.mark.parametrize(
    "array", [np.zeros((3, 2), np.int64), np.zeros(3), np.array([{"a": 1}]), np.int64(3)]
)
def test_an_array_that_is_no_order_is_refused(tmp_path: Path, array: Any) -> None:
    np.save(tmp_path / "sample_idx.npy", array, allow_pickle=True)
    with pytest.raises(LogError, match=r"sample_idx\.npy"):
        import_log(tmp_path / "sample_idx.npy", tmp_path / "run")


def test_a_column_of_streams_makes_streams(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("stream,record\ntrain,1\nval,7\ntrain,2\n")
    import_log(tmp_path / "log.csv", tmp_path / "run")

    assert rows(tmp_path / "run", "record", stream="train") == [(1,), (2,)]
    assert rows(tmp_path / "run", "record", stream="val") == [(7,)]


def test_the_ranks_of_olmo_are_found_equal_to_the_same_log_in_csv(tmp_path: Path) -> None:
    write_olmo(tmp_path / "data-indices", {0: [[7, 3]], 1: [[4, 0]]})
    (tmp_path / "log.csv").write_text("record,batch,rank\n7,1,0\n3,1,0\n4,1,1\n0,1,1\n")
    import_log(tmp_path / "data-indices", tmp_path / "a")
    import_log(tmp_path / "log.csv", tmp_path / "b")

    assert audit(tmp_path / "a", tmp_path / "b").verdict is Verdict.IDENTICAL


def test_a_folder_of_nothing_known_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(LogError, match="folder of no known logs"):
        import_log(tmp_path / "logs", tmp_path / "run")
