"""`detloader sign`: say with a key that this is what was recorded."""

from __future__ import annotations

import click

from detloader.cli.options import cli_command

__all__ = ["command"]


@cli_command("sign")
@click.argument("run", metavar="RUN")
@click.option(
    "--key",
    metavar="KEY",
    required=True,
    help="File with an Ed25519 private key, as OpenSSL or ssh-keygen writes it.",
)
def command(*, run: str, key: str) -> None:
    """Sign a run, so that others can tell that it is yours and that nobody changed it.

    The run is verified first. The signature goes to RUN/signature.json, with those that other
    keys made. `detloader verify RUN --key PUBLIC` checks it; docs/signing.md says what it attests.
    """
    from detloader.cli.progress import waiting
    from detloader.manifest.verify import verify_run
    from detloader.reports.plain import printable
    from detloader.signing import SIGNATURE, sign_run

    with waiting(f"reading {run}"):
        verified = verify_run(run)
    key_id = sign_run(verified, key)
    click.echo(printable(f"{run}/{SIGNATURE}: signed by key {key_id[:16]}"))
