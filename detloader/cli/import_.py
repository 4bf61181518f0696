"""`detloader import`: a run from an order log of another system."""

from __future__ import annotations

import click

from detloader.cli.keeping import id_hash_option
from detloader.cli.options import cli_command
from detloader.cli.pairs import split_pairs

__all__ = ["command"]


@cli_command("import")
@click.argument("logs", metavar="LOG", nargs=-1, required=True)
@click.option("--meta", metavar="JSON", help="File with what the run declared.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=COLUMN",
    help="The log's name of a column, such as record=sample_id.",
)
@click.option(
    "--id-root",
    metavar="FOLDER",
    help="Folder of the data where the log was written; IDs below it are kept relative to it.",
)
@id_hash_option
@click.option("-o", "--output", "run", metavar="RUN", required=True, help="Folder to write.")
def command(
    *,
    logs: tuple[str, ...],
    meta: str | None,
    columns: tuple[str, ...],
    id_root: str | None,
    id_hash: str | None,
    run: str,
) -> None:
    """Make a run from an order log of another system.

    LOG is CSV (.csv), JSON lines (.jsonl, .ndjson) or Parquet (.parquet, .pq), rows in delivery
    order, with at least `record`; a NumPy array of indices (.npy), such as the shuffle index of
    Megatron; the data-indices of OLMo, or the debug lines of Megatron Energon, as one file or as
    the folder with those of all ranks and workers.
    """
    from detloader.cli.progress import waiting
    from detloader.errors import UsageError
    from detloader.importers import import_log
    from detloader.manifest.reader import open_run
    from detloader.reports.plain import plural, printable

    log, *others = logs
    if others:
        raise UsageError(
            f"{log} and {others[0]} are two logs, and a run is made of one: import each into a "
            "run of its own, or put files of one program into one folder, under unlike names"
        )
    named = split_pairs(columns, "--column")
    with waiting(f"importing {log}"):
        cut = import_log(log, run, meta=meta, columns=named, id_root=id_root, id_hash=id_hash)
    for line in cut:
        click.echo(printable(f"{line}: the run is not complete"), err=True)
    click.echo(printable(f"{run}: {plural(open_run(run).rows, 'row')}"))
