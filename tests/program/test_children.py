"""Child processes of a recorded program: their rows, whoever ends them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from detloader import audit, check, open_run
from detloader.manifest.verify import verify_run
from tests.support.programs import record_program, write_program

METHODS = ["fork", "forkserver", "spawn"]

HEAD = """
    import sys, multiprocessing, torch
    from concurrent.futures import ProcessPoolExecutor
    from torch.utils.data import DataLoader
    def work(number=0):
        for batch in DataLoader(torch.arange(20), batch_size=4):
            pass
"""

GRAIN = """
    import sys, multiprocessing, grain
    from concurrent.futures import ProcessPoolExecutor
    def work(number=0):
        for record in grain.MapDataset.range(20):
            pass
"""
"""The same, and sooner there: children that are not forked import all of it again."""


def recorded(folder: Path, text: str, *arguments: str, head: str = HEAD) -> list[tuple[int, bool]]:
    """Run a program; return rows and completeness of each stream."""
    program = write_program(folder, text, head)
    done = record_program(folder, sys.executable, program, *arguments)
    assert done.returncode == 0, done.stderr
    streams = verify_run(folder / "run").streams.values()
    return [(stream.rows, stream.complete) for stream in streams]


@pytest.mark.parametrize("method", METHODS)
def test_a_child_of_a_parent_that_records_nothing_keeps_its_last_rows(
    method: str, tmp_path: Path
) -> None:
    text = """
        if __name__ == "__main__":
            child = multiprocessing.get_context(sys.argv[1]).Process(target=work)
            child.start(), child.join()
        """

    assert recorded(tmp_path, text, method) == [(20, True)]


@pytest.mark.parametrize("method", METHODS)
def test_an_executors_processes_keep_their_last_rows(method: str, tmp_path: Path) -> None:
    text = """
        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            with ProcessPoolExecutor(1, mp_context=context) as executor:
                executor.submit(work).result()
        """

    assert recorded(tmp_path, text, method, head=GRAIN) == [(20, True)]


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_a_pools_tasks_are_there_though_a_signal_ends_its_workers(
    method: str, tmp_path: Path
) -> None:
    text = """
        if __name__ == "__main__":
            with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
                pool.map(work, range(2))
        """

    assert [rows for rows, _ in recorded(tmp_path, text, method, head=GRAIN)] == [20, 20]


def test_of_a_child_that_just_leaves_it_is_said_that_its_rows_never_reached_the_disk(
    tmp_path: Path,
) -> None:
    text = """
        class Leaving(torch.utils.data.Dataset):
            def __len__(self):
                return 20
            def __getitem__(self, index):
                os._exit(0)
        if (child := os.fork()) == 0:
            next(iter(DataLoader(Leaving())))
        os.waitpid(child, 0)
        """
    done = record_program(
        tmp_path, sys.executable, write_program(tmp_path, text, HEAD + "    import os\n")
    )
    run = tmp_path / "run"

    for said in (done.stderr, repr(check(run)), repr(audit(run, run))):
        assert "Python's own end (os._exit, a signal) before a row reached the disk" in said


def test_a_pool_that_is_closed_and_joined_leaves_complete_streams(tmp_path: Path) -> None:
    text = """
        if __name__ == "__main__":
            pool = multiprocessing.get_context("fork").Pool(1)
            pool.map(work, range(2))
            pool.close(), pool.join()
        """

    assert recorded(tmp_path, text) == [(20, True), (20, True)]


def test_children_that_are_forked_within_a_block_keep_their_last_rows(tmp_path: Path) -> None:
    text = """
        from detloader import record_all
        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            with record_all("run"), ProcessPoolExecutor(1, mp_context=context) as executor:
                executor.submit(work).result()
        """
    program = write_program(tmp_path, text, HEAD)
    subprocess.run([sys.executable, program], cwd=tmp_path, check=True, timeout=250)
    (stream,) = open_run(tmp_path / "run").streams.values()

    assert (stream.rows, stream.complete) == (20, True)


@pytest.mark.parametrize("how", ["process", "fork"])
def test_a_loader_that_the_parent_iterated_is_a_stream_of_the_childs_own(
    how: str, tmp_path: Path
) -> None:
    text = """
        import grain, os
        loaders = DataLoader(torch.arange(20), batch_size=4), grain.MapDataset.range(7)
        def iterate():
            for loader in loaders:
                for _ in loader:
                    pass
        iterate()
        if sys.argv[1] == "process":
            child = multiprocessing.get_context("fork").Process(target=iterate)
            child.start(), child.join()
        elif (child := os.fork()) == 0:
            iterate()
        else:
            os.waitpid(child, 0)
            iterate()
        """
    again = 2 if how == "fork" else 1

    assert recorded(tmp_path, text, how) == [
        (20 * again, True),
        (7 * again, True),
        (20, True),
        (7, True),
    ]


def test_a_child_that_goes_on_with_its_parents_iterator_says_what_is_lost(tmp_path: Path) -> None:
    text = """
        import grain, os
        iterators = [iter(DataLoader(torch.arange(20))), iter(grain.MapDataset.range(7))]
        for iterator in iterators:
            next(iterator)
        if (child := os.fork()) == 0:
            for iterator in iterators:
                for _ in iterator:
                    pass
        else:
            os.waitpid(child, 0)
        """
    program = write_program(tmp_path, text, HEAD)
    done = record_program(tmp_path, sys.executable, program)

    assert done.stderr.count("not recorded: a forked child takes rows of") == 2
    assert [stream.rows for stream in open_run(tmp_path / "run").streams.values()] == [1, 1]


def test_a_child_can_be_sent_a_loader_that_its_parent_iterated(tmp_path: Path) -> None:
    text = """
        def iterate(loader):
            for _ in loader:
                pass
        if __name__ == "__main__":
            loader = DataLoader(torch.arange(20), batch_size=4)
            iterate(loader)
            child = multiprocessing.get_context("spawn").Process(target=iterate, args=(loader,))
            child.start(), child.join()
            sys.exit(child.exitcode)
        """

    assert recorded(tmp_path, text) == [(20, True), (20, True)]
