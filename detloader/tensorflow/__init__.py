"""Streams for TensorFlow: `to_tf_dataset`, and datasets made of Python generators.

stream_mode     what becomes of the IDs: one schedule, or parts
interleaved     `create_interleaved_dataset_from_generator`: arguments in, dataset out
dataset         `to_tf_dataset`
schedule        how samples come about, and which ID each belongs to: plain Python
passes          one pass over a part of the IDs
forms           elements as the arrays that a specification asks for
attribution     what is known of the records behind the elements
attributed      a dataset whose elements keep their IDs, unseen
iterator        errors by their own names
from_python     Python iterators as datasets

No module but the last three imports TensorFlow before it is needed.
"""

from __future__ import annotations

from detloader.tensorflow.dataset import to_tf_dataset
from detloader.tensorflow.interleaved import create_interleaved_dataset_from_generator
from detloader.tensorflow.stream_mode import StreamMode

__all__ = ["StreamMode", "create_interleaved_dataset_from_generator", "to_tf_dataset"]
