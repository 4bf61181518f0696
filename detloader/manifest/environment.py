"""What a run depends on besides its recipe: versions, hash seed, machine.

Only what can change an order, a draw or a result is taken. Variables come from an
allow-list; hosts, users and absolute paths are left out.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
from importlib import metadata
from typing import cast

import numpy as np

from detloader.manifest.schema import Environment

__all__ = ["capture_environment"]

_PACKAGES = (
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
_VARIABLES = (
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
    return Environment(
        versions=_versions(),
        env={name: os.environ.get(name) for name in _VARIABLES},
        platform=f"{platform.system()}-{platform.machine()}",
        cpu_features=_cpu_features(),
        byteorder=sys.byteorder,
    )


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    if (h5py := sys.modules.get("h5py")) is not None:
        versions["hdf5"] = str(h5py.version.hdf5_version)
    return versions


def _cpu_features() -> list[str]:
    configuration = cast("dict[str, dict[str, list[str]]]", np.show_config(mode="dicts"))
    extensions = configuration.get("SIMD Extensions", {})
    return sorted({*extensions.get("baseline", []), *extensions.get("found", [])})
