"""`detloader audit`: compare runs with a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.cli.options import cli_command, output_options

if TYPE_CHECKING:
    from detloader.cli.output import Output

__all__ = ["command"]


@cli_command("audit")
@click.argument("baseline", metavar="RUN_A")
@click.argument("runs", metavar="RUN_B...", nargs=-1, required=True)
@click.option("--verify", is_flag=True, help="Read and prove every block, not headers alone.")
@output_options
def command(*, baseline: str, runs: tuple[str, ...], verify: bool, output: Output) -> None:
    """Compare runs with RUN_A, and say why they differ."""
    from detloader.audits import audit

    output.give(audit(baseline, *runs, select=output.select, ignore=output.ignore, verify=verify))
