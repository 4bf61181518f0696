"""What a planted fault is: a loader of which one step is another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tests.study.loaders import Loader

if TYPE_CHECKING:
    from random import Random

__all__ = ["Fault"]


BESIDE = 0.4
"""Share of faulty runs that are shown beside a sound one, where either will do."""


class Fault(Loader):
    """A loader with one fault.

    Attributes:
        name: what the study's table calls it.
        rule: the rule that must name it.
        needed: columns and declared fields without which the rule cannot tell.
        variants: forms that the fault has.
    """

    name: ClassVar[str]
    needed: ClassVar[tuple[str, ...]] = ()
    variants: ClassVar[int] = 1

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        """Choose the fields of the loader that the fault needs."""
        return {}

    @classmethod
    def beside(cls, rng: Random, variant: int) -> bool:
        """Choose whether the run is shown beside a sound one, or alone."""
        return rng.random() < BESIDE
