"""A loader recorded in this process, from its beginning to its end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from detloader.adapters.declaring import overlaid
from detloader.errors import LoaderError, UsageError
from detloader.manifest.reader import Run, open_run
from detloader.recording import record
from detloader.testing.factory import Conditions, Factory
from detloader.testing.left_behind import nothing_left_behind
from detloader.testing.options import Recording

__all__ = ["MOST", "exhaust", "record_loader", "record_made", "run_folder", "sealed"]

MOST = 1_000_000
"""Elements after which a loader is taken for one that has no end."""


def run_folder(folder: Path, name: str) -> Path:
    """Return where the next run goes; its name says what it is, and runs count."""
    number = sum(1 for _ in folder.iterdir())
    plain = re.sub(r"[^\w=.,-]+", "_", name)[:60]
    return folder / "-".join(filter(None, (str(number), plain)))


def record_loader(
    loader: Any,
    run: Path,
    options: Recording,
    *,
    name: str,
    declared: Mapping[str, Any] | None = None,
    consume: Callable[[Any], None] | None = None,
) -> Run:
    """Record a loader while something consumes it.

    Args:
        loader: the loader.
        run: folder to record into.
        options: how.
        name: what to call the loader.
        declared: what it is meant to be.
        consume: takes its elements; by default they are taken to the end.

    Raises:
        LoaderError: it failed, had no element, or could not be recorded.
        UsageError: it has no end, or cannot be recorded by these options.
    """
    said: dict[str, Any] = {**options}
    elements: int | None = said.pop("elements", None)
    said["declared"] = overlaid(declared or {}, said.get("declared", {}))
    with record(loader, run, **said) as twin:
        if consume is None:
            exhaust(iter(twin), elements, name)
        else:
            consume(twin)
    return sealed(run, name)


def record_made(
    factory: Factory,
    conditions: Conditions,
    run: Path,
    *,
    declared: Mapping[str, Any] | None = None,
    consume: Callable[[Any], None] | None = None,
) -> Run:
    """Make a loader and record it; what it leaves behind is ended."""
    name = factory.called(conditions)
    with nothing_left_behind(name):
        return record_loader(
            factory.call(conditions),
            run,
            factory.recording,
            name=name,
            declared=declared,
            consume=consume,
        )


def exhaust(iterator: Any, elements: int | None, name: str) -> int:
    """Take elements to the end, or as many as were asked for; return how many came."""
    taken = 0
    try:
        for _ in islice(iterator, MOST + 1 if elements is None else elements):
            taken += 1
    except Exception as error:
        raise LoaderError(
            f"{name} failed after {taken} elements: {type(error).__name__}: {error}"
        ) from error
    if elements is None and taken > MOST:
        raise UsageError(f"{name} has no end, or one beyond {MOST:,} elements: give elements=N")
    return taken


def sealed(run: Path, name: str) -> Run:
    """Open a run that must be whole.

    Raises:
        LoaderError: it has no rows, or lost some.
    """
    opened = open_run(run)
    lost = sum(stream.lost for stream in opened.streams.values())
    if lost:
        raise LoaderError(
            f"{name} could not be recorded: {lost} rows were lost, and the log says why; "
            "ids=, batched= or level= may help"
        )
    if not opened.rows:
        raise LoaderError(f"{name} delivered nothing: of an empty loader, nothing can be shown")
    return opened
