"""The part that adapters share."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from detloader import open_run, record
from detloader.manifest.verify import verify_run
from detloader.recorder import Recorder
from tests.support.loaders import writing_threads
from tests.support.tables import rank_writer


@dataclass
class Chunk:
    numbers: list[int]

    @property
    def rows(self) -> int:
        return len(self.numbers)


def encode(chunks: Sequence[Chunk]) -> pa.Table:
    numbers = [number for chunk in chunks for number in chunk.numbers]
    if 13 in numbers:
        raise ArithmeticError(13)
    return pa.table({"record": numbers})


def test_seeds_are_asked_for_at_the_end_and_kept_in_their_order(tmp_path: Path) -> None:
    seeds: dict[int, None] = {}
    recorder = Recorder[Chunk](rank_writer(tmp_path / "run"), encode, seeds)
    recorder.put(Chunk([1, 2]))
    seeds.update({9: None, 4: None})
    recorder.close()

    (rank,) = verify_run(tmp_path / "run").streams["main"].ranks
    assert rank.header.seen.seeds == [9, 4]
    assert rank.rows == 2


def test_what_cannot_be_encoded_is_counted_and_so_is_all_that_follows(tmp_path: Path) -> None:
    recorder = Recorder[Chunk](rank_writer(tmp_path / "run"), encode)
    for numbers in ([13, 14], [15]):
        recorder.put(Chunk(numbers))
    recorder.close()
    recorder.put(Chunk([16]))

    (rank,) = open_run(tmp_path / "run").streams["main"].ranks
    assert (rank.rows, rank.header.seen.lost, rank.complete) == (0, 3, False)


def test_what_comes_while_writing_fails_does_not_close_up_the_gap(tmp_path: Path) -> None:
    def encode_slowly(chunks: Sequence[Chunk]) -> pa.Table:
        if chunks[0].numbers == [13]:
            recorder.put(Chunk([14]))
            begun.set()
        return encode(chunks)

    begun = threading.Event()
    recorder = Recorder[Chunk](rank_writer(tmp_path / "run"), encode_slowly)
    recorder.put(Chunk([13]))
    assert begun.wait(60)
    recorder.close()

    (rank,) = open_run(tmp_path / "run").streams["main"].ranks
    assert (rank.rows, rank.header.seen.lost) == (0, 2)


@pytest.mark.usefixtures("no_other_recorder")
def test_one_thread_writes_for_all_recorders_and_ends_with_the_last(tmp_path: Path) -> None:
    recorders = [
        Recorder[Chunk](rank_writer(tmp_path / "run", rank=rank), encode) for rank in range(50)
    ]
    for recorder in recorders:
        recorder.put(Chunk([1, 2]))
    during = writing_threads()
    for recorder in recorders:
        recorder.close()

    assert (during, writing_threads()) == (1, 0)
    assert verify_run(tmp_path / "run").rows == 100


def test_a_recorder_that_is_let_go_of_while_its_rows_are_written_has_them_all(
    tmp_path: Path,
) -> None:
    def encode_and_let_go(chunks: Sequence[Chunk]) -> pa.Table:
        recorder.close(let_go=True)  # as the garbage collector may, in whatever thread
        begun.set()
        return encode(chunks)

    begun = threading.Event()
    recorder = Recorder[Chunk](rank_writer(tmp_path / "run"), encode_and_let_go)
    recorder.put(Chunk([1, 2]))
    assert begun.wait(60)
    recorder.close()

    assert (verify_run(tmp_path / "run").rows, open_run(tmp_path / "run").complete) == (2, True)


def test_a_twin_can_be_copied_and_both_record(tmp_path: Path) -> None:
    twin = record([1, 2], tmp_path / "run", ids=int)
    assert list(copy.copy(twin)) == [1, 2]
    twin.close()

    assert open_run(tmp_path / "run").rows == 2
