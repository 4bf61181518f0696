"""What a preflight asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from detloader.audits.frozen import Frozen
    from detloader.audits.frozen.form import FrozenStream
    from detloader.audits.preflight.places import Place
    from detloader.manifest.schema import Recipe

__all__ = ["Question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Whether a frozen experiment may go to another place.

    Attributes:
        file: where it is frozen.
        frozen: what was frozen, of the one stream that a factory made.
        origin: where it was frozen.
        candidate: where it is to go.
        select: names of the rules to ask; all where none is named.
        ignore: names of the rules to leave out.
        pictures: whether the answer has what pictures are drawn from.
    """

    file: str
    frozen: Frozen
    origin: Place
    candidate: Place
    select: Iterable[str] = ()
    ignore: Iterable[str] = ()
    pictures: bool = False

    @property
    def stream(self) -> FrozenStream:
        """The stream that a factory made."""
        (stream,) = self.frozen.streams.values()
        return stream

    @property
    def recipe(self) -> Recipe:
        """How its loader is made."""
        assert self.stream.recipe is not None
        return self.stream.recipe

    @property
    def pins(self) -> list[str]:
        """Frozen versions of which the candidate has another one, or none."""
        frozen, candidate = self.stream, self.candidate
        python = [] if candidate.has_python(frozen.python) else [f"Python {frozen.python}"]
        return python + [
            f"{name}=={version}"
            for name, version in frozen.packages.items()
            if candidate.version(name) != version
        ]
