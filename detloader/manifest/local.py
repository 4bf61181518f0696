"""The folder of one rank on this machine.

Inside a run nothing is a link, a device or a pipe. So whoever reads a run of anybody's reads
that run and nothing else, and comes to an end.
"""

from __future__ import annotations

import contextlib
import functools
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from detloader.errors import DamageError
from detloader.manifest.layout import JOURNAL, ORDER, write_atomically

if TYPE_CHECKING:
    import pyarrow as pa

    from detloader.manifest.claim import Claim
    from detloader.manifest.journal import Journal, Journaled
    from detloader.manifest.unlisted import Unlisted

__all__ = ["LocalFolder"]


@dataclass(frozen=True)
class LocalFolder:
    """Where one rank lies.

    Attributes:
        path: the folder.
        proved: files whose bytes were proved since it was opened.
        most_unlisted: sealed parts that a journal lists before the header has to.
    """

    path: Path
    proved: set[str] = field(default_factory=set, compare=False, repr=False)
    most_unlisted: ClassVar[int] = 64

    def __str__(self) -> str:
        return str(self.path)

    @property
    def run(self) -> str:
        """The run's folder."""
        return str(self.path.parents[1])

    @property
    def stream(self) -> str:
        """Name of the stream's folder."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """Name of the rank's folder."""
        return self.path.name

    def anew(self) -> Self:
        """Return the same folder, of which nothing was read yet."""
        return type(self)(self.path)

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each file, by its path below; a folder that has no place is 0.

        Raises:
            DamageError: something is neither a file nor a folder.
        """
        for folder in (self.path.parent, self.path):
            _size(folder)
        places = {place.name: place for place in self.path.iterdir()}
        order = places.get(ORDER)
        if order is not None and stat.S_ISDIR(order.lstat().st_mode):
            del places[ORDER]
            places |= {f"{ORDER}/{place.name}": place for place in order.iterdir()}
        found = {}
        for name, place in places.items():
            # What the recorder of an open run wrote may be renamed or gone by now.
            with contextlib.suppress(FileNotFoundError):
                found[name] = _size(place)
        return found

    def read(self, name: str, most: int) -> bytes:
        """Return the bytes of a file.

        Raises:
            DamageError: they are more than so many, or it is no file.
        """
        size = _size(self.path / name)
        if size > most:
            message = f"{self.path / name} is damaged: it has {size:,} bytes, more than any run's"
            raise DamageError(message)
        return (self.path / name).read_bytes()

    def file(self, name: str) -> Path:
        """Return where a file can be read; it may not be there."""
        return self.path / name

    def write(self, name: str, data: bytes) -> None:
        """Write a file; it is there whole, even after a power cut, or not at all."""
        (self.path / name).parent.mkdir(exist_ok=True)
        write_atomically(self.path / name, data)

    @functools.cached_property
    def journal(self) -> Journaled | None:
        """What the journal had when it was first asked for."""
        from detloader.manifest.journal import read_journal
        from detloader.manifest.unpacking import MOST_BYTES

        try:
            return read_journal(self.read(JOURNAL, MOST_BYTES), f"{self}/{JOURNAL}")
        except FileNotFoundError:
            return None

    def begin_journal(
        self, schema: pa.Schema, first_row: int, unlisted: Unlisted | None
    ) -> Journal:
        """Replace the journal by an empty one."""
        from detloader.manifest.journal import Journal

        return Journal(self.file(JOURNAL), schema, first_row, unlisted)

    def drop_journal(self) -> None:
        """Remove the journal, whose rows are sealed."""
        self.file(JOURNAL).unlink(missing_ok=True)

    def beginning(self) -> contextlib.AbstractContextManager[None]:
        """Make the folder and hold it from here on; an error in the block leaves all as it was.

        Raises:
            RunExistsError: the folder holds something, or another process holds it.
            RunError: the folder cannot be written.
        """
        return self._claim.beginning()

    def release(self) -> None:
        """Let go of the folder."""
        self._claim.release()

    def remove(self) -> None:
        """Let go, and remove all that a rank writes and the folders that were made for it."""
        self._claim.remove()

    @functools.cached_property
    def _claim(self) -> Claim:
        from detloader.manifest.claim import Claim

        return Claim(self.path)


def _size(place: Path) -> int:
    found = place.lstat()
    if stat.S_ISDIR(found.st_mode):
        return 0
    if not stat.S_ISREG(found.st_mode):
        message = (
            f"{place} cannot be read: it is a link or a device, and a run has files alone; "
            "copy the run with its files in place, as cp -RL does"
        )
        raise DamageError(message)
    return found.st_size
