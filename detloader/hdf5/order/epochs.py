"""Which seed each epoch of a loader has.

Epoch e is shuffled by number e of the seeds that `numpy.random.default_rng(seed)` draws
below 2**31: a function of seed and epoch alone, and what the published loader has where it
is iterated once an epoch and nothing else. What counts as an epoch is an iteration that
gave at least one element.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detloader.hdf5.arguments import Compatibility

__all__ = ["Epochs", "Pass", "epoch_seed"]

_SEEDS = 2**31


class Pass(NamedTuple):
    """One iteration of a loader.

    Attributes:
        epoch: its number.
        seed: that of its order.
        chosen: whether that seed was given to `shuffle()`, and does not follow the loader's.
        drawn: how many seeds are drawn, one by one, once it has begun.
    """

    epoch: int
    seed: int
    chosen: bool = False
    drawn: int = 0

    @property
    def order(self) -> tuple[int, int]:
        """What decides order and draws."""
        return self.epoch, self.seed


def epoch_seed(seed: int, number: int) -> int:
    """Return the seed of an epoch, counted from 0; none of those before it is drawn."""
    # As `default_rng(seed)` has it. Each of its words gives two numbers, its lower half first.
    words = np.random.PCG64(seed).advance(number // 2)
    return int(np.random.Generator(words).integers(0, _SEEDS, 2)[number % 2])


class Epochs:
    """Counts the epochs of a loader.

    Attributes:
        seed: the loader's.
        current: the epoch that began last, or was chosen since; before the first one, number
            0 in the order that the seed itself gives.
        next: number of the epoch that begins next.
    """

    def __init__(self, seed: int, *, reshuffle: bool, compatibility: Compatibility) -> None:
        """Start before epoch 0; without `reshuffle` all epochs have one order."""
        self.seed = seed
        self.current = Pass(0, seed)
        self.next = 0
        self._begun: Pass | None = None
        self._reshuffle = reshuffle
        self._published = compatibility is not None
        self._drawn = 0
        self._chosen: int | None = None

    def show(self) -> Pass:
        """Return the epoch that would begin now."""
        if not self._reshuffle:
            return self.current._replace(epoch=self.next, drawn=self._drawn)
        if self._published:
            return Pass(self.next, epoch_seed(self.seed, self._drawn), drawn=self._drawn + 1)
        if self._chosen is not None:
            return Pass(self.next, self._chosen, chosen=True)
        return Pass(self.next, epoch_seed(self.seed, self.next))

    def latest(self) -> Pass:
        """Return the epoch that was iterated last; before the first one, that which begins next."""
        return self._begun or self.show()

    def begin(self) -> Pass:
        """Begin the next epoch."""
        self.current = self._begun = self.show()
        self._drawn = self.current.drawn
        self._chosen = None
        self.next += 1
        return self.current

    def reshuffle(self, seed: int | None) -> None:
        """Choose the seed of the order; None takes the next one that is drawn."""
        if self._published:
            # There a seed of 0 counts as none, and the next epoch has another order again.
            seed = seed or None
        else:
            self._chosen = seed
        if seed is not None:
            self.current = Pass(self.next, seed, chosen=True)
            return
        # An epoch to come has its seed already: this only shows it.
        shown = self._reshuffle and not self._published
        number = self.next if shown else self._draw()
        self.current = Pass(self.next, epoch_seed(self.seed, number))

    def set_next(self, epoch: int) -> None:
        """Let a certain epoch be the next one, and show it."""
        self.next = epoch
        if self._reshuffle and self._published:
            self._drawn = epoch
        self._chosen = None
        self.current = self.show()

    def resume(self, pass_: Pass) -> None:
        """Be in an epoch that began in another process."""
        self.set_next(pass_.epoch + 1)
        self._drawn = pass_.drawn
        self.current = self._begun = pass_

    def _draw(self) -> int:
        self._drawn += 1
        return self._drawn - 1
