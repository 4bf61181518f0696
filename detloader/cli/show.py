"""`detloader show`: the header and the rows of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.cli.options import cli_command, limit

if TYPE_CHECKING:
    from detloader.manifest.reader import Stream

__all__ = ["command"]


@cli_command("show")
@click.argument("run", metavar="RUN")
@click.option("--step", type=click.IntRange(min=0), metavar="N", help="Rows of batch N only.")
@click.option("--epoch", type=click.IntRange(min=0), metavar="N", help="Rows of epoch N only.")
@click.option("--record", metavar="ID", help="Rows of one record only.")
@limit
def command(
    *, run: str, step: int | None, epoch: int | None, record: str | None, limit: int | None
) -> None:
    """Show what a run is, and its rows."""
    from detloader.cli.view import header, matching, row_table
    from detloader.manifest.reader import open_run

    opened = open_run(run)
