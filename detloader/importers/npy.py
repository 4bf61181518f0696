"""Orders as NumPy arrays: one integer for each delivered sample.

Such are the shuffle and document indices of Megatron (`…_shuffle_idx.npy`), and OLMo's
`global_indices.npy`, which is raw 32-bit numbers without the header of its ending.
"""

from __future__ import annotations

from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.errors import LogError
from detloader.importers.format import CUT, LogFormat

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
    order, cut = _load(log)
    if order.ndim != 1 or order.dtype.kind not in "iu":
        message = (
            f"{log} holds {order.dtype} of shape {order.shape}, and an order is one integer for "
            "each sample: name the file of the shuffled indices"
        )
        raise LogError(message)
    return pa.table({"record": pa.array(order)}, metadata={CUT: cut})


def _load(log: Path) -> tuple[NDArray[Any], str]:
    """Give the array, and what is to be told of a file that ends within a number."""
    with log.open("rb") as file:
        has_header = file.read(len(_MAGIC)) == _MAGIC
    if not has_header and log.name == _RAW:
        order = np.fromfile(log, np.dtype("<u4"))
        is_whole = order.nbytes == log.stat().st_size
        return order, "" if is_whole else f"{log} is cut off after number {len(order)}"
    try:
        # Of all that np.load opens, archives and pickles among it, arrays alone are orders.
        loaded = np.lib.format.open_memmap(log, mode="r")
    except (ValueError, EOFError, OverflowError, TypeError, SyntaxError, TokenError) as error:
        reason = " ".join(str(error).split())
        message = f"{log} is no array of NumPy that can be read: {reason}"
        raise LogError(message) from error
    return loaded.astype(loaded.dtype.newbyteorder("=")), ""


FORMAT = LogFormat(suffixes=(".npy",), read=_read, is_text=False, row_name="row", first_row=1)
