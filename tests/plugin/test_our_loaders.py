"""The project's own loaders, tested with its own plugin."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from detloader import (
    Dataloader,
    create_interleaved_dataset_from_generator,
    random_id_generator,
    to_torch_loader,
)
from detloader.testing import Assertions
from tests.support import streams
from tests.support.hdf5_files import numbered, write_file
from tests.support.plugin_loaders import grain, noisy

WORKERS = {"workers": [0, 1, 2]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of frames."""
    path = tmp_path_factory.mktemp("frames")
    for number in range(3):
        write_file(path / f"{number}.hdf5", numbered(7, 100 * number, (5, 5)))
    return path


def make_frames(folder: Path, num_threads: int = 0, seed: int = 0) -> Any:
    return Dataloader(
        str(folder),
        "data/image",
        batch_size=4,
        seed=seed,
        num_threads=num_threads,
        image_size=(2, 2),
        resize_type="random_crop",
    )


def make_interleaved(num_workers: int = 4, seed: int = 0) -> Any:
    """Give numbered records to TensorFlow, drawn at random for ever."""
    return create_interleaved_dataset_from_generator(
        data_generator=streams.numbers,
        id_generator=functools.partial(random_id_generator, seed=seed),
        ids=list(range(10)),
        spec=streams.NUMBER,
        num_workers=num_workers,
    )


def make_tensors(workers: int = 0, seed: int = 0) -> Any:
    return to_torch_loader(noisy(workers, seed))


def test_a_grain_stream_follows_its_seed_and_nothing_else(detloader: Assertions) -> None:
    detloader.assert_invariant(grain, over=WORKERS)
    detloader.assert_seed_sensitive(noisy, seeds=[0, 1, 2**32 - 1])
    detloader.assert_reproducible(grain, times=2)


def test_a_grain_stream_goes_on_and_covers_its_source(detloader: Assertions) -> None:
    detloader.assert_resumable(noisy, at=[1, 5])
    detloader.assert_covers(noisy, epochs=2, arguments={"num_epochs": 2})
    detloader.assert_clean(noisy(num_epochs=3))


def test_the_order_of_a_grain_stream_is_as_it_was_published(detloader: Assertions) -> None:
    detloader.assert_matches(noisy(num_epochs=2), "grain-stream", content="float32")


@pytest.mark.seed_invariant(workers=[0, 1], seeds=[0, 7])
def test_tensors_for_torch_follow_no_worker(workers: int, seed: int) -> Any:
    return make_tensors(workers, seed)


@pytest.fixture
def loader() -> Any:
    return make_tensors


@pytest.mark.seed_invariant(workers=[0, 1])
def test_a_training_loop_sees_the_same_tensors(loader: Any) -> None:
    shapes = [batch["noise"].shape for batch in loader]

    assert shapes == [(8, 3)] * 12 + [(4, 3)]


def test_frames_of_files_follow_their_seed_and_nothing_else(detloader: Assertions) -> None:
    detloader.assert_invariant(make_frames, over={"threads": [0, 1, 4]})
    detloader.assert_seed_sensitive(make_frames)
    detloader.assert_covers(make_frames, epochs=2)


def test_a_schedule_for_tensorflow_follows_its_seed_and_nothing_else(
    detloader: Assertions,
) -> None:
    detloader.assert_invariant(make_interleaved, over={"workers": [1, 2, 4]}, elements=60)
    detloader.assert_seed_sensitive(make_interleaved, elements=60)
