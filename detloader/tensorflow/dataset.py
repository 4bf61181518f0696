"""`to_tf_dataset`: the batches of a Grain dataset, or of any iterable, for TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from detloader.extras import require

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["to_tf_dataset"]


def to_tf_dataset(dataset: Iterable[Any], output_signature: Any) -> tf.data.Dataset:
    """Wrap a dataset of NumPy batches as a `tf.data.Dataset`.

    Nothing is batched, shuffled or read ahead here, and no worker is started: the dataset does
    that. Each pass iterates it once more.

    Of a stream of `to_grain` the record IDs stay with the elements: `record` around the
    finished TensorFlow dataset tells them, whatever was batched or shuffled on the way.

    Args:
        dataset: a stream of `to_grain`, or anything that can be iterated again and again.
        output_signature: a structure of `tf.TensorSpec` that matches one element, with None
            for a batch axis that varies, such as that of a shorter last batch.

    Returns:
        A `tf.data.Dataset` of the same elements, as tensors of the signature's types.

    Raises:
        MissingExtraError: TensorFlow is not installed.
        UsageError: the signature is none, or the dataset cannot be iterated.
        LoaderError: while iterating, the dataset failed, or an element does not match the
            signature. Every further `next()` raises it again.
    """
    require("tensorflow", extra="tensorflow")
    from detloader.tensorflow.elements import dataset_of_elements

    return dataset_of_elements(dataset, output_signature)
