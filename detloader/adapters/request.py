"""What the user asked of `record`, as every adapter takes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from detloader.adapters.declaring import settled
from detloader.adapters.telling import TellingDigester
from detloader.errors import UsageError
from detloader.findings import RecordId
from detloader.manifest.environment import capture_environment
from detloader.manifest.keyed import IdHash
from detloader.manifest.layout import check_address
from detloader.manifest.relative import IdRoot
from detloader.manifest.rounding import Digester, Rounding
from detloader.manifest.schema import Level, Recipe, Sampling
from detloader.manifest.writer import RankWriter

__all__ = ["IdSource", "Request"]

# Elements are the user's own: no type of ours could name them.
IdSource: TypeAlias = "Sequence[RecordId] | str | Callable[[Any], RecordId | Sequence[RecordId]]"


@dataclass(frozen=True, kw_only=True)
class Request:
    """Where to record, how much, and what the user says of IDs, batches and intent."""

    run: str | os.PathLike[str]
    stream: str
    rank: int
    ranks: int | None
    level: Level
    ids: IdSource | None
    batched: bool | None
    draws: bool
    declared: Mapping[str, object]
    recipe: Recipe | None
    id_root: IdRoot | None = None
    id_hash: IdHash | None = None
    rounding: Rounding | None = None
    strong: bool = False
    sampling: Sampling | None = None

    def __post_init__(self) -> None:
        """Refuse what is of another kind than it should be.

        Raises:
            UsageError: an argument is.
        """
        check_address(self.run)
        if self.batched not in (None, False, True):
            raise UsageError(f"batched is True, False or left out, not {self.batched!r}")
        if self.draws not in (False, True):
            raise UsageError(f"draws is True or False, not {self.draws!r}")

    @property
    def digester(self) -> Digester:
        """Return what digests content as the run will say that it does."""
        if not isinstance(self.ids, str) or (self.id_root or self.id_hash) is None:
            return Digester(self.rounding, self.strong)
        return TellingDigester(
            self.rounding, self.strong, key=self.ids, root=self.id_root, keyed=self.id_hash
        )

    def writer(self, **observed: object) -> RankWriter:
        """Begin the rank's folder; what the user declared stands above what was observed.

        Raises:
            RunExistsError: the rank is recorded already.
            UsageError: a declared field is unknown or of the wrong type.
        """
        return RankWriter(
            self.run,
            stream=self.stream,
            rank=self.rank,
            ranks=self.ranks,
            level=self.level,
            declared=settled(observed, self.declared),
            environment=capture_environment(),
            recipe=self.recipe,
            id_root=self.id_root,
            id_hash=self.id_hash,
            rounding=self.rounding,
            strong=self.strong,
            sampling=self.sampling,
        )
