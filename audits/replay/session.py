"""Everything that the trials of one replay share: where they record, and who runs them."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.trial import Answer, Trial, perform
from detloader.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from detloader.audits.replay.job import Job

__all__ = ["Session"]


@dataclass(slots=True, kw_only=True)
class Session:
    """Runs trials, side by side where an executor was given.

    Attributes:
        folder: where runs are recorded.
        kept: whether they stay there.
        timeout: seconds after which a process is given up.
        left: replays that may still be made.
        repeats: how often what is to be blamed is replayed again, and the control.
        executor: runs trials; None to run them here, one by one.
        progress: is told the name of each trial that has come to its end.
    """

    folder: Path
    kept: bool
    timeout: float
    left: int
    repeats: int
    executor: Executor | None = None
    progress: Callable[[str], None] = lambda _: None
    _temporary: tempfile.TemporaryDirectory[str] | None = field(default=None)

    @classmethod
    def begin(
        cls,
        keep: str | os.PathLike[str] | None,
        *,
        timeout: float,
        budget: int,
        repeats: int,
        executor: Executor | None,
        progress: Callable[[str], None] | None,
    ) -> Self:
        """Make the folder.

        Raises:
            UsageError: the folder to keep runs in is not empty.
        """
        temporary = None
        if keep is None:
            temporary = tempfile.TemporaryDirectory(prefix="detloader-replay-")
        folder = Path(keep or str(temporary and temporary.name)).absolute()
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{keep} is not empty: name a new folder to keep runs in")
        folder.mkdir(parents=True, exist_ok=True)
        return cls(
            folder=folder,
            kept=keep is not None,
            timeout=timeout,
            left=budget,
            repeats=repeats,
            executor=executor,
            progress=progress or (lambda _: None),
            _temporary=temporary,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was not to be kept."""
        if self._temporary is not None:
            self._temporary.cleanup()

    def trial(
        self, job: Job, name: str, *, baseline: str | None, asks: Asks = Asks.SAME_ROWS
    ) -> Trial:
        """Return a trial that records into a folder of this name."""
        run = str(self.folder / name)
        return Trial(job=job, run=run, baseline=baseline, asks=asks, timeout=self.timeout)

    def answers(self, trials: Sequence[Trial], *, counted: bool = True) -> list[Answer]:
        """Perform trials, and return what came of each, in their order.

        Args:
            trials: what to do.
            counted: whether they are of the budget.
        """
        self.left -= len(trials) * counted
        if self.executor is None:
            return [self._performed(trial) for trial in trials]
        futures = {self.executor.submit(perform, trial): trial for trial in trials}
        for future in as_completed(futures):
            self._ended(futures[future])
        return [future.result() for future in futures]

    def answer(self, trial: Trial) -> Answer:
        """Perform one trial."""
        return self.answers([trial])[0]

    def _performed(self, trial: Trial) -> Answer:
        answer = perform(trial)
        self._ended(trial)
        return answer

    def _ended(self, trial: Trial) -> None:
        self.progress(Path(trial.run).name)
