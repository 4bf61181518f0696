"""What a run depends on besides its recipe: versions, hash seed, machine.

Only what can change an order, a draw or a result is taken. Variables come from an
allow-list; hosts, users and absolute paths are left out.
"""

from __future__ import annotations

import functools

from detloader.carried.recorder import surroundings
from detloader.manifest.schema import Environment

__all__ = ["PACKAGES", "VARIABLES", "capture_environment"]

PACKAGES = (
    "albumentations",
    "array-record",
    "datasets",
    "detloader",
    "grain",
    "h5py",
    "jax",
    "jaxlib",
    "keras",
    "mosaicml-streaming",
    "numpy",
    "opencv-python",
    "opencv-python-headless",
    "pandas",
    "pillow",
    "pyarrow",
    "scipy",
    "tensorflow",
    "tensorflow-cpu",
    "torch",
    "torchdata",
    "torchvision",
    "webdataset",
)
VARIABLES = (
    "CUBLAS_WORKSPACE_CONFIG",
    "KERAS_BACKEND",
    "LANG",
    "LC_ALL",
    "MKL_NUM_THREADS",
    "NPY_DISABLE_CPU_FEATURES",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PYTHONHASHSEED",
    "TF_DETERMINISTIC_OPS",
    "TF_ENABLE_ONEDNN_OPTS",
    "TZ",
)


@functools.cache
def capture_environment() -> Environment:
    """Describe the running process; nothing that is not loaded yet is imported for it."""
    return Environment(**surroundings(PACKAGES, VARIABLES))
