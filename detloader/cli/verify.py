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
@click.option("--key", metavar="KEY", help="Prove, too, that the holder of this key signed it.")
def command(*, run: str, key: str | None) -> None:
    """Prove a run: every byte, every digest, no gap.

    Every file has its SHA-256, every block of every column its digest, all counts add up, and the
    fingerprint follows from them. Nothing was changed since, by accident. With the public key of
    whoever signed it (`detloader sign`), nothing was changed on purpose either. Whether the loader
    did what was declared, it does not prove.
    """
    from detloader.cli.progress import waiting
    from detloader.errors import RunError
    from detloader.manifest.verify import verify_run
    from detloader.reports.plain import plural, printable

    with waiting(f"reading {run}"):
        verified = verify_run(run)
    if verified.fingerprint is None:
        raise RunError(_open(verified))
    signed = _signer(verified, key)
    ranks = sum(len(stream.ranks) for stream in verified.streams.values())
    proved = f"{plural(verified.rows, 'row')} in {plural(ranks, 'rank')}"
    lost = sum(stream.lost for stream in verified.streams.values())
    gap = f"; {plural(lost, 'row')} could not be recorded" if lost else ""
    click.echo(f"{printable(run)} is whole{signed}: {proved}, {verified.fingerprint}{gap}")


def _signer(run: Run, key: str | None) -> str:
    if key is None:
        return ""
    from detloader.signing import verify_signature

    return f", and signed by key {verify_signature(run, key)[:16]}"


def _open(run: Run) -> str:
    """Say how much of a run that was never sealed is there, and whether more may come."""
    from detloader.manifest.layout import LOCK
    from detloader.manifest.local import LocalFolder
    from detloader.reports.plain import plural

    ranks = [rank for stream in run.streams.values() for rank in stream.ranks]
    unsealed = [rank.folder for rank in ranks if rank.header.state == "open"]
    locks = [folder.file(LOCK) for folder in unsealed if isinstance(folder, LocalFolder)]
    readable = plural(run.rows, "row")
    sealed = sum(rank.header.seen.rows for rank in ranks)
    proved = f"{sealed:,} of them in sealed parts, which are whole" if sealed else "none sealed yet"
    if any(map(_is_being_recorded, locks)):
        return (
            f"{run.path} is still being recorded: {readable} can be read, {proved}; "
            "verify it when the recording has ended"
        )
    return (
        f"{run.path} was cut off and never sealed: {readable} can be read, {proved}; "
        "audit judges it as the beginning of a run"
    )


def _is_being_recorded(lock: Path) -> bool:
    """Tell whether a process holds a rank's folder; one that was killed holds it no more."""
    import filelock

    if not lock.is_file():
        return False
    try:
        with filelock.FileLock(lock, thread_local=False).acquire(blocking=False):
            return False
    except (filelock.Timeout, OSError):
        return True
