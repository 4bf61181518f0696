"""`detloader show`: the header and the rows of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.cli.options import cli_command, limit
from detloader.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from detloader.manifest.reader import Stream

__all__ = ["command"]


@cli_command("show")
@click.argument("run", metavar="RUN")
@click.option("--step", type=click.IntRange(min=0), metavar="N", help="Rows of batch N only.")
@click.option("--epoch", type=click.IntRange(min=0), metavar="N", help="Rows of epoch N only.")
@click.option("--record", metavar="ID", help="Rows of one record only.")
@click.option(
    "--replay",
    is_flag=True,
    help="Call the factory, make the rows of --record again alone, and show their draws.",
)
@limit
def command(
    *,
    run: str,
    step: int | None,
    epoch: int | None,
    record: str | None,
    replay: bool,
    limit: int | None,
) -> None:
    """Show what a run is, and its rows."""
    from pathlib import Path

    from detloader.cli.settings import read_settings
    from detloader.cli.table import output_width
    from detloader.cli.view import matching_rows, row_lines, run_lines, stream_lines
    from detloader.manifest.reader import open_run

    if replay and record is None:
        raise UsageError("--replay needs to know of which record: add --record ID")
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
    if replay:
        for name, found in rows.items():
            _replay(opened.streams[name], found, shown)


def _replay(stream: Stream, rows: pa.Table | None, limit: int) -> None:
    from detloader.audits.sampled import require_every_row, require_ids
    from detloader.cli.alone import alone_lines
    from detloader.manifest.rounding import Digester
    from detloader.recipe import build_loader
    from detloader.reports.plain import printable

    if stream.recipe is None:
        raise UsageError(
            f"stream {stream.name} does not say how its loader was made: record it with "
            "`detloader record MODULE:FACTORY`"
        )
    if rows is None or not len(rows):
        return
    require_ids(stream)
    require_every_row(stream)
    recipe = stream.recipe
    click.echo(printable(f"calling {recipe.factory}"), err=True)
    loader, _ = build_loader(recipe.factory, recipe.arguments)
    digester = Digester.named(stream.ranks[0].header.digesting)
    shown = rows.slice(0, limit).to_pylist()
    for line in alone_lines(loader, recipe.factory, shown, digester):
        click.echo(line)


def _no_match(run: str, **asked: int | str | None) -> str:
    given = " ".join(f"--{name} {value}" for name, value in asked.items() if value is not None)
    return f"no row of {run} has {given}: detloader show {run} shows which rows there are"
