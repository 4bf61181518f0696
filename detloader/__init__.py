"""detloader: did two runs see the same data, in the same order, with the same draws?

The map, along the way of the data:

order, randomness    which record stands at which position, and what it may draw
grain                `to_grain`: that order and those draws, as a Grain dataset; it is made of
                     source, plan, samples, elements and fused
recording, adapters  `record`: any loader, recorded while it runs
recorder             between the two: rows come in, a rank's folder comes out
manifest             what a run leaves on disk, and how it is proved
importers, recipe    runs from other systems' logs; loaders by name
audits               two runs compared, one run checked, the cause named
reports              what people and machines read
cli                  the outermost layer
findings, errors     what all of them say

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
    from detloader.manifest.reader import open_run
    from detloader.order.schedule import random_id_generator, uniform_id_generator
    from detloader.order.seeds import spawn_seeds
    from detloader.recording import record

__all__ = [
    "DetloaderError",
    "audit",
    "check",
    "open_run",
    "random_id_generator",
    "record",
    "spawn_seeds",
    "to_grain",
    "uniform_id_generator",
]

_HOMES = {
    "DetloaderError": "errors",
    "audit": "audits",
    "check": "audits",
    "open_run": "manifest.reader",
    "random_id_generator": "order.schedule",
    "record": "recording",
    "spawn_seeds": "order.seeds",
    "to_grain": "grain",
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
