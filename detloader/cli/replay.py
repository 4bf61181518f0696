"""`detloader replay`: run a recorded recipe again, under other conditions."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

import click

from detloader.cli.options import (
    batches_option,
    cli_command,
    output_options,
    parameters_option,
    timeout_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from detloader.cli.output import Output
    from detloader.findings import Result
    from detloader.manifest.reader import Run

__all__ = ["announce", "command"]


@cli_command("replay")
@click.argument("run", metavar="RUN")
@click.option(
    "--vary",
    multiple=True,
    metavar="AXIS=V1,V2",
    help="Only this axis, with these values or its own; +AXIS in addition, -AXIS without it.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be run; only import the factory.")
@parameters_option(help="Another argument of the factory, in every replay.")
@batches_option(help="Stop each replay after N elements.")
@click.option(
    "--recompute",
    type=click.Choice(["order", "records"]),
    help="Of a to_grain stream, compute the order from the header alone and run nothing; of that "
    "or a Dataloader, make every record again in any order; compare digests, and vary nothing.",
)
@click.option("--stream", metavar="NAME", help="The stream to replay, where RUN has several.")
@timeout_option(help="Give a replay up after so long.")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    metavar="N",
    help="Replays at most, but for those that repeat what is to be blamed.",
)
@click.option(
    "--executor",
    metavar="NAME",
    help="Where replays run: processes:N here, dask://HOST:PORT on a cluster.",
)
@click.option("--keep", metavar="DIR", help="A new folder to keep the replayed runs in.")
@output_options
def command(
    *,
    run: str,
    vary: tuple[str, ...],
    dry_run: bool,
    parameters: tuple[str, ...],
    batches: int | None,
    recompute: Literal["order", "records"] | None,
    stream: str | None,
    timeout: float,
    budget: int,
    executor: str | None,
    keep: str | None,
    output: Output,
) -> None:
    """Run the factory that RUN was recorded from again, and find what breaks the run.

    It runs unvaried first, then with each axis varied alone, then with several varied together.
    """
    from detloader.audits.replay.engine import plan, replay
    from detloader.audits.replay.recipes import describe, job_of
    from detloader.audits.replay.vary import wanted
    from detloader.cli.pairs import split_pairs
    from detloader.cli.progress import waiting
    from detloader.manifest.reader import open_run
    from detloader.recipe import parse_value

    opened = open_run(run)
    if recompute is not None:
        if vary or dry_run or parameters or batches or keep:
            raise click.UsageError("--recompute goes with --stream, --executor and reports alone.")
        with _chosen(executor) as chosen:
            output.give(_recomputed(recompute, opened, stream, chosen))
    arguments = {k: parse_value(v) for k, v in split_pairs(parameters, "-p").items()}
    call = describe(job_of(opened, stream, arguments))
    if dry_run:
        tried = plan(opened, vary=vary, arguments=arguments, stream=stream, timeout=timeout)
        click.echo("\n".join(_would(call, [str(each) for each in tried], budget)))
        return
    wanted(vary)
    announce(call)
    with _chosen(executor) as chosen, waiting(f"replaying {run}") as tell:
        result = replay(
            opened,
            vary=vary,
            arguments=arguments,
            elements=batches,
            stream=stream,
            timeout=timeout,
            budget=budget,
            executor=chosen,
            keep=keep,
            progress=lambda ended: tell(f"replaying {run}, after {ended}"),
        )
    output.give(result)


def announce(call: str) -> None:
    """Say which code is about to run, before it does."""
    from detloader.reports.plain import printable

    click.echo(printable(f"calling {call}"), err=True)


def _recomputed(
    what: Literal["order", "records"], run: Run, stream: str | None, executor: Executor | None
) -> Result:
    from detloader.audits.replay.recipes import describe, job_of
    from detloader.audits.replay.recompute import recompute_order, recompute_records
    from detloader.cli.progress import waiting

    if what == "records":
        announce(describe(job_of(run, stream)))
    recompute = recompute_order if what == "order" else recompute_records
    with waiting(f"recomputing the {what} of {run.path}"):
        return recompute(run, stream=stream, executor=executor)


def _would(call: str, tried: list[str], budget: int) -> Iterator[str]:
    """Yield what a replay would run."""
    from detloader.reports.plain import printable

    yield printable(f"would call {call}")
    yield "  unvaried, and three times more where that is not as recorded or anything breaks it"
    yield from (f"  with {each}" for each in tried)
    yield "  with sets of those that break nothing alone, and with ever smaller cases"
    yield "  with what breaks the run, three times more"
    yield f"in at most {budget} replays, and what is repeated of them"
    yield "the loader's state is looked for when it first runs"


@contextlib.contextmanager
def _chosen(name: str | None) -> Iterator[Executor | None]:
    if name is None:
        yield None
        return
    from detloader.audits.replay.executors import executor_named

    with executor_named(name) as executor:
        yield executor
