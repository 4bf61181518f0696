"""`detloader show`: the header and the rows of a run."""

from __future__ import annotations

import click

from detloader.cli.options import cli_command, limit

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
    from pathlib import Path

    from detloader.cli.settings import read_settings
    from detloader.cli.view import row_lines, run_lines, stream_lines
    from detloader.manifest.reader import open_run

    opened = open_run(run)
    shown = limit or read_settings(Path.cwd()).limit
    asked = {"batch": step, "epoch": epoch, "record": record}
    wanted = {column: value for column, value in asked.items() if value is not None}
    lines = run_lines(opened)
    for stream in opened.streams.values():
        lines += ["", *stream_lines(stream), "", *row_lines(stream, wanted, shown)]
    click.echo("\n".join(lines))
