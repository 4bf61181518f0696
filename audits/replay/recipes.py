"""The job that a recorded run stands for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.axes.world_size import NAMES, RANKS
from detloader.audits.environments.cache import packages_of
from detloader.audits.environments.interpreter import installed
from detloader.audits.replay.job import Job, known_as
from detloader.audits.sampled import require_every_row, require_ids
from detloader.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from detloader.findings import JsonValue
    from detloader.manifest.reader import Run, Stream
    from detloader.manifest.schema import Recipe

__all__ = ["describe", "job_of", "make_job"]


def job_of(
    run: Run, stream: str | None = None, arguments: Mapping[str, JsonValue] | None = None
) -> Job:
    """Return what has to be done to make a run again, under the conditions that it had.

    Args:
        run: a recorded run.
        stream: which of its streams; None where only one can be made again.
        arguments: arguments of the factory that take other values.

    Raises:
        UsageError: the run does not say how its loader was made, or how far it came.
    """
    chosen = _stream(run, stream)
    recipe = chosen.recipe
    assert recipe is not None
    taken = recipe.elements or (None if chosen.complete else _elements(chosen))
    job = make_job(
        msgspec.structs.replace(
            recipe,
            arguments={**recipe.arguments, **(arguments or {})},
            elements=taken or msgspec.UNSET,
            id_root=_id_root(run, chosen) or msgspec.UNSET,
        ),
        stream=chosen.name,
        rounding=chosen.ranks[0].header.digesting,
        hash_seed=chosen.environment.env.get("PYTHONHASHSEED"),
        ranks=len(chosen.ranks),
    )
    return msgspec.structs.replace(job, packages=_packages_here(chosen))


def make_job(
    recipe: Recipe, *, stream: str, rounding: str | None, hash_seed: str | None, ranks: int
) -> Job:
    """Return what has to be done to follow a recipe, from the current folder.

    Args:
        recipe: how the loader is made.
        stream: name of the stream to record.
        rounding: how content is digested, as `Header.digesting` names it.
        hash_seed: `PYTHONHASHSEED` as it was; None where it was not set.
        ranks: how many there were.
    """
    own_rank, world = known_as(RANKS, recipe.arguments), known_as(NAMES, recipe.arguments)
    return Job(
        factory=recipe.factory,
        arguments=recipe.arguments,
        stream=stream,
        elements=recipe.elements or None,
        ids=recipe.ids or None,
        batched=recipe.batched or None,
        id_root=recipe.id_root or None,
        rounding=rounding,
        folder=str(Path.cwd()),
        # What was left to chance would never repeat itself.
        variables={"PYTHONHASHSEED": hash_seed if (hash_seed or "").isdecimal() else "0"},
        world_size=ranks,
        rank_arguments=(own_rank, world) if own_rank and world else None,
    )


def describe(job: Job) -> str:
    """Return the call that a job makes.

    >>> describe(Job(factory="train:make", arguments={"seed": 3}, folder="."))
    'train:make(seed=3)'
    """
    arguments = ", ".join(f"{name}={_text(value)}" for name, value in job.arguments.items())
    return f"{job.factory}({arguments})"


def _text(value: JsonValue) -> str:
    return msgspec.json.encode(value).decode()


def _stream(run: Run, name: str | None) -> Stream:
    if name is not None and name not in run.streams:
        raise UsageError(f"{run.path} has no stream {name}: it has {', '.join(run.streams)}")
    named = run.streams if name is None else {name: run.streams[name]}
    made = [stream for stream in named.values() if stream.recipe is not None]
    if not made:
        raise UsageError(
            f"{run.path} does not say how its loader was made: record it with "
            "`detloader record MODULE:FACTORY`"
        )
    if len(made) > 1:
        names = " or ".join(stream.name for stream in made)
        raise UsageError(f"{run.path} has several streams: name one by --stream {names}")
    require_ids(made[0])
    return made[0]


def _id_root(run: Run, stream: Stream) -> str | None:
    recipe, header = stream.recipe, stream.ranks[0].header
    root = (recipe and recipe.id_root) or None
    if root is None and header.relative_ids:
        raise UsageError(
            f"{run.path} has record IDs relative to a folder that it does not name: record it "
            "with an --id-root below the working folder"
        )
    return root


def _packages_here(stream: Stream) -> dict[str, str]:
    """Return the versions here of what the factory loaded, or of all that matters."""
    recorded = (stream.recipe and stream.recipe.packages) or packages_of(
        stream.environment.versions
    )
    found = {name: installed(name) for name in recorded}
    return {name: version for name, version in found.items() if version is not None}


def _elements(stream: Stream) -> int:
    """Count the elements that the first rank delivered."""
    require_every_row(stream)
    rank = stream.ranks[0]
    if "batch" not in rank.columns:
        return rank.rows
    rows = rank.table([name for name in ("epoch", "batch") if name in rank.columns])
    return len(rows.group_by(rows.column_names).aggregate([]))
