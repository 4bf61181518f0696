"""Batches as tensors: which framework's, and that they hold the batch."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detloader.errors import MissingExtraError, UsageError
from detloader.hdf5.delivery.tensors import TensorConverter, tensor_converter

BATCH = np.arange(6, dtype=np.float32).reshape(1, 2, 3)

CHOOSE = (
    "from detloader.hdf5.delivery.tensors import tensor_converter; "
    "print(tensor_converter().framework)"
)


def printed(program: str, **variables: str) -> list[str]:
    environment = {name: os.environ[name] for name in os.environ if name != "KERAS_BACKEND"}
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment | quiet | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


# The choice


@pytest.mark.parametrize("name", ["tensorflow", "torch", "numpy"])
def test_keras_backend_names_the_framework(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("KERAS_BACKEND", name)

    assert tensor_converter().framework == name


def test_a_framework_that_is_named_and_missing_is_an_import_error_with_its_cure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    with pytest.raises(MissingExtraError, match=r"'detloader\[torch\]'") as error:
        tensor_converter()

    assert isinstance(error.value, ImportError)


def test_a_backend_that_has_no_tensors_of_its_own_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "openvino")

    with pytest.raises(
        UsageError, match=r"'openvino'; known here are tensorflow, torch, jax, numpy"
    ):
        tensor_converter()


def test_an_imported_framework_comes_before_an_installed_one(tmp_path: Path) -> None:
    (tmp_path / "torch.py").touch()
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import torch; {CHOOSE}"

    assert printed(program) == ["torch"]


def test_the_backend_of_an_imported_keras_comes_before_an_imported_framework(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import keras
    import torch

    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)

    assert torch.__name__ in sys.modules
    assert tensor_converter().framework == keras.config.backend()


def test_choosing_imports_no_framework() -> None:
    heavy = "{'tensorflow', 'torch', 'jax', 'keras'}"
    program = f"{CHOOSE}; import sys; print({heavy} & {{*sys.modules}})"

    assert printed(program) == ["tensorflow", "set()"]


def test_without_any_framework_batches_stay_arrays() -> None:
    # Python's own folder has no packages in it.
    program = "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]\n"
    checked = "import numpy; from detloader.errors import DetloaderError\n"

    assert printed(f"{checked}{program}{CHOOSE}") == ["numpy"]


# The tensors


def test_tensorflow_tensors_hold_the_batch_on_the_cpu() -> None:
    import tensorflow as tf

    tensor = TensorConverter("tensorflow")(BATCH)

    assert isinstance(tensor, tf.Tensor)
    assert tensor.dtype == tf.float32
    assert "CPU" in tensor.device
    np.testing.assert_array_equal(tensor.numpy(), BATCH)


def test_torch_tensors_hold_the_batch_on_the_cpu() -> None:
    import torch

    tensor = TensorConverter("torch")(BATCH)

    assert isinstance(tensor, torch.Tensor)
    assert tensor.dtype == torch.float32
    assert tensor.device.type == "cpu"
    np.testing.assert_array_equal(tensor.numpy(), BATCH)


def test_numpy_gets_the_batch_itself() -> None:
    assert TensorConverter("numpy")(BATCH) is BATCH


def test_what_is_a_tensor_already_stays_one() -> None:
    import torch

    tensor: Any = torch.ones(3)

    assert TensorConverter("torch")(tensor) is tensor


@pytest.mark.parametrize("name", ["tensorflow", "torch", "jax", "numpy"])
def test_a_converter_can_be_pickled(name: str) -> None:
    converter: Any = TensorConverter(name)

    assert pickle.loads(pickle.dumps(converter)) == converter  # noqa: S301 - its own
