"""The header of a recorded rank: `manifest.json`, field by field.

`SCHEMA_VERSION` counts the forms that a manifest has had; a reader reads all
of them, and refuses a newer one by name:

1. the first one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias, get_args

import msgspec

from detloader.findings import JsonValue

__all__ = [
    "BLOCK_ROWS",
    "MOST_EPOCHS",
    "PART_ROWS",
    "RESERVED",
    "SCHEMA_VERSION",
    "Column",
    "ColumnType",
    "Declared",
    "Environment",
    "FileEntry",
    "Header",
    "Level",
    "Recipe",
    "Resume",
    "Sampling",
    "Seen",
    "allowed_types",
    "is_compared",
    "is_stored",
]

SCHEMA_VERSION = 1

BLOCK_ROWS = 65_536
"""Rows of a digest block, counted from the first row of the rank."""

PART_ROWS = 4 * BLOCK_ROWS
"""Rows of a sealed part; the last one of a rank has what is left.

Sealing so many takes a fraction of a second, for which what is delivered waits in memory."""

MOST_EPOCHS = 65_536
"""Epochs that a sampling may name."""

ColumnType: TypeAlias = Literal["int64", "uint64", "float64", "bool", "string"]

_COMPARED: dict[str, tuple[ColumnType, ...]] = {
    "record": ("int64", "string"),
    "epoch": ("int64",),
    "batch": ("int64",),
    "draws": ("uint64", "string"),
    "content": ("uint64", "string"),
    "raw": ("uint64", "string"),
    "split": ("int64", "string"),
    "mixture": ("int64", "string"),
    "padding": ("bool",),
}
# The rank is compared too, but is not stored: it is the folder's.

RESERVED = frozenset({"rank", "position"})
"""Columns that a reader adds to the rows; no rank stores them."""


def is_compared(column: str) -> bool:
    """Tell whether a column takes part in fingerprints and verdicts."""
    return column in _COMPARED or column.startswith("draws_")


def allowed_types(column: str) -> tuple[ColumnType, ...]:
    """Return the types that a column may have; one that is never compared may have any."""
    if column.startswith("draws_"):
        return _COMPARED["draws"]
    return _COMPARED.get(column, get_args(ColumnType))


class Level(StrEnum):
    """How much of each row is kept, least first."""

    DIGEST = "digest"
    ORDER = "order"
    FULL = "full"


def is_stored(column: str, level: Level) -> bool:
    """Tell whether a level keeps the rows of a column, and not its digests alone."""
    if level is Level.ORDER:
        return column not in {"content", "raw"} and not column.startswith("draws")
    return level is Level.FULL


_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
_Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
_Rounding: TypeAlias = Annotated[
    str, msgspec.Meta(pattern="^(float16|float32|decimals:(1[0-5]|[0-9]))$")
]
_KeyName: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
_Sha256: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the header; an unknown field is damage."""


UNITS = ("records", "batches", "epochs", "elements")
"""What a position can count; an element is what a loader yields: a batch where it has batches."""


class Resume(_Part, frozen=True, kw_only=True):
    """Where a resumed run took up the run that it continues, counted on each rank alone."""

    position: _Count
    unit: str = "records"
    epoch: int | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """See to it that others know what is counted.

        Raises:
            ValueError: they do not.
        """
        if self.unit not in UNITS:
            message = f"unit {self.unit!r} is unknown: count {', '.join(UNITS)}"
            raise ValueError(message)


Unset: TypeAlias = msgspec.UnsetType
_UNSET = msgspec.UNSET


class Declared(_Part, frozen=True, kw_only=True):
    """What a run was meant to be. An undeclared field is unknown, never a default.

    Attributes:
        weights: one weight for each source position, or a mapping from record ID to weight.
        seed: the seed as it was given, in its own type; None says "no seed".
        seed_used: the seed that was really used.
        source_size: records in the source.
        num_samples: records that one epoch draws, where that is not `source_size`.
        order_policy: "fixed" where equal epochs are meant, else a name of the user's.
        complete: False where the log holds only a part of the run.
    """

    loader: str | Unset = _UNSET
    order_policy: str | Unset = _UNSET
    purpose: Literal["train", "eval"] | Unset = _UNSET
    complete: bool | Unset = _UNSET
    shuffle: bool | Unset = _UNSET
    seed: int | float | str | Unset | None = _UNSET
    seed_used: int | float | str | Unset | None = _UNSET
    source_size: _Count | Unset = _UNSET
    weights: list[float] | dict[str, float] | Unset = _UNSET
    replacement: bool | Unset = _UNSET
    num_samples: _Count | Unset = _UNSET
    batch_size: _Positive | Unset | None = _UNSET
    drop_remainder: bool | Unset = _UNSET
    num_epochs: _Positive | Unset | None = _UNSET
    workers: _Count | Unset = _UNSET
    threads: _Count | Unset = _UNSET
    start_method: str | Unset = _UNSET
    world_size: _Positive | Unset = _UNSET
    stream_mode: str | Unset = _UNSET
    deterministic: bool | Unset = _UNSET
    cache: bool | str | Unset = _UNSET
    config: dict[str, JsonValue] | Unset = _UNSET
    versions: dict[str, str] | Unset = _UNSET
    env: dict[str, str | None] | Unset = _UNSET
    resume: Resume | Unset = _UNSET
    parent: str | Unset = _UNSET


class Environment(_Part, frozen=True, kw_only=True):
    """What the process ran on; names of hosts, users and absolute paths are left out.

    Attributes:
        versions: versions of the installed packages that random streams depend on.
        env: environment variables from an allow-list; None where one is not set.
        platform: operating system and machine, such as "Linux-x86_64".
        cpu_features: instruction sets that NumPy dispatches on, for float results follow them.
        byteorder: "little" or "big".
    """

    versions: dict[str, str] = {}
    env: dict[str, str | None] = {}
    platform: str | None = None
    cpu_features: list[str] = []
    byteorder: str | None = None


class Recipe(_Part, frozen=True, kw_only=True):
    """How to build the loader again: a factory, its arguments, and a digest of its source.

    Attributes:
        ids: key of each element that holds its record's ID, as `record` was told.
        batched: whether an element is a batch, as `record` was told.
        id_root: the folder that `record` was told, where it lies below the working folder.
        elements: elements that were taken, where the run was not to reach the loader's end.
        packages: versions of the packages that the factory loaded.
    """

    factory: str
    arguments: dict[str, JsonValue] = {}
    source_sha256: str | None = None
    ids: str | Unset = _UNSET
    batched: bool | Unset = _UNSET
    id_root: str | Unset = _UNSET
    elements: _Positive | Unset = _UNSET
    packages: dict[str, str] | Unset = _UNSET


class Sampling(_Part, frozen=True, kw_only=True):
    """Which part of what was delivered was to be recorded.

    Attributes:
        epochs: their numbers, ascending; all where they are not there.
        every: of each epoch, batches 0, `every`, 2 `every`, … by their labels were kept; of
            a run without batches, rows by their place in the epoch.
        then: level of all epochs but the first that was recorded.
    """

    epochs: list[_Count] | Unset = _UNSET
    every: Annotated[int, msgspec.Meta(ge=2)] | Unset = _UNSET
    then: Literal["order"] | Unset = _UNSET


class Seen(_Part, frozen=True, kw_only=True):
    """What was recorded, counted.

    Attributes:
        rows: rows of this rank.
        epochs: distinct epochs.
        seeds: seeds that the loader reported for its epochs, in order of first use.
        lost: rows that could not be recorded; none of them has a digest. An element that
            could not be read counts as one.
        skipped: rows that were delivered, but that `sampling` leaves out.
    """

    rows: _Count = 0
    epochs: _Count = 0
    seeds: list[int] = []
    lost: _Count = 0
    skipped: _Count | Unset = _UNSET


class Column(_Part, frozen=True, kw_only=True):
    """One column: its type, the digests of its blocks, and the digest over those."""

    name: str
    type: ColumnType
    compared: bool
    blocks: list[_Sha256]
    digest: _Sha256


class FileEntry(_Part, frozen=True, kw_only=True):
    """A file of the rank's folder: relative path with slashes, bytes, rows, SHA-256."""

    path: str
    size: _Count
    rows: _Count
    sha256: _Sha256


class Header(_Part, frozen=True, kw_only=True):
    """All that `manifest.json` says, but for the digest over its own bytes.

    While a run is open, `columns`, `files`, `seen` and `fingerprint` are not yet final.

    Attributes:
        ranks: how many ranks the run has, as its launcher or its log told; None where
            nobody did.
        relative_ids: whether record IDs that are paths below some root, which is not kept,
            stand relative to it.
        id_hash: digest of the key under which record IDs are digests; nothing where they are
            not digests of IDs.
        digest: what `content` is digested by, where that is not XXH3-64.
        rounding: what was done to floats before `content` was digested: "float16", "float32"
            or "decimals:N"; nothing where it is not there.
        sampling: which part of what was delivered was recorded; all where it is not there.
    """

    schema_version: int = SCHEMA_VERSION
    run_id: str
    stream: str
    rank: _Count
    ranks: _Positive | None = None
    level: Level
    state: Literal["open", "complete"]
    recipe: Recipe | None = None
    relative_ids: bool | Unset = _UNSET
    id_hash: _KeyName | Unset = _UNSET
    digest: Literal["sha256"] | Unset = _UNSET
    rounding: _Rounding | Unset = _UNSET
    sampling: Sampling | Unset = _UNSET
    declared: Declared
    environment: Environment
    seen: Seen
    columns: list[Column] = []
    files: list[FileEntry] = []
    fingerprint: _Sha256 | None = None

    @property
    def digesting(self) -> str | None:
        """How `content` was digested, by name; None stands for exact bytes and XXH3-64."""
        return "+".join(name for name in (self.digest, self.rounding) if name) or None
