"""A preflight, from its question to its answer."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from detloader.audits.engine import selection_of
from detloader.audits.frozen import Frozen, load
from detloader.audits.preflight.course import judge
from detloader.audits.preflight.places import candidate, origin
from detloader.audits.preflight.plan import job_of, only_made
from detloader.audits.preflight.question import Question
from detloader.audits.preflight.replays import Replays
from detloader.audits.replay.engine import TIMEOUT
from detloader.audits.replay.recipes import describe
from detloader.audits.replay.trial import only
from detloader.errors import UsageError
from detloader.manifest.reader import Run, open_run
from detloader.manifest.schema import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from detloader.findings import Result

__all__ = ["Preflight", "preflight"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What came of a preflight.

    Attributes:
        frozen: what was asked about.
        result: the answer.
        candidate: the frozen form of what the candidate delivers; None where it delivers
            nothing, or something else each time.
    """

    frozen: Frozen
    result: Result
    candidate: Frozen | None = None


def preflight(
    file: str | os.PathLike[str],
    *,
    packages: Mapping[str, str] | None = None,
    python: str | None = None,
    run: str | os.PathLike[str] | Run | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    pictures: bool = False,
    timeout: float = TIMEOUT,
    announce: Callable[[str], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> Preflight:
    """Run a frozen experiment where it was frozen, then elsewhere, and say what follows.

    Args:
        file: a frozen file that says how the loader was made. **Its factory is imported and
            called.**
        packages: versions that the candidate has in place of the frozen ones; where there are
            none, and no other Python, the candidate is this environment.
        python: version of the candidate's Python, such as "3.12".
        run: the run that was frozen, where it is still there.
        select: names of the rules to ask; all where none is named.
        ignore: names of the rules to leave out.
        pictures: give what pictures are drawn from, too.
        timeout: seconds after which one process is given up.
        announce: is told which call will be made, before it is.
        tell: is told what is being done.

    Returns:
        The answer; its `decision` is "keep", "pin" or "migrate", or None where nothing follows.

    Raises:
        FrozenError: the file cannot be used.
        UsageError: it does not say how its loader was made, or the run is another one; or a
            rule is named that does not exist.
    """
    selection_of(select, ignore)
    name, whole = os.fspath(file), load(file)
    frozen = only_made(name, whole)
    (stream,) = frozen.streams.values()
    original = None if run is None else _original(name, whole, frozen, run)
    job = job_of(name, frozen)
    question = Question(
        file=name,
        frozen=frozen,
        origin=origin(stream),
        candidate=candidate(stream, packages or {}, python),
        select=select,
        ignore=ignore,
        pictures=pictures,
    )
    announce(describe(job))
    with tempfile.TemporaryDirectory(prefix="detloader-preflight-") as folder:
        replays = Replays(
            job=job, recipe=question.recipe, folder=Path(folder), timeout=timeout, tell=tell
        )
        result, child = judge(question, replays, original)
    return Preflight(frozen=frozen, result=result, candidate=child)


def _original(file: str, whole: Frozen, made: Frozen, run: str | os.PathLike[str] | Run) -> Run:
    opened = run if isinstance(run, Run) else open_run(run)
    if opened.fingerprint != whole.fingerprint:
        raise UsageError(
            f"{opened.path} is not the run that {file} was frozen from: their fingerprints differ; "
            "name the right one, or leave --run out"
        )
    (stream,) = made.streams
    if opened.streams[stream].level is Level.DIGEST:
        raise UsageError(f"{opened.path} kept no rows (level digest): leave --run out")
    return only(opened, stream)
