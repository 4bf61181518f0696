"""Planted faults: alone and together, in one run or beside a sound baseline."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from detloader.audits import all_rules
from tests.study import faults
from tests.study.between import BETWEEN
from tests.study.faults.tails import WorkerTails
from tests.study.loaders import Loader, Log
from tests.study.sound import draw_loader, hide_some

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tests.study.fault import Fault

__all__ = ["FAULTS", "Planted", "plant", "rule_of"]


def _find_faults() -> Iterator[type[Fault]]:
    """Find the faults of one run: the classes that the modules of `faults` name."""
    for found in pkgutil.iter_modules(faults.__path__, f"{faults.__name__}."):
        module = importlib.import_module(found.name)
        yield from (getattr(module, name) for name in module.__all__)


FAULTS: dict[str, type[Fault]] = {fault.name: fault for fault in _find_faults()}
"""Faults of one run, by name; `BETWEEN` has those that only two show."""


def rule_of(name: str) -> str:
    """Name the rule that must name a fault."""
    return BETWEEN[name][0] if name in BETWEEN else FAULTS[name].rule


SECOND = ("repeated draws", "cloned draws", "misaligned members", "drifting content", "split leak")
"""Faults that can be there beside another one."""

TOGETHER = 0.2
"""Share of runs with two faults."""


@dataclass(frozen=True)
class Planted:
    """A run with a fault, and its baseline where it has one.

    Attributes:
        name: of the fault.
        rules: that must name the faults; the first in causal order must come first.
    """

    name: str
    rules: list[str]
    log: Log
    baseline: Log | None


def plant(rng: Random, name: str) -> Planted:
    """Draw a loader with this fault, and in some runs with a second one."""
    if name in BETWEEN:
        rule, draw = BETWEEN[name]
        baseline, other = draw(rng)
        return Planted(name, [rule], other, baseline)
    kinds = [FAULTS[name]]
    variant = rng.randrange(kinds[0].variants)
    fixed = kinds[0].fields(rng, variant)
    if rng.random() < TOGETHER and (second := _second(rng, kinds[0], fixed, variant)):
        kind, more = second
        kinds.append(kind)
        fixed |= more
    loader = _build(rng, kinds, fixed | {"variant": variant})
    log = loader.deliver()
    if not len(log.columns["record"]):
        return plant(rng, name)
    order = [rule.name for rule in all_rules()]
    return Planted(
        name=name,
        rules=sorted({kind.rule for kind in kinds}, key=order.index),
        log=log,
        baseline=_sound_twin(loader).deliver() if kinds[0].beside(rng, variant) else None,
    )


def _second(
    rng: Random, first: type[Fault], fixed: dict[str, Any], variant: int
) -> tuple[type[Fault], dict[str, Any]] | None:
    """Choose a second fault that needs nothing else than the first one does."""
    kind = FAULTS[rng.choice(SECOND)]
    if kind.rule == first.rule or variant >= kind.variants or "finish" in vars(first):
        return None
    more = kind.fields(rng, variant)
    clash = {name for name in more if name in fixed and more[name] != fixed[name]}
    if clash - {"size", "epochs"}:
        return None
    for least in clash:
        if more[least] > fixed[least]:
            return None
    return kind, {name: value for name, value in more.items() if name not in clash}


def _build(rng: Random, kinds: list[type[Fault]], fixed: dict[str, Any]) -> Loader:
    needed = frozenset(name for kind in kinds for name in kind.needed)
    sound = draw_loader(rng, **fixed, hidden=hide_some(rng, needed))
    whole = type("Faulty", tuple(kinds), {})
    loader: Loader = whole(**vars(sound))
    return loader


def _sound_twin(loader: Loader) -> Loader:
    """Give the same loader without the fault."""
    twin = Loader(**vars(loader))
    if isinstance(loader, WorkerTails):
        twin = replace(twin, inside=False)
    if twin.purpose == "eval":
        twin = replace(twin, drop=False, padding="uneven")
    return twin
