"""`record --verify`: a share of the records, made again at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.cli.status import Status
from detloader.reports.plain import plural, printable, wrap

if TYPE_CHECKING:
    from detloader.manifest.reader import Run

__all__ = ["verify"]

_SHOWN = 5


def verify(loader: object, run: Run, share: float) -> None:
    """Make a share of the records again; leave with status 1 where any comes out otherwise."""
    from detloader.audits.replay.spot_check import spot_check
    from detloader.cli.progress import waiting

    with waiting("making records again"):
        count, otherwise = spot_check(loader, run, share)
    made = f"{plural(count, 'record')} made again alone"
    if not otherwise:
        click.echo(f"{made}: as recorded")
        return
    click.echo(f"{made}: {len(otherwise):,} otherwise")
    for one in otherwise[:_SHOWN]:
        told = f"record {one.record}, row {one.row}: other {' and '.join(one.columns)}; {one.cause}"
        click.echo(wrap(printable(told), indent="  ", hanging="    "))
    if len(otherwise) > _SHOWN:
        click.echo(f"  and {len(otherwise) - _SHOWN:,} more")
    raise click.exceptions.Exit(Status.DIFFERENT)
