"""Numbers of epochs: the loader's own, where it has any."""

from __future__ import annotations

__all__ = ["EpochNumbers"]


class EpochNumbers:
    """Numbers the epochs of one loader.

    An epoch's number is the loader's, if that was set since the last one; else it is the next
    one, for a loader that is never told the epoch says the same number again. A number that
    such a pass took from the loader's count is not given twice: the count goes on behind it.
    """

    def __init__(self) -> None:
        self._next = 0
        self._told: int | None = None

    def begin(self, told: int | None, *, resumed: bool = False) -> int:
        """Return the number of an epoch that begins.

        Args:
            told: what the loader says; None where it says nothing.
            resumed: whether it goes on with the last one.
        """
        epoch = max(0, self._next - 1) if resumed else self._next
        if told is not None and told != self._told:
            goes_back = self._told is not None and told < self._told
            epoch = told if resumed or goes_back else max(told, epoch)
            self._told = told
        self._next = epoch + 1
        return epoch
