"""Rows of our own streams, computed again over ranges and proved by digest.

What a stream delivers at a position depends on its arguments and on the record alone, so that
ranges may be computed anywhere, in any order. A task takes whole blocks of 65,536 rows and
gives their digests back; put side by side they are those that the manifest should have.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from detloader.adapters import find_adapter
from detloader.audits.engine import summary
from detloader.audits.headers import tell_no_rows
from detloader.audits.replay.recipes import job_of
from detloader.audits.sampled import require_every_row, require_ids
from detloader.errors import UsageError
from detloader.findings import Result, Verdict
from detloader.grain.plan import Plan
from detloader.manifest.digests import block_digests
from detloader.manifest.reader import Run, open_run
from detloader.manifest.rounding import Digester
from detloader.manifest.schema import BLOCK_ROWS
from detloader.recipe import build_loader

if TYPE_CHECKING:
    import os
    from concurrent.futures import Executor

    from detloader.audits.replay.job import Job
    from detloader.manifest.reader import Stream

__all__ = ["recompute_order", "recompute_records"]

Digests: TypeAlias = dict[str, list[str]]
Task: TypeAlias = Callable[[int, int], Digests]
"""Gives the digests of the blocks of rows [start, stop), by column."""

_PLAN = ("seed", "shuffle", "batch_size", "drop_remainder", "num_epochs", "workers")
"""What a plan and a header call by one name."""


def recompute_order(
    run: str | os.PathLike[str] | Run,
    *,
    stream: str | None = None,
    executor: Executor | None = None,
) -> Result:
    """Compute the order of a recorded `to_grain` stream from its header, and compare digests.

    Nothing that the run names is imported, and no record is read.

    Args:
        run: the run.
        stream: which of its streams; None where it has one.
        executor: computes ranges side by side; None to do so here.

    Returns:
        A result of the command `replay`; `reason` says what was compared.

    Raises:
        UsageError: the header does not tell the order.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    chosen = _sealed(opened, stream)
    plan = plan_of(chosen)
    if plan.order.total is not None and chosen.rows > plan.order.total:
        raise UsageError(f"{opened.path} has the rows of several iterations: record one alone")
    return _compare(opened, chosen, partial(order_digests, plan), executor)


def recompute_records(
    run: str | os.PathLike[str] | Run,
    *,
    stream: str | None = None,
    executor: Executor | None = None,
) -> Result:
    """Read and transform every record of a `to_grain` stream again, and compare digests.

    Args:
        run: a run that says how its loader was made. **Its factory is imported and called,**
            in the executor's processes, or in this one.
        stream: which of its streams; None where only one can be made again.
        executor: makes ranges side by side; None to do so here.

    Returns:
        A result of the command `replay`; `reason` says what was compared.

    Raises:
        FactoryError: the factory cannot be used.
        UsageError: the run does not say how its loader was made, or the loader cannot make
            one element without those before it.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    job = job_of(opened, stream)
    chosen = _sealed(opened, job.stream)
    return _compare(opened, chosen, partial(record_digests, job), executor)


def plan_of(stream: Stream) -> Plan:
    """Return the plan that a recorded stream of `to_grain` followed.

    Raises:
        UsageError: it is no such stream.
    """
    declared = stream.declared
    config = declared.config or {}
    if declared.loader != "to_grain" or "compatibility" not in config:
        raise UsageError(
            f"stream {stream.name} was not recorded from to_grain: only its order is a function "
            "of what the header says; leave --recompute out"
        )
    fields = {name: getattr(declared, name) for name in _PLAN}
    others = {
        "size": declared.source_size,
        "worker_buffer_size": 1,
        "compatibility": config["compatibility"],
    }
    try:
        return msgspec.convert(fields | others, Plan)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"stream {stream.name} does not declare all that its order follows from: {error}; "
            "leave --recompute out"
        ) from error


def order_digests(plan: Plan, start: int, stop: int) -> Digests:
    """Digest the columns that follow from a plan alone, for rows [start, stop)."""
    positions = np.arange(start, stop)
    indices = plan.order.indices(start, stop)
    columns: dict[str, Any] = {"record": indices, "index": indices}
    columns["epoch"] = plan.order.epoch_of(positions)
    if plan.batch_size is not None:
        columns["batch"] = positions // plan.batch_size
    if plan.workers:
        columns["worker"] = positions // (plan.batch_size or 1) % plan.workers
    columns["resumed"] = np.zeros(len(positions), np.bool_)
    return _digested(pa.table(columns))


def record_digests(job: Job, start: int, stop: int) -> Digests:
    """Make rows [start, stop) of a job's loader again, and digest their columns."""
    if job.folder not in sys.path:
        sys.path.insert(0, job.folder)
    loader, _ = build_loader(job.factory, job.arguments)
    remake = getattr(find_adapter(loader), "remake", None)
    if remake is None:
        raise UsageError(
            f"{job.factory} gives a {type(loader).__name__}: only streams of to_grain and the HDF5 "
            "Dataloader make records alone; leave --recompute out"
        )
    return _digested(remake(loader, start, stop, Digester.named(job.rounding)))


def _digested(rows: pa.Table) -> Digests:
    return {name: [*block_digests(rows[name])] for name in rows.column_names}


def _sealed(run: Run, name: str | None) -> Stream:
    streams = [stream for stream in run.streams.values() if name in (None, stream.name)]
    if len(streams) != 1:
        raise UsageError(f"{run.path} has streams {', '.join(run.streams)}: name one by --stream")
    (stream,) = streams
    require_ids(stream)
    require_every_row(stream)
    if len(stream.ranks) > 1 or stream.ranks[0].header.state != "complete":
        raise UsageError(f"{run.path} is not one sealed rank: its blocks cannot be compared")
    return stream


def _compare(run: Run, stream: Stream, task: Task, executor: Executor | None) -> Result:
    if (reason := tell_no_rows(run.path, stream)) is not None:
        return Result(
            command="replay",
            verdict=Verdict.INCONCLUSIVE,
            reason=reason,
            runs=[summary(run)],
        )
    (rank,) = stream.ranks
    recorded = {column.name: column.blocks for column in rank.header.columns}
    computed: Digests = {}
    for digests in _ranges(task, rank.rows, executor):
        for name, blocks in digests.items():
            computed.setdefault(name, []).extend(blocks)
    if computed.get("resumed") != recorded.get("resumed"):
        raise UsageError(f"{run.path} was resumed: its rows are not those of one iteration")
    # Under IDs of its own, a run has the places that they stand for in `index`.
    left_out = {"resumed", "record"} if "index" in recorded else {"resumed"}
    shared = [name for name in recorded if name in computed and name not in left_out]
    differing = {
        name: next(at for at, pair in enumerate(zip(*pairs, strict=False)) if pair[0] != pair[1])
        for name in shared
        if (pairs := (recorded[name], computed[name]))[0] != pairs[1]
    }
    return Result(
        command="replay",
        verdict=Verdict.CHANGED if differing else Verdict.IDENTICAL,
        reason=_said(shared, differing, rank.rows),
        runs=[summary(run)],
        not_compared=[name for name in recorded if name not in shared],
    )


def _ranges(task: Task, rows: int, executor: Executor | None) -> list[Digests]:
    spans = [(start, min(start + BLOCK_ROWS, rows)) for start in range(0, rows, BLOCK_ROWS)]
    if executor is None:
        return [task(start, stop) for start, stop in spans]
    return [future.result() for future in [executor.submit(task, *span) for span in spans]]


def _said(shared: list[str], differing: dict[str, int], rows: int) -> str:
    if not differing:
        return f"{', '.join(shared)} of {rows:,} rows have the recorded digests"
    block = min(differing.values())
    names = " and ".join(name for name, at in differing.items() if at == block)
    first, last = block * BLOCK_ROWS, min((block + 1) * BLOCK_ROWS, rows) - 1
    return f"{names} computed again differs first between rows {first:,} and {last:,}"
