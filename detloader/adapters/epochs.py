"""Numbers of epochs: the loader's own, where it has any."""

from __future__ import annotations

__all__ = ["EpochNumbers"]


class EpochNumbers:
    """Numbers the epochs of one loader.

    An epoch's number is the loader's, if that was set since the last one; else it is the next
    one, for a loader that is never told the epoch says the same number again.

    Attributes:
        next: the next one.
    """

    def __init__(self) -> None:
        self.next = 0
        self._told: int | None = None

    def begin(self, told: int | None, *, resumed: bool = False) -> int:
        """Return the number of an epoch that begins.

        Args:
            told: what the loader says; None where it says nothing.
            resumed: whether it goes on with the last one.
        """
        epoch = max(0, self.next - 1) if resumed else self.next
        if told is not None and told != self._told:
            epoch = self._told = told
        self.next = epoch + 1
        return epoch
