"""Streams of child processes: named by the order in which their parent starts them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from detloader import open_run
from tests.support.programs import record_program, write_program

# Grain, for it is there in a third of a second.
HEAD = """
    import sys, os, subprocess, multiprocessing
    import grain
    def iterate(rows):
        loader = grain.MapDataset.range(rows)
        for batch in loader:
            pass
"""
TORCH = """
    import sys, os, subprocess, multiprocessing, torch
    from torch.utils.data import DataLoader, DistributedSampler
    def iterate(rows):
        loader = DataLoader(torch.arange(rows))
        for batch in loader:
            pass
"""
PLACE = "train.py:5"


def streams(folder: Path, text: str, *arguments: str, head: str = HEAD) -> dict[str, int]:
    """Run a program; return the rows of each stream."""
    program = write_program(folder, text, head)
    done = record_program(folder, sys.executable, program, *arguments)
    assert done.returncode == 0, done.stderr
    return {name: stream.rows for name, stream in open_run(folder / "run").streams.items()}


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_processes_are_numbered_as_they_start_and_not_as_they_record(
    method: str, tmp_path: Path
) -> None:
    text = """
        def work(rows, before, after):
            before.wait()
            iterate(rows)
            after.set()
        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            events = [context.Event() for _ in range(4)]
            children = [
                context.Process(target=work, args=(10 + k, events[k + 1], events[k]))
                for k in range(3)
            ]
            for child in children:
                child.start()
            events[3].set()
            for child in children:
                child.join()
        """

    assert streams(tmp_path, text, method) == {PLACE: 10, f"{PLACE}@2": 11, f"{PLACE}@3": 12}


def test_programs_and_forks_are_numbered_as_they_start(tmp_path: Path) -> None:
    text = """
        if len(sys.argv) > 1:
            sys.stdin.read()
            iterate(int(sys.argv[1]))
            sys.exit()
        command = [sys.executable, __file__]
        first = subprocess.Popen([*command, "10"], stdin=subprocess.PIPE)
        subprocess.run([*command, "11"], env=dict(os.environ), input=b"", check=True)
        first.communicate()
        begin, end = os.pipe()
        if (first := os.fork()) == 0:
            os.read(begin, 1)
            iterate(12)
            sys.exit()
        if (second := os.fork()) == 0:
            iterate(13)
            sys.exit()
        os.waitpid(second, 0)
        os.write(end, b"1")
        os.waitpid(first, 0)
        """

    assert streams(tmp_path, text) == {
        PLACE: 10,
        f"{PLACE}@2": 11,
        f"{PLACE}@3": 12,
        f"{PLACE}@4": 13,
    }


@pytest.mark.parametrize("last", [0, 1, 3])
def test_children_that_start_in_different_ways_have_names_that_are_no_matter_of_chance(
    last: int, tmp_path: Path
) -> None:
    text = """
        if len(sys.argv) > 2:
            sys.stdin.read()
            iterate(int(sys.argv[2]))
            sys.exit()
        os.symlink("/usr/bin/env", "run-it")
        python = [sys.executable, __file__, ""]
        started = [
            [*python, "10"],
            ["sh", "-c", " ".join([*python[:2], "-", "11; true"])],
            ["./run-it", *python, "12"],
            ["./run-it", *python, "13"],
            ["env", *python, "14"],
        ]
        children = [subprocess.Popen(command, stdin=subprocess.PIPE) for command in started]
        last = children.pop(int(sys.argv[1]))
        for child in (*children, last):
            child.communicate()
        """

    assert streams(tmp_path, text, str(last)) == {
        PLACE: 10,
        f"{PLACE}@2": 11,
        f"{PLACE}@run_it": 12,
        f"{PLACE}@run_it=2": 13,
        f"{PLACE}@3": 14,
    }


@pytest.mark.parametrize("how", ["posix_spawn", "posix_spawnp", "by place"])
def test_programs_that_are_given_an_environment_are_numbered(how: str, tmp_path: Path) -> None:
    text = """
        if len(sys.argv) > 2:
            sys.stdin.read()
            iterate(int(sys.argv[2]))
            sys.exit()
        def start(rows, given):
            command = [sys.executable, __file__, "", str(rows)]
            if sys.argv[1] == "by place":
                before = [-1, None, given, None, None, None, True, False, None]
                return subprocess.Popen(command, *before, dict(os.environ)).pid
            actions = [(os.POSIX_SPAWN_DUP2, given, 0)]
            spawn = getattr(os, sys.argv[1])
            return spawn(command[0], command, dict(os.environ), file_actions=actions)
        begin, end = os.pipe()
        first = start(10, begin)
        os.close(begin)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.waitpid(start(11, nothing), 0)
        os.close(end)
        os.waitpid(first, 0)
        """

    assert streams(tmp_path, text, how) == {PLACE: 10, f"{PLACE}@2": 11}


def test_a_function_that_was_sent_by_value_is_known_by_its_file(tmp_path: Path) -> None:
    text = """
        import cloudpickle
        cloudpickle.loads(cloudpickle.dumps(iterate))(10)
        """

    assert streams(tmp_path, text) == {PLACE: 10}


def test_children_of_another_block_are_numbered_from_the_first_again(tmp_path: Path) -> None:
    text = """
        from detloader import record_all
        context = multiprocessing.get_context("fork")
        for run in "ab":
            with record_all(run):
                for rows in (10, 11):
                    child = context.Process(target=iterate, args=(rows,))
                    child.start(), child.join()
        """
    program = write_program(tmp_path, text, HEAD)
    subprocess.run([sys.executable, program], cwd=tmp_path, check=True, timeout=250)

    for run in "ab":
        assert {*open_run(tmp_path / run).streams} == {PLACE, f"{PLACE}@2"}


def test_a_child_of_a_child_has_the_numbers_of_both(tmp_path: Path) -> None:
    text = """
        def work(deep):
            context = multiprocessing.get_context("fork")
            iterate(10 + deep)
            for _ in range(deep and 2):
                child = context.Process(target=work, args=(deep - 1,))
                child.start(), child.join()
        work(2)
        """

    assert streams(tmp_path, text) == {
        PLACE: 12,
        f"{PLACE}-2": 11,
        f"{PLACE}-3": 10,
        f"{PLACE}@1.2": 10,
        f"{PLACE}@2": 11,
        f"{PLACE}@2-2": 10,
        f"{PLACE}@2.2": 10,
    }


def test_what_else_a_program_starts_moves_no_number(tmp_path: Path) -> None:
    text = """
        from concurrent.futures import ProcessPoolExecutor
        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            subprocess.run(["true"], check=True)
            for batch in DataLoader(torch.arange(4), num_workers=2):
                pass
            with ProcessPoolExecutor(2, mp_context=context) as executor:
                executor.submit(int).result()
            with context.Manager():
                child = context.Process(target=iterate, args=(10,))
                child.start(), child.join()
        """

    assert streams(tmp_path, text, head=TORCH) == {PLACE: 10, "train.py:13": 4}


@pytest.mark.parametrize("how", ["sampler", "environment"])
def test_processes_that_are_ranks_are_told_apart_by_them(how: str, tmp_path: Path) -> None:
    text = """
        def work(rank):
            sampler = None
            if sys.argv[1] == "sampler":
                sampler = DistributedSampler(range(8), num_replicas=2, rank=rank)
            else:
                os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2"}
            for batch in DataLoader(torch.arange(8), sampler=sampler):
                pass
        if __name__ == "__main__":
            for rank in range(2):
                child = multiprocessing.get_context("spawn").Process(target=work, args=(rank,))
                child.start(), child.join()
        """
    streams(tmp_path, text, how, head=TORCH)
    (stream,) = open_run(tmp_path / "run").streams.values()

    assert [rank.header.rank for rank in stream.ranks] == [0, 1]
