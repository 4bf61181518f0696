"""Names of a program's loaders, by which audits pair their streams."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TypeVar
from weakref import WeakKeyDictionary

from detloader.errors import UsageError
from detloader.manifest.layout import MOST_OF_NAME, check_stream

__all__ = ["declared_with_name", "name", "name_of"]

Loader = TypeVar("Loader")

_HOLDER = "grain._src.python.data_loader.DataLoader"
"""A loader that iterates a dataset of its own: that is what a program is seen to iterate."""

_RECORDED = {
    _HOLDER,
    "detloader.hdf5.loader.Dataloader",
    "grain._src.python.dataset.dataset._Dataset",
    "tensorflow.python.data.ops.dataset_ops.DatasetV2",
    "tensorflow.python.distribute.input_lib.DistributedDataset",
    "tensorflow.python.distribute.input_lib.DistributedDatasetsFromFunction",
    "torch.utils.data.dataloader.DataLoader",
}
"""Classes whose objects a program is recorded to iterate, our streams of Grain among them: named,
for none is imported here.
"""

_names: WeakKeyDictionary[object, str] = WeakKeyDictionary()
_declared: WeakKeyDictionary[object, Mapping[str, object]] = WeakKeyDictionary()


def name(loader: Loader, stream: str, *, declared: Mapping[str, object] | None = None) -> Loader:
    """Name the stream of a loader that `detloader record -- PROGRAM` records.

    Without a name it is that of the line that made the loader, such as `train.py:41`, which
    moves when the program is edited. A program that is not recorded is not changed by it.

    >>> import grain
    >>> train = name(grain.MapDataset.range(3), "train")
    >>> name_of(train)
    'train'

    Args:
        loader: the loader, before it is iterated.
        stream: its name: up to 100 letters, digits and any of `_ . : = @ + -`.
        declared: what it is meant to be, as `record` takes it: that each rank reads all of a
            validation set is `{"config": {"replication": True}}`.

    Returns:
        The loader itself.

    Raises:
        UsageError: no stream can have that name, `declared` is no mapping, has a field that is
            unknown or of the wrong type, or cannot be written as JSON, or the loader is of no
            kind that is recorded as it is iterated: those of Torch, TensorFlow, Grain and
            detloader are, and a list, a generator or a class of one's own are not.
    """
    check_stream(stream, MOST_OF_NAME)
    _require_loader(loader)
    if declared is not None:
        from detloader.adapters.declaring import checked_fields

        # Or it would be found when the loader is iterated, far from here.
        declared = checked_fields(declared)
    _names[loader] = stream
    _declared[loader] = declared or {}
    if _HOLDER in _classes_of(loader):
        name(vars(loader)["_dataset"], stream, declared=declared)
    return loader


def _require_loader(loader: object) -> None:
    if not _RECORDED.isdisjoint(_classes_of(loader)):
        with contextlib.suppress(TypeError):  # of a kind that has no hash
            hash(loader)
            return
    raise UsageError(
        f"a {type(loader).__name__} cannot be named, for no program is recorded to iterate it: "
        "name a loader of Torch, TensorFlow, Grain or detloader"
    )


def _classes_of(loader: object) -> list[str]:
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in type(loader).__mro__]


def name_of(loader: object) -> str | None:
    """Return the name that a loader was given; None where it has none."""
    try:
        return _names.get(loader)
    except TypeError:  # of a kind that has no hash
        return None


def declared_with_name(loader: object) -> Mapping[str, object]:
    """Return what a loader was said to be when it was named."""
    try:
        return _declared.get(loader, {})
    except TypeError:  # of a kind that has no hash
        return {}
