"""The job that a frozen run stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from detloader.audits.replay.recipes import make_job
from detloader.errors import UsageError

if TYPE_CHECKING:
    from detloader.audits.frozen import Frozen
    from detloader.audits.replay.job import Job

__all__ = ["job_of", "only_made"]


def only_made(file: str, frozen: Frozen) -> Frozen:
    """Return a frozen run with that stream alone that a factory made.

    Raises:
        UsageError: there is none, or there are several.
    """
    made = {name: stream for name, stream in frozen.streams.items() if stream.recipe is not None}
    if not made:
        raise UsageError(
            f"{file} does not say how its loader was made, so it cannot be run: record it with "
            "`detloader record MODULE:FACTORY`, and freeze that run"
        )
    if len(made) > 1:
        raise UsageError(
            f"{file} has several streams that factories made ({', '.join(made)}): "
            "freeze a run of each"
        )
    return msgspec.structs.replace(frozen, streams=made)


def job_of(file: str, frozen: Frozen) -> Job:
    """Return what has to be done to make the only stream of a frozen run again.

    Raises:
        UsageError: the file does not say all that is needed.
    """
    ((name, stream),) = frozen.streams.items()
    assert stream.recipe is not None
    if stream.sampling or stream.id_hash:
        what = "part of what was delivered" if stream.sampling else "digests of IDs under a key"
        raise UsageError(f"{file} has {what}, and no replay gives that: freeze a run of all rows")
    if stream.relative_ids and not stream.recipe.id_root:
        raise UsageError(
            f"{file} has record IDs relative to a folder that it does not name: record it with "
            "an --id-root below the working folder, and freeze that run"
        )
    return make_job(
        stream.recipe,
        stream=name,
        rounding=stream.digesting,
        hash_seed=stream.environment.env.get("PYTHONHASHSEED"),
        ranks=len(stream.ranks),
    )
