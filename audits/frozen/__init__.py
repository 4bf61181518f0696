"""Frozen runs: what a run was, in a small text file that is made to be committed.

    form      what is frozen: recipe, declared fields, environment, digests
    freezing  the frozen form of a run
    file      its text, and how that is read back
    compare   what differs between a frozen run and another, told from digests alone

The ways in and out:

    freeze(run) -> Frozen
    save(frozen, path), load(path) -> Frozen         # FrozenError
    differences(frozen, run) -> list[Difference]     # empty where nothing differs

A `Frozen` is plain data, a `Difference` names stream, rank, column and rows and is a sentence
as text. Nothing here runs recorded code, and no row is read.
"""

from __future__ import annotations

from detloader.audits.frozen.compare import Difference, differences
from detloader.audits.frozen.file import load, save
from detloader.audits.frozen.form import Frozen
from detloader.audits.frozen.freezing import freeze

__all__ = ["Difference", "Frozen", "differences", "freeze", "load", "save"]
