"""How a dataset that knows no IDs is read as a request wants it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from detloader.adapters.elements import ElementReader
from detloader.adapters.ids import ids_of_elements
from detloader.adapters.request import Request
from detloader.adapters.tensorflow.declared import is_batched
from detloader.adapters.tensorflow.readers import PlainReader
from detloader.manifest.schema import Level

__all__ = ["plain_reader"]


def plain_reader(dataset: tf.data.Dataset, spec: Any, request: Request) -> PlainReader:
    """Return what reads the elements of a dataset.

    Args:
        dataset: says whether an element is a batch, where the request does not.
        spec: the specification of an element.
        request: what the user asked for.

    Raises:
        UsageError: `ids` are neither a key nor a function: nobody knows which an element has.
    """
    ids = ids_of_elements(request.ids, "a TensorFlow dataset")
    batched = is_batched(dataset) if request.batched is None else request.batched
    elements = ElementReader(
        ids,
        batched=batched,
        content=request.level is not Level.ORDER,
        digester=request.digester,
    )
    return PlainReader(elements, spec, batched=batched)
