"""`detloader accept`: record a known difference in a file of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.cli.options import cli_command

if TYPE_CHECKING:
    import datetime as dt

__all__ = ["command"]


@cli_command("accept")
@click.argument("result", metavar="RESULT")
@click.option("--reason", metavar="TEXT", required=True, help="Why the difference is accepted.")
@click.option(
    "--until", metavar="YYYY-MM-DD", required=True, help="Last day on which it is accepted."
)
def command(*, result: str, reason: str, until: str) -> None:
    """Accept the differences of an audit, for a reason and for a time.

    RESULT is what `audit --json` wrote. The differences go into `detloader-accepted.json`
    beside the nearest pyproject.toml, else in the current folder: commit that file. `audit`
    reads it, and does not count them until that day is over.
    """
    from pathlib import Path

    from detloader.audits import acceptance
    from detloader.cli.project import accepted_file, today

    last = _day(until)
    found = acceptance.read_result(Path(result))
    entries = acceptance.accept(found, reason=reason, until=last, today=today())
    path = accepted_file()
    known = acceptance.load(path)
    known |= {entry.id: entry for entry in entries}
    acceptance.save(path, known.values())
    for entry in entries:
        click.echo(f"{path.name}: {entry.id} accepted until {last}: {entry.difference}")


def _day(text: str) -> dt.date:
    import datetime as dt

    from detloader.errors import UsageError

    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:
        raise UsageError(f"--until {text} is no day: write YYYY-MM-DD")
    return day
