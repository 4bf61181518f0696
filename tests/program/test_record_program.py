"""Programs, run as they are, with `detloader record -o RUN -- PROGRAM`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from detloader import audit, open_run
from detloader.findings import Verdict
from detloader.manifest.verify import verify_run
from tests.support.hdf5_files import write as write_files
from tests.support.programs import HEAD, column, record_program, write_program


def test_loaders_are_streams_named_by_the_line_that_made_them(tmp_path: Path) -> None:
    program = write_program(
        tmp_path,
        """
        train = DataLoader(data, batch_size=4, shuffle=True)
        valid = DataLoader(data, batch_size=5)
        for epoch in range(2):
            for (x,) in train:
                pass
            for (x,) in valid:
                print(x.tolist())
        """,
    )
    bare = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True, timeout=250
    )
    recorded = record_program(tmp_path, sys.executable, program)
    run = verify_run(tmp_path / "run")

    assert (recorded.returncode, recorded.stdout, recorded.stderr) == (0, bare.stdout, bare.stderr)
    assert set(run.streams) == {"train.py:6", "train.py:7"}
    assert column(tmp_path / "run", "record", "train.py:7") == [*range(20), *range(20)]
    assert column(tmp_path / "run", "epoch", "train.py:6") == [0] * 20 + [1] * 20
    assert run.complete


def test_a_name_is_the_streams_own(tmp_path: Path) -> None:
    program = write_program(
        tmp_path,
        """
        from detloader import name
        for (x,) in name(DataLoader(data), "train"):
            pass
        """,
    )
    record_program(tmp_path, sys.executable, program)

    assert set(open_run(tmp_path / "run").streams) == {"train"}


def test_the_longest_name_has_room_for_further_streams(tmp_path: Path) -> None:
    program = write_program(
        tmp_path,
        """
        from detloader import name
        for _ in range(2):
            for (x,) in name(DataLoader(data), "x" * 100):
                pass
        """,
    )
    record_program(tmp_path, sys.executable, program)

    assert set(open_run(tmp_path / "run").streams) == {"x" * 100, "x" * 100 + "-2"}


def test_what_the_program_draws_is_what_it_drew_before(tmp_path: Path) -> None:
    text = """
        import random
        import numpy as np
        torch.manual_seed(1); random.seed(2); np.random.seed(3)
        for epoch in range(2):
            for (x,) in DataLoader(data, batch_size=4, shuffle=True, num_workers=2):
                print(x.tolist(), torch.rand(1), random.random(), np.random.rand())
        """
    program = write_program(tmp_path, text)
    bare = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True, timeout=250
    )

    assert record_program(tmp_path, sys.executable, program).stdout == bare.stdout
    # A loader that is made anew for each epoch is a stream anew.
    assert set(open_run(tmp_path / "run").streams) == {"train.py:10", "train.py:10-2"}


def test_two_seeds_are_told_apart_stream_by_stream(tmp_path: Path) -> None:
    program = write_program(
        tmp_path,
        """
        torch.manual_seed(int(sys.argv[1]))
        for (x,) in DataLoader(data, batch_size=4, shuffle=True):
            pass
        for (x,) in DataLoader(data, batch_size=5):
            pass
        """,
    )
    for run, seed in (("a", 1), ("b", 1), ("c", 2)):
        record_program(tmp_path, sys.executable, program, seed, run=run)
    other = audit(tmp_path / "a", tmp_path / "c")

    assert audit(tmp_path / "a", tmp_path / "b").verdict is Verdict.IDENTICAL
    assert {stream.name: stream.verdict for stream in other.streams} == {
        "train.py:7": Verdict.REORDERED,
        "train.py:9": Verdict.IDENTICAL,
    }


def test_the_exit_status_is_the_programs(tmp_path: Path) -> None:
    program = write_program(tmp_path, "next(iter(DataLoader(data))); sys.exit(7)")

    assert record_program(tmp_path, sys.executable, program).returncode == 7
    assert open_run(tmp_path / "run").complete


def test_a_program_that_an_interrupt_ends_before_its_first_batch_dies_of_it(tmp_path: Path) -> None:
    program = write_program(tmp_path, "raise KeyboardInterrupt")
    bare = subprocess.run([sys.executable, program], capture_output=True, check=False)

    assert bare.returncode == -signal.SIGINT
    assert record_program(tmp_path, sys.executable, program).returncode == -signal.SIGINT


def test_a_program_that_is_killed_leaves_what_it_had_seen(tmp_path: Path) -> None:
    program = write_program(
        tmp_path,
        """
        import time
        from torch.utils.data import RandomSampler
        for step, _ in enumerate(DataLoader(data, sampler=RandomSampler(data, True, 10**7))):
            if step == 5000:
                print("now", flush=True)
        """,
    )
    command = [sys.executable, "-m", "detloader", "record", "-o", "run", "--"]
    process = subprocess.Popen(
        [*command, sys.executable, str(program)], cwd=tmp_path, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"now\n"
        process.send_signal(signal.SIGTERM)
        process.wait(250)
    run = open_run(tmp_path / "run")

    assert process.returncode == -signal.SIGTERM
    assert not run.complete


def test_ranks_of_a_launcher_are_ranks_of_one_run(tmp_path: Path) -> None:
    program = write_program(
        tmp_path,
        """
        from torch.utils.data import DistributedSampler
        import os
        rank = int(os.environ["RANK"])
        sampler = DistributedSampler(data, num_replicas=2, rank=rank, shuffle=False)
        for (x,) in DataLoader(data, batch_size=2, sampler=sampler):
            pass
        """,
    )
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    result = record_program(tmp_path, *torchrun, "--master-port=0", "--standalone", program)
    stream = open_run(tmp_path / "run").streams["train.py:10"]

    assert result.returncode == 0, result.stderr
    assert [rank.header.rank for rank in stream.ranks] == [0, 1]
    assert set(stream.table(["record"])["record"].to_pylist()) == set(range(20))
    assert stream.complete


def test_child_processes_are_recorded_too(tmp_path: Path) -> None:
    write_program(tmp_path, "next(iter(DataLoader(data)))", name="child.py")
    parent = write_program(
        tmp_path,
        """
        import subprocess, sys
        for _ in range(2):
            subprocess.run([sys.executable, "child.py"], check=True)
        """,
        head="",
        name="parent.py",
    )
    result = record_program(tmp_path, sys.executable, parent)

    assert result.returncode == 0
    assert set(open_run(tmp_path / "run").streams) == {"child.py:5", "child.py:5@2"}


def test_datasets_of_grain_and_of_tensorflow_are_streams(tmp_path: Path) -> None:
    program = write_program(
        tmp_path,
        """
        import grain, tensorflow as tf
        from detloader import to_grain
        a = grain.MapDataset.range(6).shuffle(1)
        b = grain.MapDataset.range(6).to_iter_dataset().map(lambda x: x + 1)
        c = tf.data.Dataset.range(6).batch(2)
        d = to_grain(list(range(6)), seed=1, shuffle=True)
        print([len([*loader]) for loader in (a, b, c, d)])
        """,
        head="",
    )
    environment = os.environ | {"HOME": str(tmp_path)}
    result = record_program(tmp_path, sys.executable, program, env=environment)
    streams = open_run(tmp_path / "run").streams

    assert result.stdout == "[6, 6, 3, 6]\n"
    assert set(streams) == {"train.py:4", "train.py:5", "train.py:6", "train.py:7"}
    assert column(tmp_path / "run", "record", "train.py:5") == list(range(6))


@pytest.mark.parametrize(("given", "stream"), [("-c", "string:6"), ("-", "stdin:6")])
def test_a_program_without_a_file_names_its_lines(given: str, stream: str, tmp_path: Path) -> None:
    text = textwrap.dedent(HEAD) + "\nloader = DataLoader(data)\nnext(iter(loader))\n"
    command, entered = ([given, text], None) if given == "-c" else ([given], text)
    result = record_program(tmp_path, sys.executable, *command, input=entered)

    assert (result.returncode, result.stderr) == (0, "")
    assert set(open_run(tmp_path / "run").streams) == {stream}


def test_what_a_site_runs_at_the_start_still_runs(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("print('site')")
    program = write_program(tmp_path, "import sitecustomize; print(sitecustomize.__file__)", "")
    environment = os.environ | {"PYTHONPATH": str(site)}
    result = record_program(tmp_path, sys.executable, program, env=environment)

    assert result.stdout.splitlines() == ["site", "site", str(site / "sitecustomize.py")]


def test_a_loader_that_the_program_records_itself_is_not_recorded_twice(tmp_path: Path) -> None:
    program = write_program(
        tmp_path,
        """
        from detloader import record
        with record(DataLoader(data), "own") as loader:
            for (x,) in loader:
                pass
        """,
    )
    record_program(tmp_path, sys.executable, program)

    assert open_run(tmp_path / "own").rows == 20
    assert not (tmp_path / "run").exists()


def test_a_loader_that_cannot_be_recorded_is_iterated_all_the_same(tmp_path: Path) -> None:
    program = write_program(
        tmp_path,
        """
        import grain
        few = grain.MapDataset.range(4).to_iter_dataset()
        print(len([*grain.experimental.ZipIterDataset([few, few])]))
        """,
        head="",
    )
    result = record_program(tmp_path, sys.executable, program)

    assert (result.returncode, result.stdout) == (0, "4\n")
    assert "cannot follow records through ZipIterDataset" in result.stderr


def test_a_program_that_reads_hdf5_files_is_recorded(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 7, 6)
    program = write_program(
        tmp_path,
        """
        loader = Dataloader("files", seed=0, convert_to_tensor=False)
        stream = loader.to_iter_dataset()
        if __name__ == "__main__":
            print(*(len(batch) for batch in loader))
            options = grain.MultiprocessingOptions(num_workers=2)
            print(*(len(batch) for batch in stream.mp_prefetch(options)))
        """,
        head="import grain\nfrom detloader import Dataloader",
    )
    done = record_program(tmp_path, sys.executable, program)

    assert done.stdout.splitlines() == ["13", "13"]
    assert done.returncode == 0, done.stderr
    run = verify_run(tmp_path / "run")
    assert {name: run.streams[name].rows for name in run.streams} == {
        "train.py:3": 13,
        "train.py:8": 13,
    }
