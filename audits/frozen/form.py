"""The form of a frozen run.

`SCHEMA_VERSION` counts the forms that a frozen file has had:

1. the first one.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from detloader.manifest.schema import ColumnType, Declared, Environment, Recipe, Sampling

__all__ = [
    "SCHEMA_VERSION",
    "Frozen",
    "FrozenColumn",
    "FrozenRank",
    "FrozenStream",
    "Migration",
]

SCHEMA_VERSION = 1

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
_Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
_Sha256: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_Short: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a frozen run; an unknown field is refused."""


class FrozenColumn(_Part, frozen=True, kw_only=True):
    """One compared column of one rank.

    Attributes:
        type: type of its values.
        digest: the column's digest, as the run's manifest has it; it proves the column.
        blocks: the first 16 digits of the digest of each group of blocks, in order: they
            tell where a difference begins.
    """

    type: ColumnType
    digest: _Sha256
    blocks: list[_Short]


class FrozenRank(_Part, frozen=True, kw_only=True):
    """One rank: its rows, and its compared columns by name."""

    rows: _Count
    columns: dict[str, FrozenColumn]


class FrozenStream(_Part, frozen=True, kw_only=True):
    """One stream: how it was made, what was declared, what it ran on, and what came out.

    Attributes:
        recipe: how the loader was made; None where no factory made it.
        declared: what was declared, but for long values.
        long_values: SHA-256 of those declared values, by field, that are too long to be kept.
        environment: what the run was recorded on.
        digesting: how content was digested, as `Header.digesting` names it.
        relative_ids: whether record IDs stand relative to a folder.
        id_hash: digest of the key under which record IDs are digests; None where they are not.
        sampling: which part of what was delivered was recorded; None for all.
        ranks: by their number.
    """

    recipe: Recipe | None = None
    declared: Declared
    long_values: dict[str, _Sha256] = {}
    environment: Environment
    digesting: str | None = None
    relative_ids: bool = False
    id_hash: str | None = None
    sampling: Sampling | None = None
    ranks: dict[int, FrozenRank]

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Types of the columns that any rank has, by name."""
        ranks = self.ranks.values()
        return {name: column.type for rank in ranks for name, column in rank.columns.items()}

    @property
    def packages(self) -> dict[str, str]:
        """Versions of the packages that an environment for it has to hold.

        Those that its factory loaded; where nobody noted them, all that a stream may depend on.
        """
        from detloader.audits.environments import packages_of

        return (self.recipe and self.recipe.packages) or packages_of(self.environment.versions)

    @property
    def python(self) -> str | None:
        """Version of its Python, such as "3.11"; None where nobody noted it."""
        version = self.environment.versions.get("python")
        return version and ".".join(version.split(".")[:2])


class Migration(_Part, frozen=True, kw_only=True):
    """What a frozen run was before a change of its order was accepted.

    Attributes:
        parent: fingerprint of the run that was frozen before.
        order_policy: name of the order that holds from then on.
        reason: why the change was accepted.
    """

    parent: _Sha256
    order_policy: str
    reason: str


class Frozen(_Part, frozen=True, kw_only=True):
    """A frozen run.

    Attributes:
        fingerprint: the run's fingerprint; runs of equal columns that have it are equal.
        grouped: blocks of 65,536 rows that stand together behind one digest.
        migration: where this one was accepted in place of another; None where it was not.
        streams: by name.
    """

    fingerprint: _Sha256
    grouped: _Positive = 1
    migration: Migration | None = None
    streams: dict[str, FrozenStream]
