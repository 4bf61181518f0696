"""Where the position of a loader is saved and restored: on its iterator, or on itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from detloader.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["State", "find_state", "restore"]

_METHODS = (("get_state", "set_state"), ("state_dict", "load_state_dict"))


@dataclass(frozen=True, slots=True)
class State:
    """The state of an object, by the names that its library gives to the two methods."""

    owner: Any
    getter: str
    setter: str

    def get(self) -> Any:
        """Return the state as it is now."""
        return getattr(self.owner, self.getter)()

    def set(self, state: Any) -> None:
        """Go where a state says."""
        getattr(self.owner, self.setter)(state)


def find_state(*owners: object) -> State | None:
    """Return the state of the first object that has one."""
    for owner in owners:
        for getter, setter in _METHODS:
            if callable(getattr(owner, getter, None)) and callable(getattr(owner, setter, None)):
                return State(owner, getter, setter)
    return None


def restore(loader: Any, state: Any) -> Iterator[Any]:
    """Return an iterator that goes on from a state.

    A loader that keeps the state itself is told it before it is iterated.

    Raises:
        UsageError: neither the loader nor its iterator has a state.
    """
    if (kept := find_state(loader)) is not None:
        kept.set(state)
        return cast("Iterator[Any]", iter(loader))
    iterator: Iterator[Any] = iter(loader)
    if (own := find_state(iterator)) is None:
        raise UsageError("the loader has no state to restore: leave resume_at out")
    own.set(state)
    return iterator
