"""What a rank has sealed so far: its parts, the digests of their blocks, and who lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from detloader.manifest.fingerprints import make_column
from detloader.manifest.schema import (
    BLOCK_ROWS,
    PART_ROWS,
    Column,
    ColumnType,
    FileEntry,
    Seen,
)
from detloader.manifest.unlisted import Blocks, Unlisted

__all__ = ["Sealed"]


class Sealed:
    """The sealed parts of a rank that is being recorded.

    Attributes:
        types: type of each column, by its name.
        rows: rows of all parts.
        files: the parts; none at level `digest`.
    """

    def __init__(self, types: Mapping[str, ColumnType]) -> None:
        """Begin without a part."""
        self.types = dict(types)
        self.rows = 0
        self.files: list[FileEntry] = []
        self._blocks: dict[str, list[str]] = {name: [] for name in types}
        self._epochs: set[int | None] = set()
        self._listed_rows = self._listed_files = 0

    def note_epochs(self, epochs: Iterable[int | None]) -> None:
        """Take the epochs of rows, which need not be sealed yet."""
        self._epochs.update(epochs)

    def add(self, rows: int, digests: Mapping[str, list[str]], file: FileEntry | None) -> None:
        """Take a part: its rows, the digests of its blocks by column, and where it is kept."""
        self.rows += rows
        for name, blocks in digests.items():
            self._blocks[name].extend(blocks)
        if file is not None:
            self.files.append(file)

    def columns(self) -> list[Column]:
        """Return what a header says of the columns."""
        blocks = self._blocks.items()
        return [make_column(name, self.types[name], list(digests)) for name, digests in blocks]

    def seen(self, seeds: list[int], lost: int) -> Seen:
        """Return what a header says of the rows."""
        return Seen(rows=self.rows, epochs=self._epochs_seen(), seeds=seeds, lost=lost)

    def note_listed(self) -> None:
        """Take it that the header lists all parts."""
        self._listed_rows, self._listed_files = self.rows, len(self.files)

    def count_unlisted(self) -> int:
        """Count the parts that the header does not list."""
        return -(-(self.rows - self._listed_rows) // PART_ROWS)

    def unlisted(self) -> Unlisted | None:
        """Return the parts that the header does not list; None where it lists all."""
        if self.rows == self._listed_rows:
            return None
        first = self._listed_rows // BLOCK_ROWS
        return Unlisted(
            first_row=self._listed_rows,
            files=self.files[self._listed_files :],
            columns=[
                Blocks(name, self.types[name], blocks[first:])
                for name, blocks in self._blocks.items()
            ],
            epochs=self._epochs_seen(),
        )

    def _epochs_seen(self) -> int:
        # Without such a column all rows are of epoch 0.
        return len(self._epochs) if "epoch" in self.types else int(self.rows > 0)
