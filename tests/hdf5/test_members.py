"""The members of the class, and that they are those of the published one."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import grain
import h5py
import numpy as np
import pytest
import torch

from detloader.hdf5.loader import Dataloader
from tests.support.hdf5_files import first_values, load, numbered, write, write_file

PARAMETERS = (
    "file_paths, key='data/image', batch_size=16, n_frames=1, shuffle=True, "
    "return_filename=False, seed=None, limit_n_samples=None, limit_n_frames=None, "
    "drop_remainder=False, image_size=None, resize_type=None, resize_axes=None, "
    "resize_kwargs=None, image_range=None, normalization_range=None, clip_image_range=False, "
    "assert_image_range=True, dataset_repetitions=None, cache=False, additional_axes_iter=None, "
    "sort_files=True, overlapping_blocks=False, augmentation=None, initial_frame_axis=0, "
    "insert_frame_axis=True, frame_index_stride=1, frame_axis=-1, validate=True, revision=None, "
    "prefetch=True, shard_index=None, num_shards=1, num_threads=16, prefetch_buffer_size=500, "
    "reshuffle_each_epoch=True, convert_to_tensor=True"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("members"), 7, 7, 7)


def test_parameters_and_defaults_are_the_published_ones() -> None:
    parameters = list(inspect.signature(Dataloader).parameters.values())
    positional = [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    further = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]

    told = ", ".join(str(p.replace(annotation=inspect.Parameter.empty)) for p in positional)
    assert told == PARAMETERS
    assert further == ["shard_remainder", "compatibility"]
    assert parameters[-1].kind is inspect.Parameter.VAR_KEYWORD


def test_the_dataset_is_one_of_grain_with_random_access(folder: Path) -> None:
    loader = load(folder)
    list(loader)
    batches = list(loader.to_iter_dataset())

    assert isinstance(loader.dataset, grain.MapDataset)
    assert isinstance(loader.to_iter_dataset(), grain.IterDataset)
    assert len(loader.dataset) == len(loader) == len(batches) == 6
    for number in (5, 0, 3, -6):
        np.testing.assert_array_equal(loader.dataset[number], batches[number % 6])
    assert first_values(loader.dataset[1:3]) == first_values(batches[1:3])
    assert len(list(loader.dataset.repeat(2))) == 12


def test_a_dataset_that_is_held_keeps_its_order(folder: Path) -> None:
    loader = load(folder)
    held = loader.dataset
    before = first_values(held)

    list(loader)

    assert first_values(held) == before != first_values(loader.dataset)


def test_further_passes_of_the_dataset_go_on_with_those_of_the_repetitions(folder: Path) -> None:
    once, twice = load(folder, batch_size=7), load(folder, batch_size=7, dataset_repetitions=2)

    assert first_values(once.dataset.repeat(2)) == first_values(twice.dataset)


def test_repr_is_the_published_one(folder: Path) -> None:
    assert repr(load(folder)) == (
        "Dataloader(n_samples=21, batch_size=4, key='data/image', threads=0)"
    )


def test_a_loader_can_be_used_after_it_was_closed(folder: Path) -> None:
    with load(folder) as loader:
        first = first_values(loader)
    loader.set_epoch(0)

    assert first_values(loader) == first


def test_without_batches_there_are_samples(folder: Path) -> None:
    loader = load(folder, batch_size=None)

    samples = list(loader)

    assert len(loader) == len(samples) == 21
    assert {sample.shape for sample in samples} == {loader.shape} == {(2, 2, 1)}
    assert {sample.dtype for sample in samples} == {np.dtype(np.float32)}


@pytest.mark.parametrize("threads", [0, 1, 16])
@pytest.mark.parametrize("prefetch", [True, False])
def test_elements_do_not_depend_on_threads_or_reading_ahead(
    folder: Path, threads: int, prefetch: bool
) -> None:
    loader = load(folder, num_threads=threads, prefetch=prefetch, prefetch_buffer_size=9)

    assert first_values(loader) == first_values(load(folder))


@pytest.mark.parametrize(
    ("frame", "arguments", "ahead"),
    [
        ((2, 2), {}, 125),
        ((2, 2), {"prefetch_buffer_size": 9}, 3),
        # Four frames of a megabyte each.
        ((500, 500), {}, 16),
        ((500, 500), {"image_size": (2, 2)}, 125),
        ((500, 500), {"batch_size": None}, 64),
        ((500, 500), {"batch_size": 100}, 1),
        ((500, 500), {"prefetch": False}, 0),
    ],
)
def test_what_is_read_ahead_is_bound_in_samples_and_in_bytes(
    tmp_path: Path, frame: tuple[int, int], arguments: dict[str, Any], ahead: int
) -> None:
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("data/image", (200, *frame), np.float32, chunks=(1, *frame))

    options = load(path, num_threads=16, **arguments).plan.read_options()

    assert options.prefetch_buffer_size == ahead
    assert options.num_threads == min(16, ahead)


def test_metadata_tell_where_samples_are_from(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.b.hdf5", np.zeros((4, 5, 3)))

    loader = load(path, return_filename=True, n_frames=2, additional_axes_iter=(2,), shuffle=False)
    images, told = next(iter(loader))

    assert images.shape == loader.shape == (4, 5, 2, 1)
    assert told["fullpath"].tolist() == [str(path)] * 4
    assert told["filename"].tolist() == ["a.b"] * 4
    frames, heights, columns = told["indices"]
    assert frames.tolist() == [slice(0, 2, 1)] * 3 + [slice(2, 4, 1)]
    assert heights.tolist() == [slice(None, 5, None)] * 4
    assert columns.tolist() == [0, 1, 2, 0]


def test_values_are_float32_of_the_range_asked_for(tmp_path: Path) -> None:
    frames = np.array([0, 51, 255, 204], np.uint8).reshape(1, 2, 2)
    path = write_file(tmp_path / "a.hdf5", frames)

    (batch,) = load(path, image_range=(0, 255), normalization_range=(-1, 1))

    assert batch.dtype == np.float32
    np.testing.assert_allclose(batch.ravel(), [-1, -0.6, 1, 0.6], rtol=1e-6)


def test_values_are_clipped_before_they_are_checked(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(4))

    loader = load(path, image_range=(1, 2), clip_image_range=True, shuffle=False)

    assert first_values(loader) == [1, 1, 2, 2]
    unchecked = load(path, image_range=(1, 2), assert_image_range=False, shuffle=False)
    assert first_values(unchecked) == [0, 1, 2, 3]


def test_the_cache_gives_what_the_files_held(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(8))
    loader = load(path, cache=True, num_threads=2)
    first = sorted(first_values(loader))
    loader.close()
    path.unlink()

    assert sorted(first_values(loader)) == first == list(range(8))


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_images_are_tensors_of_the_backend_that_keras_would_have(
    folder: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", backend)
    loader = load(folder, convert_to_tensor=True, return_filename=True)

    images, told = next(iter(loader))

    assert isinstance(images, torch.Tensor if backend == "torch" else np.ndarray)
    assert tuple(images.shape) == loader.shape
    assert isinstance(told["filename"], np.ndarray)


def test_an_empty_import_of_the_package_imports_no_framework() -> None:
    program = (
        "import sys, detloader.hdf5.loader; "
        "print([m for m in ('tensorflow', 'torch', 'jax', 'keras', 'cv2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert done.stdout.strip() == b"[]"
