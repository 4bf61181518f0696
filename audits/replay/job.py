"""What one replay is: data alone, so that it can be sent to any process or machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from detloader.findings import JsonValue

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ELSEWHERE", "Job", "Learnt", "Part", "Replayed", "Report", "known_as"]

ELSEWHERE = "elsewhere"
"""Stands for a new folder with links to what the present one holds."""


class Learnt(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a factory and its loader only once they have run.

    Attributes:
        parameters: the factory's keyword arguments, with their defaults; None where there is
            no default, or none that JSON has.
        stateful: whether the loader's position can be saved and restored.
        elements: elements that it delivered.
        source_sha256: SHA-256 of the factory's source file.
    """

    parameters: dict[str, JsonValue] = {}
    stateful: bool = False
    elements: int = 0
    source_sha256: str | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A factory to call, the conditions to call it under, and where to record the loader.

    Attributes:
        factory: "MODULE:FACTORY".
        arguments: its keyword arguments.
        stream: the stream's name in the run.
        elements: elements to take at most; None for all.
        ids: key of each element that holds its record's ID.
        batched: whether an element is a batch.
        id_root: folder that record IDs are kept relative to.
        rounding: how content is digested, as `Header.digesting` names it.
        folder: the working folder of the child; `ELSEWHERE` for a new one.
        home: the folder that a new one has links to all of.
        importable: folders that modules are imported from, besides the working folder.
        variables: environment variables to set, or to remove where the value is None.
        hooks: axes that change the child from inside before the factory is imported, with
            their values.
        cpus: processors that the child may use; None for all.
        world_size: ranks, each a process of its own.
        rank_arguments: keyword arguments that tell the factory its rank and the number of
            ranks, where it takes any.
        resume_at: elements after which the iterator's state is saved and restored in a new
            process; None for an uninterrupted run.
        notes_packages: whether the run says which packages the factory loaded.
        learnt: what the unvaried replay told; None before it has run.
        packages: versions of the packages that an environment for it has to hold.
        versions: those that take the place of what is here, of Python too, in an environment
            that is made for them; where there are none it is this one. Either way the small
            recorder records. None for all other jobs.
    """

    factory: str
    arguments: dict[str, JsonValue] = {}
    stream: str = "main"
    elements: int | None = None
    ids: str | None = None
    batched: bool | None = None
    id_root: str | None = None
    rounding: str | None = None
    folder: str
    home: str | None = None
    importable: list[str] = []
    variables: dict[str, str | None] = {}
    hooks: dict[str, JsonValue] = {}
    cpus: int | None = None
    world_size: int = 1
    rank_arguments: tuple[str, str] | None = None
    resume_at: int | None = None
    notes_packages: bool = False
    learnt: Learnt | None = None
    packages: dict[str, str] = {}
    versions: dict[str, str] | None = None

    def argument(self, names: Iterable[str]) -> str | None:
        """Return the first of several names under which the factory takes an argument."""
        known = {**(self.learnt.parameters if self.learnt else {}), **self.arguments}
        return known_as(names, known)

    def value(self, name: str) -> JsonValue:
        """Return the value of an argument, as it was given or else by default."""
        if name in self.arguments or self.learnt is None:
            return self.arguments.get(name)
        return self.learnt.parameters.get(name)


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What one process of a job does.

    Attributes:
        job: the whole of it.
        run: folder of the run to record.
        rank: rank of this process.
        arguments: keyword arguments of the factory, in this process.
        stop_at: elements after which to stop; None for all.
        save: file for the iterator's state at the end; None where nobody needs it.
        restore: file with the state to begin with; None to begin at the beginning.
        skipped: elements that were taken before that state was saved.
        only_import: whether to import the factory, and not to call it.
    """

    job: Job
    run: str
    rank: int = 0
    arguments: dict[str, JsonValue] = {}
    stop_at: int | None = None
    save: str | None = None
    restore: str | None = None
    skipped: int = 0
    only_import: bool = False


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a process says at its end.

    Attributes:
        died: why it could not do its part, in a sentence; None where it did.
        learnt: what it knows of the loader.
    """

    died: str | None = None
    learnt: Learnt = Learnt()


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """How a replay ended.

    Attributes:
        run: folder of the run that it recorded.
        died: why there is no such run, in a sentence; None where there is one.
        last_lines: what the program printed last.
        learnt: what is known of the loader now.
    """

    run: str
    died: str | None = None
    last_lines: list[str] = []
    learnt: Learnt = Learnt()


def known_as(names: Iterable[str], arguments: Iterable[str]) -> str | None:
    """Return the first name that is among the arguments."""
    taken = set(arguments)
    return next((name for name in names if name in taken), None)
