"""`to_tf_dataset` clause by clause (HF-1 to HF-4), missing packages, and the published imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import detloader
from detloader import to_grain, to_tf_dataset
from detloader.errors import LoaderError
from tests.support.trees import assert_all_equal

BATCH = {"x": tf.TensorSpec((None, 2), tf.float32), "y": tf.TensorSpec((None,), tf.int64)}


def batches() -> list[dict[str, Any]]:
    return [{"x": np.full((rows, 2), rows, np.float32), "y": np.arange(rows)} for rows in (3, 3, 1)]


class Counted:
    """Batches, and how often they were begun and how many were asked for."""

    def __init__(self) -> None:
        self.begun = 0
        self.asked = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.begun += 1
        for batch in batches():
            self.asked += 1
            yield batch


def test_hf_01_elements_pass_in_order_with_one_iteration_for_each_pass() -> None:
    source = Counted()
    dataset = to_tf_dataset(source, BATCH)

    assert source.begun == 0
    for number in (1, 2):
        assert_all_equal(dataset.as_numpy_iterator(), batches())
        assert source.begun == number


def test_hf_01_nothing_is_read_ahead() -> None:
    source = Counted()
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    iterator = iter(to_tf_dataset(source, BATCH).with_options(options))

    next(iterator)

    assert source.asked == 1


def test_hf_01_a_stream_of_grain_comes_as_it_is() -> None:
    grain = to_grain(range(10), seed=2, shuffle=True, batch_size=4, num_epochs=2)

    dataset = to_tf_dataset(grain, tf.TensorSpec((None,), tf.int64))

    assert_all_equal(dataset.as_numpy_iterator(), grain)
    assert_all_equal(dataset.as_numpy_iterator(), grain)


def test_hf_02_the_signature_is_that_of_one_element() -> None:
    dataset = to_tf_dataset(batches(), BATCH)
    fixed = BATCH | {"y": tf.TensorSpec((3,), tf.int64)}

    assert dataset.element_spec == BATCH
    assert len(list(to_tf_dataset(batches()[:2], fixed))) == 2
    with pytest.raises(LoaderError, match=r"element 2 .*\['y'\] has shape \(1,\), not \(3,\)"):
        list(to_tf_dataset(batches(), fixed))


def test_hf_02_elements_take_the_types_of_the_signature() -> None:
    half = tf.TensorSpec((None,), tf.float16)

    (element,) = to_tf_dataset([np.arange(3)], half)

    assert (element.dtype, element.numpy().tolist()) == (tf.float16, [0, 1, 2])


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_hf_03_a_list_of_batches_will_do(kind: Any) -> None:
    assert_all_equal(to_tf_dataset(kind(batches()), BATCH).as_numpy_iterator(), batches())


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""


@pytest.mark.parametrize(
    "call",
    [
        "from detloader.data import to_tf_dataset as f; f([], None)",
        "from detloader import create_interleaved_dataset_from_generator as f; f(*[None] * 4)",
    ],
)
def test_hf_04_without_tensorflow_the_extra_is_named(call: str) -> None:
    program = (
        WITHOUT.format(package="tensorflow")
        + f"""
try:
    {call}
except ImportError as error:
    print(error)
"""
    )

    result = run(program)

    assert result.stderr == ""
    assert result.stdout == ("tensorflow is not installed: pip install 'detloader[tensorflow]'\n")


def test_a_tensorflow_that_does_not_import_is_not_called_missing() -> None:
    program = (
        WITHOUT.format(package="numpy")
        + """
try:
    from detloader.data import to_tf_dataset
    to_tf_dataset([], None)
except ImportError as error:
    print(error.name)
"""
    )

    assert run(program).stdout.strip() == "numpy"


def test_importing_imports_no_backend() -> None:
    program = """
import sys
import detloader, detloader.data, detloader.utils, detloader.tensorflow
detloader.StreamMode("finite"), detloader.to_tf_dataset, detloader.set_random_seed
detloader.create_interleaved_dataset_from_generator, detloader.to_torch_loader
print(sorted({name.partition(".")[0] for name in sys.modules}))
"""

    loaded = run(program)

    assert loaded.stderr == ""
    assert not {"tensorflow", "torch", "keras", "jax", "grain", "pandas"} & set(eval(loaded.stdout))  # noqa: S307


def test_the_published_modules_have_the_published_names() -> None:
    from detloader import data, utils

    for module in (data, utils):
        for name in module.__all__:
            if name != "DataSource":
                assert getattr(module, name) is getattr(detloader, name)
    assert {"to_grain", "to_tf_dataset", "to_torch_loader", "DataSource"} == set(data.__all__)
    assert set(utils.__all__) == {
        "StreamMode",
        "create_interleaved_dataset_from_generator",
        "random_id_generator",
        "set_random_seed",
        "uniform_id_generator",
    }
