"""`detloader report`: render a result again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.cli.options import cli_command, report_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.cli.output import Output
    from detloader.findings import Result

__all__ = ["command"]


@cli_command("report")
@click.argument("result", metavar="RESULT")
@report_options
def command(*, result: str, output: Output) -> None:
    """Render a result again, without comparing anything.

    RESULT is what `--json` wrote. Pictures are drawn where it was written with `--pictures`,
    or beside `--html`. The runs may be gone. The exit status is 0 whatever the verdict.
    """
    from pathlib import Path

    from detloader.audits.acceptance import read_result
    from detloader.reports.plain import printable

    found = read_result(Path(result))
    pictured = {*_pictured(found)}
    _refuse_unknown(pictured, result)
    output.write(found)
    if output.has_pictures and not pictured:
        told = f"{result} has no pictures: to have them, audit or check again with --pictures"
        click.echo(f"detloader: {printable(told)}", err=True)


def _pictured(result: Result) -> Iterator[str]:
    """Yield the names of the pictures that a result has."""
    for one in [result, *(result.comparisons or [])]:
        for stream in one.streams:
            yield from (picture.name for picture in stream.pictures or [])


def _refuse_unknown(pictured: set[str], result: str) -> None:
    import pkgutil

    from detloader.audits import pictures
    from detloader.errors import UsageError

    known = {module.name.replace("_", "-") for module in pkgutil.iter_modules(pictures.__path__)}
    if unknown := sorted(pictured - known):
        raise UsageError(
            f"{result} holds no result (there is no picture {unknown[0]!r}, only "
            f"{', '.join(sorted(known))}): audit or check again"
        )
