"""`detloader preflight`: may a frozen experiment go to other versions, or other code?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from detloader.cli.options import cli_command, output_options, timeout_option
from detloader.cli.status import Status
from detloader.findings import Outcome

if TYPE_CHECKING:
    from detloader.audits.preflight import Preflight
    from detloader.cli.output import Output
    from detloader.findings import Result

__all__ = ["command"]

_STATUSES = {"keep": Status.SAME, None: Status.UNJUDGED}
"""By decision; any other says that something differs."""


@cli_command("preflight")
@click.argument("file", metavar="FILE")
@click.option(
    "--with",
    "versions",
    multiple=True,
    metavar="PACKAGE==VERSION",
    help="A version that the candidate has in place of the frozen one; by default the candidate "
    "is this environment.",
)
@click.option("--python", metavar="X.Y", help="Version of the candidate's Python.")
@click.option("--run", metavar="RUN", help="The run that was frozen, where it is still there.")
@timeout_option(help="Give one process up after so long.")
@click.option("--accept", metavar="REASON", help="Accept the change, and write a child of FILE.")
@click.option(
    "-o",
    "--output",
    "child",
    metavar="CHILD",
    help="Where --accept writes; beside FILE by default.",
)
@output_options
def command(
    *,
    file: str,
    versions: tuple[str, ...],
    python: str | None,
    run: str | None,
    timeout: float,
    accept: str | None,
    child: str | None,
    output: Output,
) -> None:
    """Run a frozen experiment where it was frozen, then elsewhere, and say what follows.

    keep: what was frozen comes out. pin: something else does, that mends nothing. migrate:
    something else does, for the frozen run has a fault that is mended. All but keep is status 1.
    FILE is what `detloader freeze` wrote; its factory is called.
    """
    from detloader.audits.preflight import preflight
    from detloader.audits.preflight.accepted import in_words
    from detloader.cli.progress import waiting
    from detloader.cli.replay import announce

    if child is not None and accept is None:
        raise click.UsageError("-o names the file that --accept writes: give a reason as well")
    reason = None if accept is None else in_words(accept)
    packages = _versions(versions)
    with waiting(f"running what {file} says") as tell:
        found = preflight(
            file,
            packages=packages,
            python=python,
            run=run,
            select=output.select,
            ignore=output.ignore,
            pictures=output.has_pictures,
            timeout=timeout,
            announce=announce,
            tell=tell,
        )
    result = found.result if reason is None else _accepted(found, reason, file, child)
    output.write(result)
    status = _STATUSES.get(result.decision, Status.DIFFERENT)
    raise click.exceptions.Exit(status if reason is None else Status.SAME)


def _versions(texts: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        package, _, version = (part.strip() for part in text.partition("=="))
        if not package or not version:
            raise click.UsageError(f"--with {text} names no version: write PACKAGE==VERSION")
        if package in found:
            raise click.UsageError(f"--with names {package} twice: leave one out")
        found[package] = version
    return found


def _accepted(found: Preflight, reason: str, file: str, child: str | None) -> Result:
    """Write the child, and say in the result that the change is accepted."""
    from detloader.audits.frozen import save
    from detloader.audits.preflight.accepted import accepted, beside
    from detloader.reports.plain import printable

    frozen = accepted(found, reason)
    path = child or beside(file, frozen)
    save(frozen, path)
    click.echo(printable(f"{path}: accepted, {reason}"), err=True)
    return msgspec.structs.replace(found.result, outcome=Outcome.ACCEPTED)
