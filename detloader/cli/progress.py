"""Progress on standard error: on a terminal, after a second, and gone when done."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING

from detloader.reports.plain import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress

__all__ = ["counting", "waiting"]

_PATIENCE = 1.0
"""Seconds for which nobody needs to be told anything."""

_PAUSE = 0.1
"""Seconds between two looks of a bar that does not move by itself."""


@contextlib.contextmanager
def waiting(task: str) -> Iterator[Callable[[str], None]]:
    """Show a bar that moves by itself, with the time that has gone by.

    Args:
        task: what is being done, such as "comparing 2 runs".

    Yields:
        A function that is told what is being done from now on.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    bar = _Bar(task, moves=True)
    # A daemon, or an interrupt in its first second would be waited for.
    timer = threading.Timer(_PATIENCE, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.tell
    finally:
        timer.cancel()
        timer.join()
        bar.hide()


@contextlib.contextmanager
def counting(task: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar that is moved by steps of this process, in which no thread is started for it.

    A loader may fork, and a fork does not go well with threads.

    Args:
        task: what is being done.
        total: how many steps there will be, if that is known.

    Yields:
        A function to be called after each step.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    bar = _Bar(task, total)
    done, due = 0, time.monotonic() + _PATIENCE

    def step() -> None:
        nonlocal done, due
        done += 1
        if time.monotonic() >= due:
            bar.show(done)
            due = time.monotonic() + _PAUSE

    try:
        yield step
    finally:
        bar.hide()


class _Bar:
    """One line: a task, a bar, steps and time; rich is loaded when it is first shown."""

    def __init__(self, task: str, total: int | None = None, *, moves: bool = False) -> None:
        self._task = printable(task)
        self._total = total
        self._moves = moves
        self._since = time.monotonic()
        self._progress: Progress | None = None

    def tell(self, task: str) -> None:
        self._task = printable(task)
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], description=self._task)

    def show(self, done: int = 0) -> None:
        progress = self._progress or self._made()
        progress.update(progress.task_ids[0], completed=done, refresh=not self._moves)

    def hide(self) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _made(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        counted = [] if self._moves else [TextColumn("{task.completed:,} " + self._of())]
        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            *counted,
            TimeElapsedColumn(),
            console=Console(stderr=True, no_color=True),
            transient=True,
            auto_refresh=self._moves,
            # What a loader prints is the loader's: its streams stay as they are.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        progress.add_task(self._task, total=self._total)
        # It began when the block did, and not when it was first shown.
        progress.tasks[0].start_time = self._since
        progress.start()
        self._progress = progress
        return progress

    def _of(self) -> str:
        return "" if self._total is None else f"of {self._total:,}"
