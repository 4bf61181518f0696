"""Threads that read ahead: one, and one more for each that waits for storage."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from detloader.hdf5.delivery.readers import Readers
from detloader.hdf5.files.turns import Turn
from tests.support.hdf5_files import write


def test_where_nothing_waits_one_thread_makes_all_in_the_order_asked_for() -> None:
    made: list[int] = []
    threads: set[int] = set()

    def make(number: int) -> int:
        threads.add(threading.get_ident())
        made.append(number)
        return number * 2

    readers = Readers(make, most=8)
    futures = [readers.ask(number) for number in range(50)]

    assert [future.result() for future in futures] == [number * 2 for number in range(50)]
    assert made == list(range(50))
    assert len(threads) == 1
    readers.close()


@pytest.mark.parametrize("most", [1, 2, 5])
def test_threads_that_wait_for_storage_let_others_in_up_to_a_bound(most: int) -> None:
    turn = Turn()
    # Passed only by as many threads as may wait at once; more would wait for ever.
    together = threading.Barrier(most)

    def make(number: int) -> int:
        with turn:
            with turn.given_up():
                together.wait()
            return number

    readers = Readers(make, most)
    futures = [readers.ask(number) for number in range(4 * most)]

    assert [future.result() for future in futures] == list(range(4 * most))
    readers.close()


def test_an_error_comes_where_its_batch_was_asked_for_and_the_others_are_made() -> None:
    def make(number: int) -> float:
        return 1 / (number - 1)

    readers = Readers(make, most=2)
    futures = [readers.ask(number) for number in range(3)]

    with pytest.raises(ZeroDivisionError):
        futures[1].result()
    assert [futures[0].result(), futures[2].result()] == [-1, 1]
    readers.close()


def test_a_script_may_end_while_batches_are_read_ahead(tmp_path: Path) -> None:
    folder = write(tmp_path / "data", 40, 40)
    program = (
        "import sys; from detloader import Dataloader\n"
        "steps = iter(Dataloader(sys.argv[1], convert_to_tensor=False, batch_size=2))\n"
        "print(len(next(steps)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], check=False, capture_output=True, text=True
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")
