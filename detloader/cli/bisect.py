"""`detloader bisect`: which release of a package changed what a frozen experiment delivers?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.cli.options import cli_command, report_options, timeout_option

if TYPE_CHECKING:
    from detloader.cli.output import Output

__all__ = ["command"]


@cli_command("bisect")
@click.argument("file", metavar="FILE")
@click.option("--package", required=True, metavar="P", help="The package, such as grain.")
@click.option(
    "--from", "first", metavar="V", help="Oldest release to try; by default the frozen one."
)
@click.option("--to", "last", metavar="V", help="Newest release to try; by default the newest.")
@timeout_option(help="Give one process up after so long.")
@report_options
def command(
    *,
    file: str,
    package: str,
    first: str | None,
    last: str | None,
    timeout: float,
    output: Output,
) -> None:
    """Name the release of a package that changed what a frozen experiment delivers.

    FILE is what `detloader freeze` wrote; its factory is called, in an environment for each
    release that is tried. Ten releases take five at most; they are kept for the next time.
    """
    from detloader.audits.bisect import bisect
    from detloader.cli.progress import waiting
    from detloader.cli.replay import announce

    with waiting(f"bisecting releases of {package}") as tell:
        result = bisect(
            file,
            package,
            first=first,
            last=last,
            pictures=output.has_pictures,
            timeout=timeout,
            announce=announce,
            tell=tell,
        )
    output.give(result)
