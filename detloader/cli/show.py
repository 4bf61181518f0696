"""`detloader show`: the header and the rows of a run."""

from __future__ import annotations

import click

from detloader.cli.options import cli_command, limit
from detloader.errors import UsageError

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
    from detloader.cli.table import output_width
    from detloader.cli.view import matching_rows, row_lines, run_lines, stream_lines
    from detloader.manifest.reader import open_run

    opened = open_run(run)
    shown = limit or read_settings(Path.cwd()).limit
    asked = {"batch": step, "epoch": epoch, "record": record}
    wanted = {column: value for column, value in asked.items() if value is not None}
    rows = {name: matching_rows(stream, wanted) for name, stream in opened.streams.items()}
    if wanted and not any(rows.values()):
        raise UsageError(_no_match(run, step=step, epoch=epoch, record=record))
    lines, width = run_lines(opened), output_width()
    for name, stream in opened.streams.items():
        lines += ["", *stream_lines(stream), "", *row_lines(rows[name], shown, width)]
    click.echo("\n".join(lines))


def _no_match(run: str, **asked: int | str | None) -> str:
    given = " ".join(f"--{name} {value}" for name, value in asked.items() if value is not None)
    return f"no row of {run} has {given}: detloader show {run} shows which rows there are"
