"""`detloader verify`: every byte, every digest, no gap."""

from __future__ import annotations

import click

from detloader.cli.options import cli_command

__all__ = ["command"]


@cli_command("verify")
@click.argument("run", metavar="RUN")
def command(*, run: str) -> None:
    """Prove a run: every byte, every digest, no gap."""
    from detloader.errors import RunError
    from detloader.manifest.verify import verify_run
    from detloader.reports.plain import plural, printable

    verified = verify_run(run)
    if verified.fingerprint is None:
        raise RunError(
            f"{run} is still open: its journal has no digest yet, so not every row is proved; "
            "let the recording end, or audit it as the part that it is"
        )
    ranks = sum(len(stream.ranks) for stream in verified.streams.values())
    proved = f"{plural(verified.rows, 'row')} in {plural(ranks, 'rank')}"
    click.echo(f"{printable(run)} is whole: {proved}, {verified.fingerprint}")
