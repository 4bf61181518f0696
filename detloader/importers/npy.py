"""Orders as NumPy arrays: one integer for each delivered sample.

Such are the shuffle and document indices of Megatron (`…_shuffle_idx.npy`), and OLMo's
`global_indices.npy`, which is raw 32-bit numbers without the header of its ending.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.errors import LogError
from detloader.importers.format import LogFormat

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMAT"]

_MAGIC = b"\x93NUMPY"
_RAW = "global_indices.npy"


def _read(log: Path) -> pa.Table:
    """Read the array as the record of each row.

    Raises:
        LogError: if the file holds no one-dimensional array of integers.
    """
    order = _load(log)
    if order.ndim != 1 or order.dtype.kind not in "iu":
        message = (
            f"{log} holds {order.dtype} of shape {order.shape}, and an order is one integer for "
            "each sample: name the file of the shuffled indices"
        )
        raise LogError(message)
    return pa.table({"record": pa.array(order)})


def _load(log: Path) -> NDArray[Any]:
    with log.open("rb") as file:
        has_header = file.read(len(_MAGIC)) == _MAGIC
    try:
        if not has_header and log.name == _RAW:
            return np.fromfile(log, np.dtype("<u4"))
        loaded: NDArray[Any] = np.load(log, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        message = f"{log} is no array of NumPy that can be read: {error}"
        raise LogError(message) from error
    return loaded.astype(loaded.dtype.newbyteorder("="))


FORMAT = LogFormat(suffixes=(".npy",), read=_read, is_text=False, row_name="row", first_row=1)
