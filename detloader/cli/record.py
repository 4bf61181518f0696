"""`detloader record`: build a loader, run it, record it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import click

from detloader.cli.options import cli_command
from detloader.cli.pairs import split_pairs

__all__ = ["command"]


@cli_command("record")
@click.argument("factory", metavar="MODULE:FACTORY")
@click.option("-o", "--output", "run", metavar="RUN", required=True, help="Folder to write.")
@click.option(
    "-p",
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Argument of the factory; the value is JSON where it reads as JSON, else text.",
)
@click.option(
    "--batches",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop after N elements, each a batch or a record, as the loader gives them.",
)
@click.option(
    "--level",
    type=click.Choice(["digest", "order", "full"]),
    default="full",
    show_default=True,
    help="How much of each row is kept: nothing but digests, IDs, or all.",
)
@click.option("--ids", metavar="KEY", help="Key of each element that holds its record's ID.")
@click.option("--batched", is_flag=True, help="An element is a batch, and not one record.")
def command(
    *,
    factory: str,
    run: str,
    parameters: tuple[str, ...],
    batches: int | None,
    level: Literal["digest", "order", "full"],
    ids: str | None,
    batched: bool,
) -> None:
    """Build a loader, run it once, and record what it delivers.

    The factory is called with the parameters; the current folder is importable. A loader that
    fails is status 2, and so is a row that could not be recorded: the run keeps what came before.
    """
    from detloader.cli.losses import Losses
    from detloader.manifest.reader import open_run
    from detloader.recipe import build_loader, parse_value
    from detloader.recording import record
    from detloader.reports.plain import plural, printable

    arguments = {k: parse_value(v) for k, v in split_pairs(parameters, "-p").items()}
    loader, recipe = build_loader(factory, arguments)
    with (
        Losses() as losses,
        record(
            loader, run, level=level, ids=ids, batched=batched or None, recipe=recipe
        ) as recorded,
    ):
        _run(recorded, batches, f"{factory}, recorded in {run},")
    opened = open_run(run)
    click.echo(printable(f"{run}: {plural(opened.rows, 'row')}"))
    losses.refuse(opened)


def _run(loader: Iterable[object], batches: int | None, name: str) -> None:
    """Take elements as a training loop would; a failure is the loader's, not ours."""
    from itertools import islice

    from detloader.errors import DetloaderError, LoaderError
    from detloader.reports.plain import plural

    delivered = 0
    try:
        for _ in islice(loader, batches):
            delivered += 1
    except DetloaderError:
        raise
    except Exception as error:
        raise LoaderError(
            f"{name} failed after {plural(delivered, 'element')}: "
            f"{type(error).__name__}: {error}; --debug shows where"
        ) from error
