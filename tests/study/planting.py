"""Planted faults: alone and together, in one run or beside a sound baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from detloader.audits import all_rules
from tests.study import endings, faults
from tests.study.between import BETWEEN
from tests.study.loaders import Loader, Log
from tests.study.sound import draw_loader, hide_some

if TYPE_CHECKING:
    from random import Random

    from tests.study.faults import Fault

__all__ = ["FAULTS", "Planted", "plant", "rule_of"]

FAULTS: dict[str, type[Fault]] = {
    "implicit partitions": faults.ImplicitPartitioning,
    "ignored weights": faults.IgnoredWeights,
    "other sampling": faults.OtherSampling,
    "repeated order": faults.RepeatedOrder,
    "repeated draws": faults.RepeatedDraws,
    "cloned draws": faults.ClonedDraws,
    "replicated parts": faults.ReplicatedParts,
    "overlapping ranks": faults.OverlappingRanks,
    "coverage hole": faults.CoverageHole,
    "split leak": faults.SplitLeak,
    "weak mixing": faults.WeakMixing,
    "misaligned members": faults.Misaligned,
    "dropped tail": endings.DroppedTail,
    "padded tail": endings.PaddedTail,
    "tails of workers": endings.WorkerTails,
    "drifting content": endings.DriftingContent,
    "changed content": endings.ChangedContent,
}
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
    beside = kinds[0] is endings.ChangedContent or rng.random() < 0.4
    if kinds[0] is faults.Misaligned and variant:
        beside = False  # labels are not compared: such runs are identical
    order = [rule.name for rule in all_rules()]
    return Planted(
        name=name,
        rules=sorted({kind.rule for kind in kinds}, key=order.index),
        log=log,
        baseline=_sound_twin(loader).deliver() if beside else None,
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
    if isinstance(loader, endings.WorkerTails):
        twin = replace(twin, inside=False)
    if twin.purpose == "eval":
        twin = replace(twin, drop=False, padding="uneven")
    return twin
