"""The same run in each new process, whatever its hash seed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from detloader.errors import UsageError
from detloader.testing.comparison import require_alike
from detloader.testing.context import Context
from detloader.testing.factory import Factory, label
from detloader.testing.fresh import job_for, record_fresh
from detloader.testing.told import Made

__all__ = ["check_reproduction"]


def check_reproduction(context: Context, factory: Factory, times: int) -> str:
    """Make the loader in several fresh processes, and require the same run of each.

    Raises:
        AssertionError: two processes give other runs.
        UsageError: a fresh process cannot find the factory, or once is not enough.
    """
    if times < 2:  # noqa: PLR2004
        raise UsageError(f"times={times} compares nothing: give 2 or more")
    jobs = [job_for(factory, {"hash_seed": number}) for number in range(times)]
    names = [label({"hash_seed": number}) for number in range(times)]
    called = factory.called()
    with context.folder() as folder:
        places = [folder / f"{number}-{name}" for number, name in enumerate(names)]
        with ThreadPoolExecutor(times) as executor:
            made = [*map(Made, executor.map(record_fresh, jobs, places, [called] * times), names)]
        for other in made[1:]:
            title = f"{called} is not the same in two processes"
            require_alike(context, made[0], other, title)
    return f"{times} processes, {made[0].run.rows:,} rows each"
