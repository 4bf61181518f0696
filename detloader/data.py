"""Where `helia_edge.data` keeps these names, so that a script changes the package's name alone."""

from __future__ import annotations

from detloader.grain import to_grain
from detloader.grain.source import DataSource
from detloader.tensorflow.dataset import to_tf_dataset
from detloader.torch import to_torch_loader

__all__ = ["DataSource", "to_grain", "to_tf_dataset", "to_torch_loader"]
