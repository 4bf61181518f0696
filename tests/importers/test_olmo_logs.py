"""Order logs of OLMo, as its program writes them, and as they are damaged."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

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


def test_of_the_folder_around_them_the_message_names_where_the_indices_lie(tmp_path: Path) -> None:
    log = write_olmo(tmp_path / "data-indices", {0: [[7]]})
    with pytest.raises(LogError, match=f"a folder of no known logs: name {log}$"):
        import_log(log.parent, tmp_path / "run")


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


def test_the_ranks_of_olmo_are_found_equal_to_the_same_log_in_csv(tmp_path: Path) -> None:
    write_olmo(tmp_path / "data-indices", {0: [[7, 3]], 1: [[4, 0]]})
    (tmp_path / "log.csv").write_text("record,batch,rank\n7,1,0\n3,1,0\n4,1,1\n0,1,1\n")
    import_log(tmp_path / "data-indices", tmp_path / "a")
    import_log(tmp_path / "log.csv", tmp_path / "b")

    assert audit(tmp_path / "a", tmp_path / "b").verdict is Verdict.IDENTICAL
