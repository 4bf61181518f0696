"""`detloader audit`: compare runs with a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.audits.equivalence import Equivalence
from detloader.cli.options import cli_command, output_options, pictures

if TYPE_CHECKING:
    from detloader.cli.output import Output

__all__ = ["command"]


@cli_command("audit")
@click.argument("baseline", metavar="RUN_A")
@click.argument("runs", metavar="RUN_B...", nargs=-1, required=True)
@click.option("--verify", is_flag=True, help="Read and prove every block, not headers alone.")
@click.option(
    "--first", is_flag=True, help="Find the first difference only; count and ask nothing else."
)
@click.option(
    "--equivalence",
    type=click.Choice([rule.value for rule in Equivalence]),
    help="How alike the runs have to be; identical or equivalent by default.",
)
@click.option(
    "--id-map",
    metavar="FILE",
    help="Names of the records in RUN_A and in the others: columns a and b, or the first two.",
)
@pictures
@output_options
def command(
    *,
    baseline: str,
    runs: tuple[str, ...],
    verify: bool,
    first: bool,
    equivalence: str | None,
    id_map: str | None,
    pictures: bool,
    output: Output,
) -> None:
    """Compare runs with RUN_A, and say why they differ.

    Differences that the project accepts do not count: `detloader accept` records them.
    """
    from detloader.audits import acceptance, audit
    from detloader.cli.progress import waiting
    from detloader.cli.project import accepted_file, today

    rule = output.equivalence if equivalence is None else Equivalence(equivalence)
    accepted = acceptance.load(accepted_file())
    with waiting(f"comparing {' and '.join(runs)} with {baseline}"):
        result = audit(
            baseline,
            *runs,
            select=output.select,
            ignore=output.ignore,
            equivalence=rule,
            verify=verify,
            id_map=id_map,
            pictures=pictures or (output.has_pictures and not first),
            first=first,
        )
    output.give(acceptance.with_acceptances(result, accepted, today=today()), rule)
