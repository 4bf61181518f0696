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
@click.option("--batches", type=click.IntRange(min=1), metavar="N", help="Stop after N elements.")
@click.option(
    "--level",
    type=click.Choice(["digest", "order", "full"]),
    default="full",
    show_default=True,
    help="How much of each row is kept: nothing but digests, IDs, or all.",
)
def command(
    *,
    factory: str,
    run: str,
    parameters: tuple[str, ...],
    batches: int | None,
    level: Literal["digest", "order", "full"],
) -> None:
    """Build a loader, run it once, and record what it delivers.

    The factory is called with the parameters; the current folder is importable.
    """
    from detloader.manifest.reader import open_run
    from detloader.recipe import build_loader, parse_value
    from detloader.recording import record

    arguments = {k: parse_value(v) for k, v in split_pairs(parameters, "-p").items()}
    loader, recipe = build_loader(factory, arguments)
    with record(loader, run, level=level, recipe=recipe) as recorded:
        _run(recorded, batches, f"{factory}, recorded in {run},")
    click.echo(f"{run}: {open_run(run).rows} rows")


def _run(loader: Iterable[object], batches: int | None, name: str) -> None:
    """Take elements as a training loop would; a failure is the loader's, not ours."""
    from itertools import islice

    from detloader.errors import DetloaderError, LoaderError

    delivered = 0
    try:
        for _ in islice(loader, batches):
            delivered += 1
    except DetloaderError:
        raise
    except Exception as error:
        raise LoaderError(
            f"{name} failed after {delivered} elements: {type(error).__name__}: {error}; "
            "--debug shows where"
        ) from error
