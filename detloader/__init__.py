"""detloader: did two runs see the same data, in the same order, with the same draws?

The map, along the way of the data:

order, randomness    which record stands at which position, and what it may draw; seeding and
                     generators are about the draws of others
grain                `to_grain`: that order and those draws, as a Grain dataset
tensorflow, torch    the same for other frameworks, and TensorFlow datasets of Python readers
hdf5                 `Dataloader`: frames of HDF5 files
data, utils          all of these at the places where helia-edge has them
recording, adapters  `record`: any loader, recorded while it runs; keras: what `fit` takes
recorder             between the two: rows come in, a rank's folder comes out
interception         `record_all`: loaders that nobody wraps; program: those of a whole program;
                     naming: names for them
manifest             what a run leaves on disk, and how it is proved; signing: who says so
importers, recipe    runs from other systems' logs; loaders by name
audits               two runs compared, one run checked, frozen, replayed, the cause named
carried              what records where nothing of this package is installed
reports              what people and machines read
cli                  the commands
testing              assertions about loaders; pytest_plugin: pytest around them; strategies: for
                     Hypothesis
findings, errors     what all of them say; extras: packages that only a part needs

Names are loaded when they are first used: importing detloader imports no other package.

>>> from detloader import spawn_seeds
>>> len(set(spawn_seeds(0, 5)))
5
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detloader.audits import audit, check
    from detloader.errors import DetloaderError
    from detloader.grain import to_grain
    from detloader.hdf5.loader import Dataloader
    from detloader.interception.block import record_all
    from detloader.manifest.reader import open_run
    from detloader.naming import name
    from detloader.order.schedule import random_id_generator, uniform_id_generator
    from detloader.order.seeds import spawn_seeds
    from detloader.recording import record
    from detloader.seeding import set_random_seed
    from detloader.tensorflow.dataset import to_tf_dataset
    from detloader.tensorflow.interleaved import create_interleaved_dataset_from_generator
    from detloader.tensorflow.stream_mode import StreamMode
    from detloader.torch import to_torch_loader

__all__ = [
    "Dataloader",
    "DetloaderError",
    "StreamMode",
    "audit",
    "check",
    "create_interleaved_dataset_from_generator",
    "name",
    "open_run",
    "random_id_generator",
    "record",
    "record_all",
    "set_random_seed",
    "spawn_seeds",
    "to_grain",
    "to_tf_dataset",
    "to_torch_loader",
    "uniform_id_generator",
]

_HOMES = {
    "Dataloader": "hdf5.loader",
    "DetloaderError": "errors",
    "StreamMode": "tensorflow.stream_mode",
    "audit": "audits",
    "check": "audits",
    "create_interleaved_dataset_from_generator": "tensorflow.interleaved",
    "name": "naming",
    "open_run": "manifest.reader",
    "random_id_generator": "order.schedule",
    "record": "recording",
    "record_all": "interception.block",
    "set_random_seed": "seeding",
    "spawn_seeds": "order.seeds",
    "to_grain": "grain",
    "to_tf_dataset": "tensorflow.dataset",
    "to_torch_loader": "torch",
    "uniform_id_generator": "order.schedule",
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that it lives in."""
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
