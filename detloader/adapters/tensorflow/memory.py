"""How much data in memory a TensorFlow dataset has, which its graph would hold as well."""

# TensorFlow offers no way to ask its operations, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

__all__ = ["bytes_in"]

_IN_MEMORY = frozenset({"_TensorDataset", "_TensorSliceDataset"})

_OF_A_TEXT = 256
"""Bytes that a text may have, in a dataset that nobody has looked into."""


def bytes_in(node: Any) -> float:
    """Return how many bytes of data an operation holds; infinity where nobody knows."""
    held = sum(map(_bytes_of, node._tensors)) if type(node).__name__ in _IN_MEMORY else 0.0
    return held + sum(map(_bytes_captured, node._functions()))


def _bytes_captured(function: Any) -> float:
    captured = [each for each in function.function.captured_inputs if each.dtype != tf.resource]
    datasets = [each for each in captured if each.dtype == tf.variant]
    held = sum(_bytes_of(each) for each in captured if each.dtype != tf.variant)
    if not datasets:
        return held
    # Of one that a function takes there is nothing but how many elements it has.
    size = _bytes_of_element(function.output_structure)
    return held + sum(_cardinality(each) * size for each in datasets)


def _cardinality(variant: Any) -> float:
    if tf.is_symbolic_tensor(variant):
        return math.inf
    try:
        count = int(tf.raw_ops.DatasetCardinality(input_dataset=variant))
    except tf.errors.InvalidArgumentError:  # It is something else than a dataset.
        return math.inf
    return count if count >= 0 else math.inf


def _bytes_of_element(structure: Any) -> float:
    specs = tf.nest.flatten(getattr(structure, "element_spec", None), expand_composites=True)
    return sum(map(_bytes_of_spec, specs), 1.0)


def _bytes_of_spec(spec: Any) -> float:
    if not isinstance(spec, tf.TensorSpec) or not spec.shape.is_fully_defined():
        return math.inf
    each = _OF_A_TEXT if spec.dtype == tf.string else spec.dtype.size
    return float(math.prod(spec.shape) * each)


def _bytes_of(tensor: Any) -> float:
    if tf.is_symbolic_tensor(tensor) or tensor.dtype == tf.variant:
        return math.inf
    if tensor.dtype == tf.string:
        lengths = tf.strings.length(tensor)
        return float(tf.reduce_sum(tf.cast(lengths, tf.float64)))
    return float(math.prod(tensor.shape) * tensor.dtype.size)
