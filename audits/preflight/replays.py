"""One job, done in several places, once or twice in each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.preflight.places import HERE, Place
from detloader.audits.replay.job import Job
from detloader.audits.replay.trial import Trial, only, perform
from detloader.errors import DetloaderError, FactoryError
from detloader.manifest.reader import Run, open_run
from detloader.manifest.schema import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Replays"]


@dataclass(slots=True, kw_only=True)
class Replays:
    """Does one job wherever it is asked for, and remembers what came out.

    Attributes:
        job: what to do.
        recipe: how its loader is made.
        folder: where runs are recorded.
        timeout: seconds after which a process is given up.
        tell: is told what is being done.
    """

    job: Job
    recipe: Recipe
    folder: Path
    timeout: float
    tell: Callable[[str], None]
    _done: dict[tuple[Place, bool, bool], Run | DetloaderError] = field(default_factory=dict)

    def run(self, place: Place, *, plain: bool = False, again: bool = False) -> Run:
        """Return the run that came out.

        Args:
            place: where.
            plain: whether to record here, too, as is done in environments that are made.
            again: whether to do it a second time.

        Raises:
            FactoryError: nothing came out: the factory failed, hung or lost rows.
            InstallError: the environment cannot be made.
        """
        plain = plain or place is not HERE
        asked = (place, plain, again)
        if asked not in self._done:
            self._done[asked] = self._outcome(
                self._record_plainly if plain else self._record, place
            )
        outcome = self._done[asked]
        if isinstance(outcome, DetloaderError):
            raise outcome
        return outcome

    def _outcome(self, record: Callable[[Place, Path], None], place: Place) -> Run | DetloaderError:
        run = self.folder / str(len(self._done))
        try:
            record(place, run)
            return only(open_run(run), self.job.stream)
        except DetloaderError as error:
            return error

    def _record(self, _: Place, run: Path) -> None:
        self.tell(f"running {self.job.factory} here")
        job = msgspec.structs.replace(self.job, notes_packages=True)
        replayed = perform(Trial(job=job, run=str(run), timeout=self.timeout)).replayed
        if replayed.died is not None:
            printed = "".join(f"; it printed: {line}" for line in replayed.last_lines[-1:])
            raise FactoryError(f"{replayed.died}{printed}")

    def _record_plainly(self, place: Place, run: Path) -> None:
        from detloader.audits.environments import environment
        from detloader.audits.environments.interpreter import here
        from detloader.audits.replay.elsewhere import record_ranks

        interpreter = here()
        if place.packages is not None:
            interpreter = environment(place.packages, python=place.python, on_progress=self.tell)
        self.tell(f"running {self.job.factory} in {interpreter}")
        record_ranks(interpreter, self.job, self.recipe, run, self.timeout)
