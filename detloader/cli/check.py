"""`detloader check`: the rules for one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.cli.options import cli_command, output_options, pictures

if TYPE_CHECKING:
    from detloader.cli.output import Output

__all__ = ["command"]


@cli_command("check")
@click.argument("run", metavar="RUN")
@pictures
@output_options
def command(*, run: str, pictures: bool, output: Output) -> None:
    """Ask one run all that a single run can tell."""
    from detloader.audits import check
    from detloader.cli.progress import waiting

    with waiting(f"checking {run}"):
        result = check(
            run,
            select=output.select,
            ignore=output.ignore,
            pictures=pictures or output.has_pictures,
        )
    output.give(result)
