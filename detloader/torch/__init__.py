"""`to_torch_loader`: the batches of a Grain dataset, or of any iterable, as tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from detloader.extras import require

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

__all__ = ["to_torch_loader"]


def to_torch_loader(dataset: Iterable[Any]) -> DataLoader[Any]:
    """Wrap a dataset of NumPy batches as a Torch loader of tensors.

    Nothing is batched, shuffled or read ahead, and no worker is started: the dataset does
    that. Each `iter()` iterates it once more; as any iteration of a Torch loader does, that
    takes one draw from Torch's global generator.

    Arrays and NumPy's numbers become tensors of the same type. The tensors are the loop's
    own: what it does to them in place is not seen in the dataset. Containers keep their
    types, and mappings their order; text, and arrays of text or of objects, stay as they are.

    Args:
        dataset: a stream of `to_grain`, recorded or not, or anything that can be iterated
            again and again.

    Returns:
        A `torch.utils.data.DataLoader` without a length.

    Raises:
        MissingExtraError: Torch is not installed.
        UsageError: the dataset cannot be iterated.
    """
    require("torch", extra="torch")
    from detloader.torch.batches import loader_of

    return loader_of(dataset)
