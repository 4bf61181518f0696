"""`detloader verify`: every byte, every digest, no gap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.cli.options import cli_command

if TYPE_CHECKING:
    from pathlib import Path

    from detloader.manifest.reader import Run

__all__ = ["command"]


@cli_command("verify")
@click.argument("run", metavar="RUN")
def command(*, run: str) -> None:
    """Prove a run: every byte, every digest, no gap.

    Every file has its SHA-256, every block of every column its digest, all counts add up, and the
    fingerprint follows from them. Nothing was changed since, by accident. Who recorded the run,
    and whether the loader did what was declared, it does not prove.
    """
    from detloader.errors import RunError
    from detloader.manifest.verify import verify_run
    from detloader.reports.plain import plural, printable

    verified = verify_run(run)
    if verified.fingerprint is None:
        raise RunError(_open(verified))
    ranks = sum(len(stream.ranks) for stream in verified.streams.values())
    proved = f"{plural(verified.rows, 'row')} in {plural(ranks, 'rank')}"
    click.echo(f"{printable(run)} is whole: {proved}, {verified.fingerprint}")


def _open(run: Run) -> str:
    """Say how much of a run that was never sealed is there, and whether more may come."""
    from detloader.reports.plain import plural

    ranks = [rank for stream in run.streams.values() for rank in stream.ranks]
    unsealed = [rank.folder for rank in ranks if rank.header.state == "open"]
    readable = plural(run.rows, "row")
    sealed = sum(rank.header.seen.rows for rank in ranks)
    proved = f"{sealed:,} of them in sealed parts, which are whole" if sealed else "none sealed yet"
    if any(map(_is_being_recorded, unsealed)):
        return (
            f"{run.path} is still being recorded: {readable} can be read, {proved}; "
            "verify it when the recording has ended"
        )
    return (
        f"{run.path} was cut off and never sealed: {readable} can be read, {proved}; "
        "audit judges it as the beginning of a run"
    )


def _is_being_recorded(folder: Path) -> bool:
    """Tell whether a process holds a rank's folder; one that was killed holds it no more."""
    import filelock

    from detloader.manifest.layout import LOCK

    if not (folder / LOCK).is_file():
        return False
    try:
        with filelock.FileLock(folder / LOCK, thread_local=False).acquire(blocking=False):
            return False
    except (filelock.Timeout, OSError):
        return True
