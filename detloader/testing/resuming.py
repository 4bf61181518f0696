"""A loader that is stopped and restored goes on as if nothing had happened."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from detloader.audits.replay.resume import join_parts
from detloader.audits.replay.states import find_state, restore
from detloader.errors import LoaderError, UsageError
from detloader.manifest.reader import Run, open_run
from detloader.testing.context import Context
from detloader.testing.factory import Factory
from detloader.testing.invariance import made_under
from detloader.testing.repeats import require_alike_again
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
    most = factory.recording.get("elements")
    if most is not None and max(at) > most:
        raise UsageError(f"at={max(at)} lies beyond elements={most}: stop before that")
    with context.folder() as folder:

        def make() -> Made:
            return Made(made_under(factory, {}, folder), "uninterrupted")

        def resume(stop: int) -> Made:
            return Made(_interrupted(factory, stop, folder), f"resumed at {stop}")

        whole, called = make(), factory.called()
        for stop in sorted(set(at)):
            require_alike_again(
                context,
                whole,
                resume(stop),
                (make, partial(resume, stop)),
                called=called,
                title=f"{called} goes on otherwise when it is resumed at {stop}",
            )
    return f"{len(at)} restarts in {whole.run.rows:,} rows"


def _interrupted(factory: Factory, stop: int, folder: Path) -> Run:
    options = factory.recording
    before, after = (run_folder(folder, f"{part}-{stop}") for part in ("before", "after"))
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
