"""A bisection: the control first, then releases on either side of the frozen one."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name
from packaging.version import Version

from detloader.audits.bisect.answer import Question, Tried, judged, passed_over, unjudged
from detloader.audits.bisect.search import Boundary, find_boundary
from detloader.audits.engine import audit
from detloader.audits.environments.interpreter import here
from detloader.audits.environments.releases import releases
from detloader.audits.frozen import load
from detloader.audits.preflight.control import Standing, control
from detloader.audits.preflight.places import Place, origin
from detloader.audits.preflight.plan import job_of, only_made
from detloader.audits.preflight.replays import Replays
from detloader.audits.replay.control import ALIKE, NOISY
from detloader.audits.replay.engine import TIMEOUT
from detloader.audits.replay.recipes import describe
from detloader.errors import DetloaderError, NoIndexError, NoVersionError, UsageError
from detloader.findings import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from detloader.audits.frozen.form import FrozenStream
    from detloader.findings import Result
    from detloader.manifest.reader import Run

__all__ = ["bisect"]

_UNFAITHFUL = {
    Standing.EDITED: "the factory's source was edited since it was frozen, and delivers other rows",
    Standing.NOISY: NOISY,
    Standing.DRIFTED: (
        "run again where it was frozen, the recipe does not deliver the frozen rows: what it reads "
        "has changed, or a version that the file does not name"
    ),
}


def bisect(
    file: str | os.PathLike[str],
    package: str,
    *,
    first: str | None = None,
    last: str | None = None,
    pictures: bool = False,
    timeout: float = TIMEOUT,
    announce: Callable[[str], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> Result:
    """Find the release of a package that changed what a frozen experiment delivers.

    Of several such releases it is the nearest to the frozen one, as far as a bisection can
    tell: one that changes the rows and another that changes them back may hide each other.

    Args:
        file: a frozen file that says how the loader was made. **Its factory is imported and
            called.**
        package: its name.
        first: oldest release to try; by default the frozen one.
        last: newest release to try; by default the newest that there is. Without `first` it may
            be older than the frozen one.
        pictures: whether the answer has what pictures are drawn from.
        timeout: seconds after which one process is given up.
        announce: is told the call before it is made for the first time.
        tell: is told what is being done.

    Returns:
        The answer: the audit of the frozen rows and those of the first release that differs;
        `axes` has what came of each release that was tried. Its verdict is `inconclusive`
        where the frozen rows do not come out of the frozen versions again.

    Raises:
        FrozenError: the file cannot be used.
        UsageError: it does not say how its loader was made, or was not made with that package.
        NoVersionError: there is no such release.
        NoIndexError: nobody answers where packages come from.
    """
    name = os.fspath(file)
    frozen = only_made(name, load(file))
    (stream,) = frozen.streams.values()
    assert stream.recipe is not None
    job = job_of(name, frozen)
    key, version = _frozen_version(name, stream, package)
    older, newer = _sides(key, version, stream.python, first, last)
    announce(describe(job))
    with tempfile.TemporaryDirectory(prefix="detloader-bisect-") as folder:
        replays = Replays(
            job=job, recipe=stream.recipe, folder=Path(folder), timeout=timeout, tell=tell
        )
        place = origin(stream)
        before = control(frozen, replays, place)
        if before.standing is not Standing.FAITHFUL:
            reason = _UNFAITHFUL.get(before.standing) or f"in the frozen versions: {before.reason}"
            return unjudged(name, frozen, reason)
        trials = _Trials(key, stream, replays, replays.run(place, plain=True))
        boundary = _nearest(trials, version, older, newer)
        if not any(each.run for each in trials.done):
            return unjudged(name, frozen, passed_over(key, trials.done))
        question = Question(name, key, version, stream.declared, pictures)
        return judged(question, trials.baseline, boundary, trials.done)


@dataclass(slots=True)
class _Trials:
    """Releases that were tried in place of the frozen one, and what came of each."""

    package: str
    stream: FrozenStream
    replays: Replays
    baseline: Run
    done: list[Tried] = field(default_factory=list)

    def differs(self, version: str) -> bool | None:
        """Try a release; None where it cannot be installed, or the factory fails with it."""
        packages = {**self.stream.packages, self.package: version}
        try:
            run = self.replays.run(Place(packages=packages, python=self.stream.python))
        except NoIndexError:
            raise
        except DetloaderError as error:
            self.done.append(Tried(version, why=str(error)))
            return None
        result = audit(self.baseline, run)
        if result.verdict is Verdict.INCONCLUSIVE:
            self.done.append(Tried(version, why=result.reason))
            return None
        self.done.append(Tried(version, run=run, verdict=result.verdict))
        return result.verdict not in ALIKE


def _nearest(
    trials: _Trials, version: str, older: Sequence[str], newer: Sequence[str]
) -> Boundary[str]:
    """Find the boundary on either side of the frozen release that is the nearest to it."""
    after = find_boundary([version, *newer], trials.differs)
    nearer = None if after.different is None else newer.index(after.different) + 1
    before = find_boundary([version, *older][:nearer], trials.differs)
    return after if before.different is None else before


def _frozen_version(file: str, stream: FrozenStream, package: str) -> tuple[str, str]:
    """Return a package as the frozen file names it, and its version."""
    names = {canonicalize_name(name): name for name in stream.packages}
    name = names.get(canonicalize_name(package))
    if name is None:
        known = ", ".join(stream.packages) or "none that is named"
        raise UsageError(f"{file} was not made with {package}: name one of its packages, {known}")
    return name, stream.packages[name]


def _sides(
    package: str, frozen: str, python: str | None, first: str | None, last: str | None
) -> tuple[list[str], list[str]]:
    """Return the releases before the frozen one and those after it, the nearest first."""
    known = releases(package, python or here().python)
    for bound in (first, last):
        _require(package, bound, known)
    oldest, newest = Version(first or frozen), Version(last or known[-1])
    if newest < oldest and first and last:
        raise UsageError(f"there is nothing from {package} {first} to {last}: exchange them")
    oldest, newest = sorted([oldest, newest])
    within = [version for version in known if oldest <= Version(version) <= newest]
    older = [version for version in within if Version(version) < Version(frozen)][::-1]
    newer = [version for version in within if Version(version) > Version(frozen)]
    if not older and not newer:
        raise UsageError(
            f"there is no release from {package} {oldest} to {newest} but the frozen one: name "
            f"others with --from and --to, of {', '.join(known)}"
        )
    return older, newer


def _require(package: str, version: str | None, known: Sequence[str]) -> None:
    if version is not None and version not in known:
        raise NoVersionError(
            f"there is no release {version} of {package}, or it was yanked, or has nothing for "
            f"that Python: there are {', '.join(known)}"
        )
