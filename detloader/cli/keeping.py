"""Options that say what of a run is kept, and in which form."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["id_hash_option", "keeping_options", "settled"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")

id_hash_option = click.option(
    "--id-hash",
    metavar="KEYFILE",
    help="Keep digests of record IDs under the key in this file, and no ID.",
)


def keeping_options(function: _Function) -> _Function:
    """Offer `--digest`, `--id-hash`, `--epochs`, `--every` and `--then`."""
    for option in (
        click.option(
            "--then",
            type=click.Choice(["order"]),
            help="Keep no draws and no content after the first epoch that is recorded.",
        ),
        click.option(
            "--every",
            type=click.IntRange(min=1),
            metavar="N",
            help="Record one batch in N of each epoch.",
        ),
        click.option(
            "--epochs",
            metavar="NUMBERS",
            help="Record these epochs alone, such as 0,10,20-29.",
        ),
        id_hash_option,
        click.option(
            "--digest",
            type=click.Choice(["sha256"]),
            help="Digest content by SHA-256, and not by XXH3-64.",
        ),
    ):
        function = option(function)
    return function


def settled(keeping: dict[str, Any], level: str) -> dict[str, Any]:
    """Return the options as `record` takes them, wherever the program goes.

    Raises:
        click.UsageError: the epochs are no numbers.
        UsageError: `record` would refuse them, or the key cannot be read.
    """
    from detloader.manifest.keyed import IdHash
    from detloader.manifest.sampling import sampling_of
    from detloader.manifest.schema import Level

    key, epochs = keeping["id_hash"], keeping["epochs"]
    told = keeping | {
        "id_hash": key and str(Path(key).absolute()),
        "epochs": epochs and [*itertools.chain(*map(_span, epochs.split(",")))],
    }
    if key:
        IdHash.of(key)
    sampling_of(told["epochs"], told["every"], told["then"], Level(level))
    return told


def _span(text: str) -> range:
    from detloader.manifest.schema import MOST_EPOCHS

    first, dash, last = text.partition("-")
    try:
        span = range(int(first), int(last if dash else first) + 1)
    except ValueError as error:
        raise click.UsageError(f"--epochs {text}: write numbers, such as 0,10,20-29") from error
    if len(span) > MOST_EPOCHS:
        raise click.UsageError(f"--epochs {text}: name {MOST_EPOCHS:,} of them at most")
    return span
