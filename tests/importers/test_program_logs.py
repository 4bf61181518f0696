"""Logs that other programs write of their own accord."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detloader.errors import LogError, UsageError
from detloader.importers import import_log
from detloader.manifest.reader import open_run


def rows(run: Path, *columns: str, stream: str = "main") -> list[tuple[Any, ...]]:
    table = open_run(run).streams[stream].table()
    return list(zip(*(table[name].to_pylist() for name in columns), strict=True))


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


def test_iterators_of_one_loader_that_overlap_are_an_epoch_each(tmp_path: Path) -> None:
    lines = [
        yielded(0, 0, number, [f"{iterator}-{number}"]) | {"iter_id": iterator}
        for number in range(3)
        for iterator in (4, 9)
    ]
    import_log(write_energon(tmp_path / "debug.jsonl", lines), tmp_path / "run")

    assert rows(tmp_path / "run", "epoch", "batch", "record") == [
        (0, 0, "4-0"), (1, 0, "9-0"), (0, 1, "4-1"), (1, 1, "9-1"), (0, 2, "4-2"), (1, 2, "9-2"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ['{"hello": 1}', '{"hello": 1}\n', "hello\n", ""])
@pytest.mark.parametrize("template", ["{}.json", "debug_{}_pid412.jsonl", "w{}.log"])
def test_files_of_other_names_are_none_of_energon(template: str, text: str, tmp_path: Path) -> None:
    folder = tmp_path / "debug"
    for worker in range(2):
        write_energon(folder / template.format(worker), [yielded(worker, 0, 0, ["a"])])
    (folder / "notes.json").write_text(text)
    (folder / "train.log").write_text(text)
    told = import_log(folder, tmp_path / "run")

    assert told == []
    assert open_run(tmp_path / "run").complete


def test_a_file_of_energon_is_known_by_its_name_though_it_was_cut_off_at_once(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "debug"
    write_energon(folder / "w0-pid311.jsonl", [yielded(0, 0, 0, ["a"])])
    for worker, text in ((1, ""), (12, '{"t": "Savable')):
        (folder / f"w{worker}-pid42.jsonl").write_text(text)
    told = import_log(folder, tmp_path / "run")

    assert told == [f"{folder}/w{n}-pid42.jsonl is cut off after line 0" for n in (1, 12)]

    (folder / "w2-pid43.jsonl").write_text("no line\n")
    with pytest.raises(LogError, match=r"w2-pid43\.jsonl: line 1 is no line of Energon"):
        import_log(folder, tmp_path / "again")


def test_a_line_of_energon_that_was_cut_off_is_told(tmp_path: Path) -> None:
    lines = [yielded(0, 0, number, [f"ä{number}"]) for number in range(3)]
    log = write_energon(tmp_path / "debug.jsonl", lines)
    log.write_bytes(log.read_bytes()[:-20])
    (told,) = import_log(log, tmp_path / "run")

    assert told == f"{log} is cut off after line 2"
    assert rows(tmp_path / "run", "record") == [("ä0",), ("ä1",)]
    assert not open_run(tmp_path / "run").complete


@pytest.mark.parametrize(("lacking", "rows_read"), [(0, 3), (1, 3), (2, 2), (30, 2)])
def test_a_last_line_of_energon_is_whole_without_its_end_and_not_without_more(
    lacking: int, rows_read: int, tmp_path: Path
) -> None:
    for worker in range(2):
        lines = [yielded(worker, 0, number, [f"{number}"]) for number in range(3)]
        log = write_energon(tmp_path / "debug" / f"w{worker}.jsonl", lines)
        log.write_bytes(log.read_bytes()[: log.stat().st_size - lacking])
    told = import_log(tmp_path / "debug", tmp_path / "run")

    assert len(told) == (2 if rows_read < 3 else 0)
    assert rows(tmp_path / "run", "record") == [(f"{n}",) for n in range(rows_read) for _ in "01"]
    assert open_run(tmp_path / "run").complete is (rows_read == 3)


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("last", [{"hello": 1}, 12, yielded(0, 0, 1, ["b"]) | {"iter_idx": "1"}])
def test_a_whole_last_line_that_is_none_of_energon_is_not_said_to_be_cut_off(
    last: Any, end: str, tmp_path: Path
) -> None:
    log = write_energon(tmp_path / "debug.jsonl", [yielded(0, 0, 0, ["a"])])
    log.write_text(log.read_text() + json.dumps(last) + end)
    with pytest.raises(LogError, match=r"debug\.jsonl: line 2 is no line of Energon"):
        import_log(log, tmp_path / "run")


@pytest.mark.parametrize(
    "other",
    [
        {"r": 2**63},
        {"iter_idx": "1"},
        {"iter_idx": None},
        {"worker_id": 2**70},
        {"id": [1]},
        {"iter_id": "a"},
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


@pytest.mark.parametrize("run", ["", "a\0b"])
def test_a_run_that_no_folder_can_be_is_refused(tmp_path: Path, run: str) -> None:
    log = write_energon(tmp_path / "debug.jsonl", [yielded(0, 0, 0, ["a"])])
    with pytest.raises(UsageError, match="a run is the name of a folder"):
        import_log(log, run)


def test_of_a_folder_with_one_for_each_node_the_message_names_where_logs_lie(
    tmp_path: Path,
) -> None:
    for folder in ("node0", "node1"):
        (tmp_path / "debug" / folder).mkdir(parents=True)
        write_energon(tmp_path / "debug" / folder / "w0.jsonl", [yielded(0, 0, 0, ["a"])])
    (tmp_path / "debug" / "other").mkdir()
    nodes = f"{tmp_path}/debug/node0 or {tmp_path}/debug/node1"
    with pytest.raises(LogError, match=f"a folder of no known logs: name {nodes}$"):
        import_log(tmp_path / "debug", tmp_path / "run")


def test_a_folder_of_nothing_known_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(LogError, match="folder of no known logs"):
        import_log(tmp_path / "logs", tmp_path / "run")
