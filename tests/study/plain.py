"""Plain loaders of runs that were left to their end: what two of them may differ in stands out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tests.study.loaders import Loader, Log
from tests.study.sound import draw_loader, hide_some

if TYPE_CHECKING:
    from random import Random

__all__ = ["Pair", "plain"]

Pair: TypeAlias = tuple[Log, Log]
"""A baseline, and the run that differs from it."""


def plain(rng: Random, *needed: str, **fixed: Any) -> Loader:
    """Draw a plain loader of a run that was left to its end."""
    whole: dict[str, Any] = {"stop": 1.0, "kept": 0, "split": False, "order": "shuffled"}
    fixed = whole | {"inside": False, "size": rng.randint(30, 90)} | fixed
    kept = frozenset({*needed, "shuffle", "seed", "purpose", "epoch"})
    return draw_loader(rng, hidden=hide_some(rng, kept), **fixed)
