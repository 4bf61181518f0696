"""The published contract of `to_torch_loader`, clause by clause (HT-1 to HT-7), and recording."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset

from detloader import open_run, record, to_grain
from detloader.audits import audit
from detloader.torch import to_torch_loader
from tests.support import transforms

Point = namedtuple("Point", ["x", "y"])  # noqa: PYI024 - as records of old have them


def noisy_stream(workers: int = 0) -> Any:
    source = [{"x": np.full(8, index, np.float32), "y": index} for index in range(10)]
    return to_grain(
        source,
        seed=11,
        shuffle=True,
        transform=transforms.add_noise,
        batch_size=3,
        num_epochs=2,
        workers=workers,
    )


def only(element: Any) -> Any:
    (found,) = to_torch_loader([element])
    return found


def assert_equal_batches(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert list(one) == list(other)
        for key in other:
            assert np.array_equal(one[key].numpy(), other[key])
            assert one[key].numpy().dtype == other[key].dtype


@pytest.mark.parametrize("workers", [0, 2])
def test_ht_1_each_iteration_gives_the_same_batches_in_the_same_order(workers: int) -> None:
    stream = noisy_stream(workers)
    loader = to_torch_loader(stream)

    expected = list(noisy_stream())

    assert_equal_batches(list(loader), expected)
    assert_equal_batches(list(loader), expected)


def test_ht_1_each_iteration_iterates_the_dataset_once() -> None:
    started = []

    class Dataset:
        def __iter__(self) -> Iterator[int]:
            started.append(1)
            return iter(range(3))

    loader = to_torch_loader(Dataset())

    assert [list(loader), list(loader)] == [[0, 1, 2], [0, 1, 2]]
    assert len(started) == 2


def test_ht_2_numpy_arrays_and_numbers_become_tensors_of_their_type() -> None:
    for dtype in ("bool", "uint8", "uint16", "int16", "int64", "float16", "float64", "complex64"):
        array = np.ones((2, 3), dtype)
        for leaf in (array, array[0, 0], array[:, ::-1], array.astype(array.dtype.newbyteorder())):
            tensor = only(leaf)
            assert isinstance(tensor, torch.Tensor)
            assert tensor.numpy().dtype == dtype
            assert np.array_equal(tensor.numpy(), leaf)


def test_ht_2_containers_keep_their_types_and_mappings_their_order() -> None:
    one = np.ones(2)
    batch: dict[str, Any] = {
        "tuple": (one, [one]),
        "named": Point(one, "text"),
        "ordered": OrderedDict(b=one, a=one),
        "proxy": MappingProxyType({"x": one}),
        "default": defaultdict(lambda: one, x=one),
    }

    found = only(batch)

    assert list(found) == list(batch)
    assert {key: type(value) for key, value in found.items()} == {
        key: type(value) for key, value in batch.items()
    }
    assert list(found["ordered"]) == ["b", "a"]
    assert found["default"].default_factory is batch["default"].default_factory
    leaves = [*found["tuple"][1], found["named"].x, found["ordered"]["a"], found["proxy"]["x"]]
    assert all(torch.equal(leaf, torch.ones(2, dtype=torch.float64)) for leaf in leaves)


def test_ht_2_a_mapping_that_cannot_be_made_of_a_dict_becomes_one() -> None:
    class Fixed(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            return {"x": np.zeros(1)}[key]

        def __iter__(self) -> Iterator[str]:
            return iter(["x"])

        def __len__(self) -> int:
            return 1

    found = only(Fixed())

    assert type(found) is dict
    assert isinstance(found["x"], torch.Tensor)


def test_ht_2_other_leaves_stay_as_they_are() -> None:
    leaves = [None, "text", 3, 2.5, object(), torch.ones(2), np.array(["a"]), np.array([{}])]

    found = only(leaves)

    assert all(one is other or type(one) is np.ndarray for one, other in zip(found, leaves))  # noqa: B905
    assert found[6].tolist() == ["a"]
    assert found[7].tolist() == [{}]


def test_ht_3_nothing_is_batched_shuffled_or_read_ahead_and_no_worker_is_started() -> None:
    read = []

    def elements() -> Iterator[int]:
        for number in range(5):
            read.append(number)
            yield number

    loader = to_torch_loader(elements())

    assert isinstance(loader, DataLoader)
    assert isinstance(loader.dataset, IterableDataset)
    assert loader.batch_size is None
    assert loader.num_workers == 0
    assert [number == len(read) - 1 for number in loader] == [True] * 5


def test_ht_4_arrays_of_subclasses_are_copied() -> None:
    class Shared(np.ndarray[Any, Any]):
        pass

    array = np.zeros(3).view(Shared)

    tensor = only(array)
    array[:] = 1

    assert torch.equal(tensor, torch.zeros(3, dtype=torch.float64))


def test_ht_5_tensors_are_the_loops_own() -> None:
    batches = [{"x": np.zeros(3)}]
    kept = np.zeros(3)
    unbatched = to_grain(range(1), seed=0, transform=lambda record, rng: kept)

    for loader in (to_torch_loader(batches), to_torch_loader(unbatched)):
        for batch in loader:
            (batch["x"] if isinstance(batch, dict) else batch).add_(1)

    assert batches[0]["x"].tolist() == kept.tolist() == [0, 0, 0]


def test_ht_5_batches_of_a_stream_are_its_own_already_and_not_copied_again() -> None:
    addresses = []

    class Spy:
        def __init__(self, stream: Any) -> None:
            self.plan = stream.plan
            self.stream = stream

        def __iter__(self) -> Iterator[Any]:
            for batch in self.stream:
                addresses.append(batch["x"].ctypes.data)
                yield batch

    found = [batch["x"].data_ptr() for batch in to_torch_loader(Spy(noisy_stream()))]

    assert found == addresses


def test_ht_6_there_is_no_length_and_each_iteration_takes_one_draw_of_torch() -> None:
    loader = to_torch_loader([1, 2])
    with pytest.raises(TypeError):
        len(loader)

    torch.manual_seed(3)
    torch.empty((), dtype=torch.int64).random_()
    after_one = torch.get_rng_state()
    torch.manual_seed(3)
    list(loader)

    assert torch.equal(torch.get_rng_state(), after_one)


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from detloader.torch import to_torch_loader
try:
    to_torch_loader([])
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_ht_7_without_torch_the_error_names_the_extra() -> None:
    program = [sys.executable, "-c", WITHOUT_TORCH]

    done = subprocess.run(program, check=True, capture_output=True, text=True)

    assert done.stdout.startswith("MissingExtraError torch is not installed")
    assert "detloader[torch]" in done.stdout


def test_ht_7_importing_the_module_does_not_import_torch() -> None:
    program = "import sys, detloader.torch; print('torch' in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )

    assert done.stdout == "False\n"


@pytest.mark.parametrize("workers", [0, 2])
def test_a_recorded_loader_and_a_loader_of_a_recorded_stream_make_the_run_of_the_stream(
    tmp_path: Path, workers: int
) -> None:
    expected = list(noisy_stream())

    with record(noisy_stream(workers), tmp_path / "stream") as stream:
        list(stream)
    with record(to_torch_loader(noisy_stream(workers)), tmp_path / "around") as loader:
        assert isinstance(loader, DataLoader)
        assert_equal_batches(list(loader), expected)
    with record(noisy_stream(workers), tmp_path / "inside") as stream:
        assert_equal_batches(list(to_torch_loader(stream)), expected)

    for name in ("around", "inside"):
        assert audit(tmp_path / "stream", tmp_path / name).verdict == "identical"
        assert columns(tmp_path / name) == columns(tmp_path / "stream")


def columns(run: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = open_run(run).streams["main"].table().to_pydict()
    return found


def test_recording_takes_no_further_draw_and_each_iteration_is_the_next_epoch(
    tmp_path: Path,
) -> None:
    torch.manual_seed(3)
    plain = to_torch_loader(noisy_stream())
    list(plain), list(plain)
    state = torch.get_rng_state()

    torch.manual_seed(3)
    with record(to_torch_loader(noisy_stream()), tmp_path / "run") as loader:
        list(loader), list(loader)

    assert torch.equal(torch.get_rng_state(), state)
    assert columns(tmp_path / "run")["epoch"] == [e for e in range(4) for _ in range(10)]


def test_a_loop_that_breaks_off_leaves_an_incomplete_run(tmp_path: Path) -> None:
    def break_off() -> None:
        with record(to_torch_loader(noisy_stream()), tmp_path / "run") as loader:
            for _ in loader:
                raise KeyError

    with pytest.raises(KeyError):
        break_off()

    run = open_run(tmp_path / "run")

    assert run.rows == 3
    assert not run.complete
