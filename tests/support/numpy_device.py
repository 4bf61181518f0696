"""A device of Torch's own kind, named "npy", whose memory is NumPy's.

Torch lets a backend be written in Python; so tensors that are on a device, and that NumPy refuses
as it refuses those on a GPU, are there on every machine.

`python -m tests.support.numpy_device RUN` records batches that lie on it, and the same ones that
do not into RUN-host; it prints the device of the batches.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
from torch.utils.data import DataLoader

from detloader import record

NAME = "npy"
DTYPES = {torch.float32: np.float32, torch.int64: np.int64}


class Placed(torch.Tensor):
    """A tensor on the device."""

    array: np.ndarray[Any, Any]


def placed(array: np.ndarray[Any, Any]) -> torch.Tensor:
    dtype = next(torch_type for torch_type, numpy in DTYPES.items() if array.dtype == numpy)
    tensor = torch._C._acc.create_empty_tensor(array.shape, dtype)
    tensor.__class__ = Placed
    vars(tensor)["array"] = array
    return tensor


def detach(tensor: Placed) -> torch.Tensor:
    return placed(tensor.array)


def empty_strided(size: Any, _stride: Any, dtype: torch.dtype, **_: Any) -> torch.Tensor:
    return placed(np.empty(tuple(size), DTYPES[dtype]))


def copy_from(source: torch.Tensor, target: torch.Tensor, _blocking: bool = False) -> torch.Tensor:
    values = source.array if isinstance(source, Placed) else source.numpy()
    if isinstance(target, Placed):
        target.array[...] = values
    else:
        target.copy_(torch.from_numpy(values))
    return target


def set_up() -> None:
    _setup_privateuseone_for_python_backend(NAME)
    kernels: dict[str, Callable[..., torch.Tensor]] = {
        "aten::detach": detach,
        "aten::empty_strided": empty_strided,
        "aten::_copy_from": copy_from,
    }
    for name, kernel in kernels.items():
        torch.library.impl(name, "privateuseone")(kernel)


def on_device(samples: list[int]) -> dict[str, torch.Tensor]:
    host = on_host(samples)
    return {name: tensor.to(NAME) for name, tensor in host.items()}


def on_host(samples: list[int]) -> dict[str, torch.Tensor]:
    numbers = torch.tensor(samples)
    return {"x": numbers[:, None] / 8, "label": numbers % 3}


def main(run: str) -> None:
    set_up()
    for collate, path in ((on_device, run), (on_host, f"{run}-host")):
        data: Any = range(10)
        loader: DataLoader[int] = DataLoader(data, batch_size=4, collate_fn=collate)
        with record(loader, path) as twin:
            devices = {str(tensor.device) for batch in twin for tensor in batch.values()}
        sys.stdout.write(f"{' '.join(devices)}\n")


if __name__ == "__main__":
    main(sys.argv[1])
