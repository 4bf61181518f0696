"""Where a result goes: reports in files and on the terminal."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import click

from detloader import reports
from detloader.audits.acceptance import FILE_NAME
from detloader.cli.progress import waiting
from detloader.cli.settings import project_folder, read_settings
from detloader.cli.status import status_of
from detloader.errors import UsageError
from detloader.findings import Severity
from detloader.manifest.layout import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from detloader.audits.equivalence import Equivalence
    from detloader.findings import Result

__all__ = ["Output", "wants_color"]

TERMINAL = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What was asked, and where the answer goes.

    Attributes:
        files: the file of each format that has one.
        terminal: the format that the terminal gets; None for one line only.
        select: the only rules to ask; all of them where it is empty.
        ignore: rules to leave out.
        fail_on: mildest finding that gives exit status 1.
        limit: rows and IDs that text shows.
        equivalence: how alike audited runs have to be, as the project's settings say.
        color: whether the terminal gets colours.
    """

    OPTIONS: ClassVar[Mapping[str, Any]] = {
        "select": (),
        "ignore": (),
        "fail_on": None,
        "limit": None,
        "quiet": False,
        "no_color": False,
    }
    """Options that every command may have, and what holds where it has them not."""

    PICTURED: ClassVar = "html"
    """The format that shows pictures."""

    files: Mapping[str, Path]
    terminal: str | None
    select: Sequence[str]
    ignore: Sequence[str]
    fail_on: Severity
    limit: int
    equivalence: Equivalence | None
    color: bool

    @classmethod
    def chosen(
        cls,
        destinations: Mapping[str, str | None],
        *,
        read: Iterable[str],
        select: Sequence[str],
        ignore: Sequence[str],
        fail_on: str | None,
        limit: int | None,
        quiet: bool,
        no_color: bool,
    ) -> Output:
        """Take what the command line says, and for the rest the project's settings.

        Args:
            destinations: where each format goes; None where it is not wanted.
            read: runs and files that the command reads; no report may overwrite one.
            select: rules, as `--select` names them.
            ignore: rules, as `--ignore` names them.
            fail_on: a severity.
            limit: rows and IDs that text shows.
            quiet: whether the terminal gets one line only.
            no_color: whether the terminal gets no colours.

        Raises:
            UsageError: if options exclude each other, or a file cannot be written; that is
                better known before the runs are read.
        """
        settings = read_settings(Path.cwd())
        files = {name: Path(to) for name, to in destinations.items() if to not in (None, TERMINAL)}
        _refuse_unwritable(files.values())
        _refuse_overwriting(files.values(), [*read, *_project_files()])
        return cls(
            files=files,
            terminal=_terminal_format(destinations, quiet=quiet),
            select=select or settings.select,
            ignore=ignore or settings.ignore,
            fail_on=settings.fail_on if fail_on is None else Severity(fail_on),
            limit=limit or settings.limit,
            equivalence=settings.equivalence,
            color=not no_color and wants_color(),
        )

    @property
    def has_pictures(self) -> bool:
        """Tell whether one of the reports shows pictures."""
        return self.PICTURED in self.files or self.terminal == self.PICTURED

    def give(self, result: Result, rule: Equivalence | None = None) -> NoReturn:
        """Write all reports and leave the command with the status of the result.

        Args:
            result: what came out.
            rule: the equivalence that was asked for.
        """
        self.write(result)
        raise click.exceptions.Exit(status_of(result, self.fail_on, rule))

    def write(self, result: Result) -> None:
        """Write all reports."""
        with waiting("writing reports"):
            texts = {
                path: reports.render(name, result, limit=self.limit, color=False)
                for name, path in self.files.items()
            }
        for path, text in texts.items():
            _write(path, text)
        if self.terminal is None:
            click.echo(reports.headline(result))
        else:
            text = reports.render(self.terminal, result, limit=self.limit, color=self.color)
            click.echo(text, nl=False)


def wants_color() -> bool:
    """Tell whether standard output is a terminal that shows colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and sys.stdout.isatty()


def _terminal_format(destinations: Mapping[str, str | None], *, quiet: bool) -> str | None:
    named = [name for name, to in destinations.items() if to == TERMINAL]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} cannot both go to -: give one of them a file")
    if named and quiet:
        raise UsageError(f"--quiet and --{named[0]} - exclude each other: leave one out")
    if quiet:
        return None
    return named[0] if named else "text"


def _project_files() -> Iterator[str]:
    folder = project_folder(Path.cwd())
    yield from (str(folder / name) for name in ("pyproject.toml", FILE_NAME))


def _refuse_unwritable(paths: Iterable[Path]) -> None:
    seen: set[Path] = set()
    for path in paths:
        if path.is_dir() or not path.parent.is_dir():
            raise UsageError(f"{path} cannot be written: name a file in a folder that exists")
        if path.resolve() in seen:
            raise UsageError(f"{path} is named twice: give each report a file of its own")
        seen.add(path.resolve())


def _refuse_overwriting(paths: Iterable[Path], read: Iterable[str]) -> None:
    """Refuse a file that is read, by whatever name, and one that lies in a run that is read."""
    for path in paths:
        target = path.resolve()
        for each in filter(os.path.exists, read):
            if target.exists() and target.samefile(each):
                raise UsageError(f"{path} is read here, and would be lost: name another file")
            if any(folder.samefile(each) for folder in target.parents):
                raise UsageError(f"{path} lies in {each}, which is read: name a file elsewhere")


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all; pipes and devices take what comes."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(path.resolve(), text.encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
