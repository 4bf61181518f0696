"""`detloader record`: build a loader, run it, record it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from typing import Any, Literal, NoReturn

import click

from detloader.cli.keeping import keeping_options, settled
from detloader.cli.options import batches_option, cli_command, parameters_option
from detloader.cli.pairs import split_pairs
from detloader.manifest.layout import whole_address

__all__ = ["command"]


@cli_command("record")
@click.argument("factory", metavar="MODULE:FACTORY")
@click.argument("rest", metavar="[-- PROGRAM ARGS...]", nargs=-1, type=click.UNPROCESSED)
@click.option("-o", "--output", "run", metavar="RUN", required=True, help="Folder to write.")
@parameters_option(
    help="Argument of the factory; the value is JSON where it reads as JSON, else text."
)
@batches_option(help="Stop after N elements, each a batch or a record, as the loader gives them.")
@click.option(
    "--level",
    type=click.Choice(["digest", "order", "full"]),
    default="full",
    show_default=True,
    help="How much of each row is kept: nothing but digests, IDs, or all.",
)
@click.option("--ids", metavar="KEY", help="Key of each element that holds its record's ID.")
@click.option(
    "--verify",
    type=click.FloatRange(min=0, min_open=True, max=1),
    metavar="SHARE",
    help="Then make this share of the records again, each alone, and compare.",
)
@click.option("--batched", is_flag=True, help="An element is a batch, and not one record.")
@click.option(
    "--id-root",
    metavar="FOLDER",
    help="Folder of the data on this machine; IDs below it are kept relative to it.",
)
@click.option(
    "--content",
    type=click.Choice(["float16", "float32"]),
    help="Round floats to this type before content is digested.",
)
@click.option(
    "--decimals",
    type=click.IntRange(0, 15),
    metavar="N",
    help="Round floats to N digits after the point before content is digested.",
)
@click.option("--parent", metavar="RUN", help="The run that this one continues, sealed or cut off.")
@keeping_options
def command(
    *,
    factory: str,
    rest: tuple[str, ...],
    run: str,
    parameters: tuple[str, ...],
    batches: int | None,
    level: Literal["digest", "order", "full"],
    ids: str | None,
    batched: bool,
    id_root: str | None,
    content: str | None,
    decimals: int | None,
    verify: float | None,
    parent: str | None,
    **keeping: Any,
) -> None:
    """Build a loader, run it once, and record what it delivers; or record a program's loaders.

    The factory is called with the parameters; the current folder is importable. A loader that
    fails is status 2, and so is a row that could not be recorded: the run keeps what came before.
    A record that comes out otherwise when it is made again is status 1.

    `detloader record -o RUN -- PROGRAM ARGS...` runs a program instead, with no change to its
    code: every loader of Torch, TensorFlow, Grain or detloader that it iterates is a stream of
    the run, named by the line that made it (train.py:41) or by `detloader.name(loader, "train")`.
    Output, signals and exit status are the program's.
    """
    options: dict[str, Any] = {
        "level": level,
        "id_root": id_root,
        "content": content,
        "decimals": decimals,
        "parent": parent and whole_address(parent),
        **settled(keeping, level),
    }
    if content is not None and decimals is not None:
        raise click.UsageError("--content and --decimals are two roundings: choose one")
    if verify is not None and (keeping["epochs"] or keeping["every"]):
        raise click.UsageError("--verify goes by the number of a row: record all, or leave it out")
    if ":" not in factory or shutil.which(factory, os.F_OK):  # a program's path may have one
        _become((factory, *rest), run, options, parameters or batches or ids or batched or verify)
    if rest:
        raise click.UsageError(f"{factory} takes no arguments of its own: give them with -p")

    import sys

    import msgspec

    from detloader.adapters import find_alone
    from detloader.cli import spot
    from detloader.cli.losses import Losses
    from detloader.interception.nothing import tell_nothing
    from detloader.manifest.reader import open_run
    from detloader.packages import loaded_since
    from detloader.recipe import build_loader, parse_value
    from detloader.recording import record
    from detloader.reports.plain import plural, printable

    arguments = {k: parse_value(v) for k, v in split_pairs(parameters, "-p").items()}
    before = {*sys.modules}
    loader, built = build_loader(factory, arguments)
    if verify is not None:
        find_alone(loader)  # or refused before anything is written
    recipe = msgspec.structs.replace(
        built, elements=batches or msgspec.UNSET, packages=loaded_since(before)
    )
    with (
        Losses() as losses,
        record(loader, run, ids=ids, batched=batched or None, recipe=recipe, **options) as recorded,
    ):
        _run(recorded, batches, factory, run)
    opened = open_run(run)
    click.echo(printable(f"{run}: {plural(opened.rows, 'row')}"))
    losses.refuse(opened)
    if (told := tell_nothing(run, factory)) is not None:
        click.echo(printable(f"detloader: {told}"), err=True)
    if verify is not None:
        spot.verify(loader, opened, verify)


def _become(program: tuple[str, ...], run: str, options: dict[str, Any], more: object) -> NoReturn:
    from detloader.program.launch import launch

    if more:
        message = "-p, --batches, --ids, --batched and --verify go with a factory, MODULE:FACTORY"
        raise click.UsageError(message)
    # Told now, and not by each loader of the program.
    if (root := options["id_root"]) is not None:
        from detloader.manifest.relative import IdRoot

        IdRoot(root)
    if (parent := options["parent"]) is not None:
        from detloader.manifest.prefix import continuation

        continuation(parent)
    launch(run, program, options)


def _run(loader: Iterable[object], batches: int | None, factory: str, run: str) -> None:
    """Take elements as a training loop would; a failure is the loader's, not ours."""
    from itertools import islice

    from detloader.cli.progress import counting
    from detloader.errors import DetloaderError, LoaderError
    from detloader.reports.plain import plural

    delivered = 0
    try:
        with counting(f"recording {factory}", batches) as step:
            for _ in islice(loader, batches):
                delivered += 1
                step()
    except DetloaderError:
        raise
    except Exception as error:
        raise LoaderError(
            f"{factory}, recorded in {run}, failed after {plural(delivered, 'element')}: "
            f"{type(error).__name__}: {error}; --debug shows where"
        ) from error
