"""`detloader freeze`: a run as a small text file, made to be committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.cli.options import cli_command

if TYPE_CHECKING:
    from detloader.audits.frozen import Frozen

__all__ = ["command"]


@cli_command("freeze")
@click.argument("run", metavar="RUN")
@click.option("-o", "--output", "file", metavar="FILE", required=True, help="File to write.")
def command(*, run: str, file: str) -> None:
    """Write down what a run was, in a small text file that is made to be committed.

    It holds how the loader was made, what was declared, the versions that it ran on, and digests
    of all that was delivered; no row. `detloader preflight FILE` runs it again. A file that is
    there is replaced.
    """
    from detloader.audits.frozen import freeze, save
    from detloader.reports.plain import printable

    frozen = freeze(run)
    save(frozen, file)
    click.echo(printable(f"{file}: {_told(frozen)}"))


def _told(frozen: Frozen) -> str:
    from detloader.reports.plain import plural

    ranks = [rank for stream in frozen.streams.values() for rank in stream.ranks.values()]
    rows = plural(sum(rank.rows for rank in ranks), "row")
    names = dict.fromkeys(name for rank in ranks for name in rank.columns)
    told = f"{rows}, {', '.join(names)}, {frozen.fingerprint}"
    if any(stream.recipe for stream in frozen.streams.values()):
        return told
    return f"{told}; no factory is named, so preflight cannot run it"
