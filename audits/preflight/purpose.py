"""What an experiment asks for, whichever loader serves it.

Older loaders do not say what they were asked for, nor does one that is recorded in another
environment. All runs of a recipe serve one experiment.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from detloader.manifest.reader import Run, Stream

if TYPE_CHECKING:
    from detloader.manifest.schema import Declared

__all__ = ["with_purpose"]

_ASKED = (
    "purpose",
    "shuffle",
    "seed",
    "source_size",
    "weights",
    "replacement",
    "num_samples",
    "num_epochs",
    "batch_size",
    "drop_remainder",
)
"""What is asked of a loader, and does not depend on how it works."""


def with_purpose(run: Run, *told: Declared) -> Run:
    """Give a run that declares what it did not of its purpose, and others of its recipe do.

    Args:
        run: a run of one stream.
        told: what others declare; the first that says something holds.
    """
    ((name, stream),) = run.streams.items()
    first, *others = stream.ranks
    declared = first.header.declared
    for more in told:
        said = {field: getattr(more, field) for field in _ASKED if _lacks(declared, field)}
        declared = msgspec.structs.replace(declared, **said)
    header = msgspec.structs.replace(first.header, declared=declared)
    return Run(run.path, {name: Stream(name, (replace(first, header=header), *others))})


def _lacks(declared: Declared, field: str) -> bool:
    return getattr(declared, field) is msgspec.UNSET
