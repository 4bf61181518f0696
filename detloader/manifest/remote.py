"""The folder of one rank in a remote store that fsspec knows, such as `s3://bucket/runs/a`.

A store has no locks, nothing can be appended to what it holds, and nothing is renamed. So there
is no journal: what is promised is what was sealed. Each object is written at once or not at
all, and the header after the parts that it lists.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from detloader.errors import DamageError, RunError, RunExistsError
from detloader.extras import require
from detloader.manifest.layout import HEADER, JOURNAL, ORDER, RANK

if TYPE_CHECKING:
    import pyarrow as pa

    from detloader.manifest.journal import Journaled
    from detloader.manifest.unlisted import Unlisted

__all__ = [
    "NoJournal",
    "RemoteFolder",
    "find_remote_ranks",
    "list_objects",
    "read_object",
    "upload",
    "write_object",
]


@dataclass(frozen=True)
class RemoteFolder:
    """Where one rank lies.

    Attributes:
        run: address of the run.
        stream: name of the stream's folder.
        name: name of the rank's folder.
        proved: files whose bytes were proved since it was opened.
        listed: bytes of each file where they were listed already.
        most_unlisted: there is no journal to list sealed parts that the header does not.
    """

    run: str
    stream: str
    name: str
    proved: set[str] = field(default_factory=set, compare=False, repr=False)
    listed: Mapping[str, int] | None = field(default=None, compare=False, repr=False)
    most_unlisted: ClassVar[int] = 0

    def __str__(self) -> str:
        return f"{self.run.rstrip('/')}/{self.stream}/{self.name}"

    def anew(self) -> Self:
        """Return the same folder, of which nothing was read yet."""
        return type(self)(self.run, self.stream, self.name)

    def sizes(self) -> Mapping[str, int]:
        """Return the bytes of each file, by its path below."""
        return self.listed if self.listed is not None else list_objects(str(self))

    def read(self, name: str, most: int) -> bytes:
        """Return the bytes of a file.

        Raises:
            FileNotFoundError: there is none.
            DamageError: they are more than so many.
            RunError: the store cannot be read.
        """
        with _asking(self) as (store, path):
            size = store.size(f"{path}/{name}")
        if size > most:
            message = f"{self}/{name} is damaged: it has {size:,} bytes, more than any run's"
            raise DamageError(message)
        if name.startswith(ORDER):  # which nobody writes twice
            return self.file(name).read_bytes()
        with _asking(self) as (store, path):
            data: bytes = store.cat_file(f"{path}/{name}")
        return data

    def file(self, name: str) -> Path:
        """Return where a file can be read on this machine; it is copied once."""
        copy = self._copies / name
        if not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            arriving = copy.with_name(f"{copy.name}.tmp")
            with _asking(self) as (store, path):
                store.get_file(f"{path}/{name}", str(arriving))
            arriving.rename(copy)
        return copy

    @functools.cached_property
    def journal(self) -> Journaled | None:
        """What the journal of a run that was copied here has; else there is none."""
        from detloader.manifest.journal import read_journal
        from detloader.manifest.unpacking import MOST_BYTES

        if JOURNAL not in self.sizes():
            return None
        return read_journal(self.read(JOURNAL, MOST_BYTES), f"{self}/{JOURNAL}")

    def write(self, name: str, data: bytes) -> None:
        """Write a file; it is there whole, or not at all."""
        write_object(f"{self}/{name}", data)

    @contextlib.contextmanager
    def beginning(self) -> Iterator[None]:
        """See to it that nobody was here; an error in the block leaves all as it was.

        Two recorders that begin in the same moment are not told apart.

        Raises:
            RunExistsError: there is something.
            RunError: the store cannot be read or written.
        """
        if found := list_objects(str(self)):
            what = "a run" if HEADER in found else "something"
            message = f"{self} holds {what} already: choose another folder, or remove it"
            raise RunExistsError(message)
        try:
            yield
        except BaseException:
            self.remove()
            raise

    def begin_journal(
        self,
        schema: pa.Schema,  # noqa: ARG002
        first_row: int,  # noqa: ARG002
        unlisted: Unlisted | None,  # noqa: ARG002
    ) -> NoJournal:
        """Return a journal that keeps nothing."""
        return NoJournal()

    def drop_journal(self) -> None:
        """Do nothing: there is none."""

    def release(self) -> None:
        """Do nothing: nobody was kept out."""

    def remove(self) -> None:
        """Remove all that a rank writes."""
        with contextlib.suppress(RunError), _asking(self) as (store, path):
            if store.exists(path):
                store.rm(path, recursive=True)

    @functools.cached_property
    def _copies(self) -> Path:
        folder = tempfile.mkdtemp(prefix="detloader-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)


class NoJournal:
    """Stands where a journal would be."""

    def append(self, rows: pa.Table) -> None:
        """Keep nothing."""


def find_remote_ranks(run: str) -> Iterator[RemoteFolder]:
    """Yield the folders of a run that are a rank's by their names; one request lists them all."""
    ranks: dict[tuple[str, str], dict[str, int]] = {}
    for name, size in list_objects(run).items():
        stream, rank, *rest = [*name.split("/", 2), ""]
        if rank.startswith(RANK) and rest[0]:
            ranks.setdefault((stream, rank), {})[rest[0]] = size
    for (stream, rank), listed in sorted(ranks.items()):
        yield RemoteFolder(run, stream, rank, listed=listed)


def read_object(address: str, most: int) -> bytes | None:
    """Return the bytes of an object; None where there is none.

    Raises:
        DamageError: they are more than so many.
        RunError: the store cannot be read.
    """
    with _asking(address) as (store, path):
        store.invalidate_cache()
        try:
            size = store.size(path)
        except FileNotFoundError:
            return None
        if size > most:
            message = f"{address} is damaged: it has {size:,} bytes, more than any run's"
            raise DamageError(message)
        data: bytes = store.cat_file(path)
    return data


def write_object(address: str, data: bytes) -> None:
    """Write an object; it is there whole, or as it was.

    Raises:
        RunError: the store cannot be written.
    """
    try:
        with _asking(address) as (store, path):
            store.pipe_file(path, data)
    except FileNotFoundError as error:
        message = f"{address} cannot be written: {error}; check the address"
        raise RunError(message) from error


def upload(folder: Path, run: str) -> None:
    """Copy a run into a store, its headers last; after an error nothing of it is there.

    Raises:
        RunExistsError: there is something.
        RunError: the store cannot be written.
    """
    if list_objects(run):
        message = f"{run} exists: import into another folder, or remove it first"
        raise RunExistsError(message)
    files = sorted(
        (file for file in folder.rglob("*") if file.is_file()),
        key=lambda file: file.name == HEADER,
    )
    try:
        with _asking(run) as (store, path):
            for file in files:
                store.pipe_file(f"{path}/{file.relative_to(folder).as_posix()}", file.read_bytes())
    except BaseException:
        with contextlib.suppress(RunError), _asking(run) as (store, path):
            store.rm(path, recursive=True)
        raise


def list_objects(address: str) -> dict[str, int]:
    """Return the bytes of each object below an address, by its name there.

    Raises:
        RunError: the store cannot be read.
    """
    with _asking(address) as (store, path):
        store.invalidate_cache()
        try:
            found = store.find(path, detail=True)
        except FileNotFoundError:
            return {}
    return {name[len(path) :].strip("/"): entry["size"] for name, entry in found.items()}


@contextlib.contextmanager
def _asking(address: object) -> Iterator[tuple[Any, str]]:
    """Give the store and the path in it; whatever it complains of is one line."""
    fsspec = require("fsspec", extra="remote")
    try:
        store, path = fsspec.core.url_to_fs(str(address))
        yield store, path.rstrip("/")
    except (FileNotFoundError, RunError):
        raise
    except Exception as error:  # each store has errors of its own
        what = " ".join(str(error).split()) or type(error).__name__
        message = f"{address} cannot be reached: {what}; check the address and your rights to it"
        raise RunError(message) from error
