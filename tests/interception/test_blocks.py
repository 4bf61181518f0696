"""What a block or a decorated function spans, and what is refused before it begins."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grain
import pytest
import tensorflow as tf
from torch.utils.data import DataLoader

from detloader import name, open_run, record_all, to_grain
from detloader.errors import UsageError
from detloader.manifest.verify import verify_run
from tests.support.blocks import fit, loader, records


def test_a_decorated_function_is_recorded_while_it_runs(tmp_path: Path) -> None:
    batches = name(loader(), "train")

    @record_all(tmp_path / "run")
    def train() -> None:
        fit(batches)

    fit(batches)
    train()
    fit(batches)

    assert records(tmp_path / "run", "train") == list(range(8))


def test_each_call_of_a_decorated_function_has_streams_of_its_own(tmp_path: Path) -> None:
    before = vars(DataLoader)["__iter__"]

    @record_all(tmp_path / "run")
    def train(depth: int) -> None:
        fit(name(loader(), "train"))
        if depth:
            train(depth - 1)
        fit(name(loader(), "end"))

    train(1)
    fit(loader())
    run = verify_run(tmp_path / "run")

    assert {stream: run.streams[stream].rows for stream in run.streams} == {
        "train": 8,
        "train-2": 8,
        "end": 8,
        "end-2": 8,
    }
    assert run.complete
    assert vars(DataLoader)["__iter__"] is before


def test_calls_in_several_threads_do_not_end_one_another(tmp_path: Path) -> None:
    ended = threading.Event()

    @record_all(tmp_path / "run")
    def first() -> None:
        batches = iter(name(loader(), "first"))
        next(batches)
        with ThreadPoolExecutor(1) as others:
            others.submit(second).result()
        assert ended.is_set()
        fit(batches)

    @record_all(tmp_path / "run")
    def second() -> None:
        fit(name(loader(), "second"))
        ended.set()

    first()

    assert records(tmp_path / "run", "first") == records(tmp_path / "run", "second")


def test_threads_that_a_block_starts_are_recorded(tmp_path: Path) -> None:
    with record_all(tmp_path / "run"), ThreadPoolExecutor(1) as threads:
        threads.submit(fit, name(loader(), "train")).result()

    assert records(tmp_path / "run", "train") == list(range(8))


@pytest.mark.parametrize(
    "make",
    [
        loader,
        lambda: tf.data.Dataset.range(8),
        lambda: grain.MapDataset.range(8),
        lambda: to_grain(list(range(8))),
    ],
    ids=["torch", "tensorflow", "grain", "ours"],
)
def test_threads_that_begin_one_loader_at_once_have_one_stream(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    batches = name(make(), "train")
    begun = threading.Barrier(2)

    def iterate(_: int) -> None:
        begun.wait()
        fit(batches)

    with record_all(tmp_path / "run"), ThreadPoolExecutor(2) as threads:
        list(threads.map(iterate, range(2)))
    run = verify_run(tmp_path / "run")

    assert [*run.streams] == ["train"]
    assert (run.rows, run.complete) == (16, True)


def test_a_decorated_coroutine_is_recorded_until_it_is_done(tmp_path: Path) -> None:
    @record_all(tmp_path / "run")
    async def train() -> int:
        await asyncio.sleep(0)
        fit(name(loader(), "train"))
        return 3

    assert asyncio.run(train()) == 3
    assert records(tmp_path / "run", "train") == list(range(8))


def test_a_decorated_generator_is_recorded_until_it_ends(tmp_path: Path) -> None:
    @record_all(tmp_path / "run")
    def epochs() -> Iterator[Any]:
        yield from name(loader(), "train")

    used = len([*epochs()])
    fit(loader())

    assert used == 8
    assert verify_run(tmp_path / "run").complete
    assert [*open_run(tmp_path / "run").streams] == ["train"]


def test_generators_that_take_turns_have_runs_of_their_own(tmp_path: Path) -> None:
    def epochs(run: str) -> Iterator[Any]:
        @record_all(tmp_path / run)
        def generator() -> Iterator[Any]:
            for epoch in range(2):
                yield from name(loader(), f"{run}{epoch}")

        return generator()

    assert sum(1 for _ in zip(epochs("a"), epochs("b"), strict=True)) == 16
    for run in ("a", "b"):
        assert {*verify_run(tmp_path / run).streams} == {f"{run}0", f"{run}1"}


@pytest.mark.parametrize("in_block", [True, False])
def test_what_the_caller_of_a_generator_iterates_is_not_the_generators(
    in_block: bool, tmp_path: Path
) -> None:
    @record_all(tmp_path / "inner")
    def steps() -> Iterator[None]:
        fit(name(loader(), "first"))
        yield
        with ThreadPoolExecutor(1) as threads:
            threads.submit(fit, name(loader(), "of-a-thread")).result()
        yield

    with record_all(tmp_path / "outer") if in_block else contextlib.nullcontext():
        for _ in steps():
            fit(name(loader(), "callers"))

    assert {*verify_run(tmp_path / "inner").streams} == {"first", "of-a-thread"}
    if in_block:
        assert {*verify_run(tmp_path / "outer").streams} == {"callers", "callers-2"}


def test_values_and_errors_reach_a_decorated_generator(tmp_path: Path) -> None:
    @record_all(tmp_path / "run")
    def echo() -> Generator[Any, Any, str]:
        fit(name(loader(), "train"))
        sent = yield 0
        try:
            yield sent
        except KeyError as error:
            yield error.args[0]
        return "end"

    steps = echo()

    assert [next(steps), steps.send(5), steps.throw(KeyError("k"))] == [0, 5, "k"]
    with pytest.raises(StopIteration) as ended:
        next(steps)
    assert ended.value.value == "end"
    assert verify_run(tmp_path / "run").complete


def test_a_generator_that_is_closed_seals_its_run(tmp_path: Path) -> None:
    @record_all(tmp_path / "run")
    def steps() -> Iterator[None]:
        fit(name(loader(), "train"))
        yield

    begun = steps()
    next(begun)
    assert isinstance(begun, Generator)
    begun.close()
    fit(loader())

    assert verify_run(tmp_path / "run").complete
    assert [*open_run(tmp_path / "run").streams] == ["train"]


def test_an_asynchronous_generator_is_refused(tmp_path: Path) -> None:
    async def batches() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(UsageError, match="asynchronous generator"):
        record_all(tmp_path / "run")(batches)


def test_a_block_cannot_be_entered_twice_at_once(tmp_path: Path) -> None:
    block = record_all(tmp_path / "run")
    with block:
        with pytest.raises(UsageError, match="make another record_all"), block:
            pass
        fit(name(loader(), "train"))

    assert records(tmp_path / "run", "train") == list(range(8))


@pytest.mark.parametrize(
    "options",
    [
        {"level": "zz"},
        {"decimals": 99},
        {"content": "float8"},
        {"digest": "md5"},
        {"epochs": []},
        {"every": 0},
        {"then": "full"},
        {"id_hash": "no-such-file"},
        {"id_root": 5},
    ],
)
def test_arguments_that_make_no_sense_are_refused_before_the_block(
    options: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(UsageError):
        record_all(tmp_path / "run", **options)


def test_epochs_of_an_iterator_are_those_of_every_loader(tmp_path: Path) -> None:
    with record_all(tmp_path / "run", epochs=iter([1])):
        for stream in ("a", "b"):
            batches = name(loader(), stream)
            fit(batches)
            fit(batches)
    streams = open_run(tmp_path / "run").streams.values()

    assert [{*stream.table(["epoch"])["epoch"].to_pylist()} for stream in streams] == [{1}, {1}]


def test_a_block_in_the_folder_of_another_job_says_so_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for job in ("77", "78"):
        monkeypatch.setenv("SLURM_JOB_ID", job)
        with record_all(tmp_path / "run"):
            fit(name(loader(), "train"))

    assert [entry.message for entry in caplog.records] == [
        f"not recorded: {tmp_path / 'run'} holds run 77, this is run 78: choose another folder"
    ]
    assert set(open_run(tmp_path / "run").streams) == {"train"}


def test_each_block_that_records_nothing_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @record_all(tmp_path / "run")
    def train() -> None:
        fit([1, 2])

    train()
    train()

    assert [entry.message for entry in caplog.records] == [
        f"{tmp_path / 'run'} has no rows: the block iterated no loader that could be recorded"
    ] * 2


def test_a_block_that_adds_nothing_to_a_run_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with record_all(tmp_path / "run"):
        fit(loader())
    with record_all(tmp_path / "run"):
        fit([1, 2])

    assert [entry.message for entry in caplog.records] == [
        f"{tmp_path / 'run'} has no further rows: the block iterated no loader that is recorded"
    ]
