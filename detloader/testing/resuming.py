"""A loader that is stopped and restored goes on as if nothing had happened."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from detloader.audits.replay.resume import join_parts
from detloader.audits.replay.states import find_state, restore
from detloader.errors import LoaderError, UsageError
from detloader.manifest.reader import Run, open_run
from detloader.testing.comparison import require_alike
from detloader.testing.context import Context
from detloader.testing.factory import Factory
from detloader.testing.invariance import made_under
from detloader.testing.runs import exhaust, record_made, run_folder
from detloader.testing.told import Made

__all__ = ["check_resuming"]


def check_resuming(context: Context, factory: Factory, at: Sequence[int]) -> str:
    """Stop after so many elements, restore the state in a new loader, and compare.

    Raises:
        AssertionError: what comes after the restart is not what would have come.
        UsageError: the loader has no state, or no so many elements.
    """
    if not at or min(at) < 1:
        raise UsageError("name the elements after which to stop, 1 or more, as at=[1, 5]")
    with context.folder() as folder:
        whole = Made(made_under(factory, {}, folder), "uninterrupted")
        for stop in sorted(set(at)):
            run = _interrupted(factory, stop, folder)
            title = f"{factory.called()} goes on otherwise when it is resumed at {stop}"
            require_alike(context, whole, Made(run, f"resumed at {stop}"), title)
    return f"{len(at)} restarts in {whole.run.rows:,} rows"


def _interrupted(factory: Factory, stop: int, folder: Path) -> Run:
    options = factory.recording
    before, after = folder / f"before-{stop}", folder / f"after-{stop}"
    called = factory.called()
    saved = b""

    def begin(twin: Any) -> None:
        nonlocal saved
        iterator = iter(twin)
        if (taken := exhaust(iterator, stop, called)) < stop:
            raise UsageError(f"{called} ends after {taken} elements: stop before that")
        state = find_state(twin, iterator)
        if state is None:
            raise UsageError(f"{called} has no state to save, nor has its iterator")
        saved = _saved(state.get(), called)

    def go_on(twin: Any) -> None:
        elements = options.get("elements")
        left = None if elements is None else max(elements - stop, 0)
        exhaust(restore(twin, pickle.loads(saved)), left, f"{called}, resumed at {stop},")  # noqa: S301 - saved above

    record_made(factory, {}, before, consume=begin)
    record_made(factory, {}, after, consume=go_on)
    run = run_folder(folder, f"resumed-at-{stop}")
    join_parts(before, after, run, stop)
    return open_run(run)


def _saved(state: object, called: str) -> bytes:
    try:
        return pickle.dumps(state)
    except Exception as error:
        raise LoaderError(
            f"the state of {called} cannot be saved: {type(error).__name__}: {error}"
        ) from error
