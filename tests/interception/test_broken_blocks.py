"""Blocks, and decorated functions, that an error leaves: what they recorded is a part."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grain
import pytest
import tensorflow as tf

from detloader import name, open_run, record, record_all, to_grain
from detloader.manifest.verify import verify_run
from tests.support.blocks import fit, loader

LOADERS: dict[str, Callable[[], Any]] = {
    "torch": loader,
    "tensorflow": lambda: tf.data.Dataset.range(8),
    "grain": lambda: grain.MapDataset.range(8),
    "ours": lambda: to_grain(list(range(8))),
}
ERRORS: list[type[BaseException]] = [KeyError, KeyboardInterrupt, asyncio.CancelledError]
STATUSES: list[type[BaseException]] = [SystemExit, GeneratorExit]


def interrupted(batches: Any, end: type[BaseException]) -> None:
    for number, _ in enumerate(batches):
        if number == 2:
            raise end


def in_a_block(run: Path, body: Callable[[], None]) -> None:
    with record_all(run):
        body()


def in_a_function(run: Path, body: Callable[[], None]) -> None:
    record_all(run)(body)()


def in_a_coroutine(run: Path, body: Callable[[], None]) -> None:
    @record_all(run)
    async def main() -> None:
        body()

    with contextlib.closing(main()) as steps:
        steps.send(None)


def in_a_generator(run: Path, body: Callable[[], None]) -> None:
    @record_all(run)
    def main() -> Iterator[None]:
        yield
        body()

    list(main())


WAYS = [in_a_block, in_a_function, in_a_coroutine, in_a_generator]


@pytest.mark.parametrize("end", ERRORS)
@pytest.mark.parametrize("way", WAYS)
def test_an_error_that_leaves_it_leaves_a_part(
    way: Callable[[Path, Callable[[], None]], None], end: type[BaseException], tmp_path: Path
) -> None:
    batches = name(loader(), "train")
    with pytest.raises(end):
        way(tmp_path / "run", lambda: interrupted(batches, end))
    stream = open_run(tmp_path / "run").streams["train"]

    assert (stream.rows, stream.declared.complete) == (3, False)


@pytest.mark.parametrize("end", [*ERRORS, *STATUSES])
@pytest.mark.parametrize("kind", LOADERS)
def test_a_block_and_a_recorded_loader_agree(
    kind: str, end: type[BaseException], tmp_path: Path
) -> None:
    batches = name(LOADERS[kind](), "main")
    with pytest.raises(end), record_all(tmp_path / "block"):
        interrupted(batches, end)
    with pytest.raises(end), record(LOADERS[kind](), tmp_path / "record") as twin:
        interrupted(twin, end)
    block, recorded = open_run(tmp_path / "block"), open_run(tmp_path / "record")

    assert (block.rows, recorded.rows) == (3, 3)
    assert block.complete is recorded.complete is (end in STATUSES)


@pytest.mark.parametrize("kind", LOADERS)
def test_an_error_breaks_off_what_was_iterated_before_it_and_is_still_held(
    kind: str, tmp_path: Path
) -> None:
    train, val = name(LOADERS[kind](), "train"), name(LOADERS[kind](), "val")

    def main() -> None:
        fit(train)
        interrupted(val, KeyError)

    with pytest.raises(KeyError):
        in_a_block(tmp_path / "run", main)
    streams = open_run(tmp_path / "run").streams

    assert {stream: streams[stream].complete for stream in streams} == {
        "train": False,
        "val": False,
    }


@pytest.mark.parametrize("kind", LOADERS)
def test_an_error_breaks_off_a_loader_that_is_gone_with_its_loop(kind: str, tmp_path: Path) -> None:
    with pytest.raises(KeyError), record_all(tmp_path / "run"):
        interrupted(name(LOADERS[kind](), "train"), KeyError)
    run = verify_run(tmp_path / "run")

    assert (run.rows, run.complete) == (3, False)


@pytest.mark.parametrize("kind", ["torch", "tensorflow", "ours"])  # Grain keeps its own
def test_a_loader_that_was_at_its_end_when_it_went_is_whole(kind: str, tmp_path: Path) -> None:
    def main() -> None:
        fit(name(LOADERS[kind](), "train"))
        gc.collect()
        raise KeyError

    with pytest.raises(KeyError):
        in_a_block(tmp_path / "run", main)

    assert open_run(tmp_path / "run").complete


def test_an_error_that_does_not_leave_the_block_breaks_nothing_off(tmp_path: Path) -> None:
    with record_all(tmp_path / "run"), contextlib.suppress(KeyError):
        interrupted(loader(), KeyError)

    assert open_run(tmp_path / "run").complete


def test_a_generator_that_its_caller_leaves_is_whole(tmp_path: Path) -> None:
    @record_all(tmp_path / "run")
    def steps() -> Iterator[Any]:
        yield from name(loader(), "train")

    begun = steps()
    with pytest.raises(KeyError):
        interrupted(begun, KeyError)
    del begun

    assert open_run(tmp_path / "run").complete
