"""What happens in the process of a replay: the factory is called, its loader is recorded."""

from __future__ import annotations

import inspect
import pickle
import sys
import traceback
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from detloader.audits.replay.job import Learnt, Report
from detloader.audits.replay.states import find_state, restore
from detloader.errors import DetloaderError, UsageError
from detloader.manifest.rounding import Digester
from detloader.packages import loaded_since
from detloader.recipe import build_loader, load_factory
from detloader.recording import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from detloader.audits.replay.job import Part
    from detloader.findings import JsonValue

__all__ = ["run_part"]


def run_part(part: Part) -> Report:
    """Do one process's part of a job, and say how it went.

    A failure is the answer of this process, whatever it is: the others go on.
    """
    try:
        return Report(learnt=_do(part))
    except DetloaderError as error:
        return Report(died=str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - recorded code may raise anything
        traceback.print_exc()
        return Report(died=f"{part.job.factory} failed: {type(error).__name__}: {error}")


def _do(part: Part) -> Learnt:
    job = part.job
    sys.path[:0] = job.importable
    _enter(job.hooks)
    if part.only_import:
        return Learnt(parameters=_parameters(load_factory(job.factory)))
    before = {*sys.modules}
    loader, recipe = build_loader(job.factory, part.arguments)
    if job.notes_packages:
        recipe = msgspec.structs.replace(recipe, packages=loaded_since(before))
    recorded = record(
        loader,
        part.run,
        stream=job.stream,
        rank=part.rank,
        ids=job.ids,
        batched=job.batched,
        id_root=job.id_root,
        recipe=recipe,
        **Digester.named(job.rounding).arguments,
    )
    with recorded:
        elements, stateful = _iterate(recorded, part)
    return Learnt(
        parameters=_parameters(load_factory(job.factory)),
        stateful=stateful,
        elements=elements,
        source_sha256=recipe.source_sha256,
    )


def _enter(hooks: dict[str, JsonValue]) -> None:
    """Change this process as the axes say that have to do so from inside."""
    if not hooks:
        return
    from detloader.audits.replay.axis import find_axis

    for axis, value in hooks.items():
        enter = find_axis(axis).enter
        assert enter is not None
        enter(value)


def _iterate(loader: Any, part: Part) -> tuple[int, bool]:
    """Take the elements of this part; return their number, and whether there is a state to save."""
    iterator = _restored(loader, part.restore) if part.restore is not None else iter(loader)
    left = None if part.job.elements is None else part.job.elements - part.skipped
    taken = sum(1 for _ in islice(iterator, left if part.stop_at is None else part.stop_at))
    if part.stop_at is not None and taken < part.stop_at:
        raise UsageError(f"{part.job.factory} ends after {taken} elements: stop before that")
    state = find_state(loader, iterator)
    if part.save is not None and state is not None:
        Path(part.save).write_bytes(pickle.dumps(state.get()))
    return taken, state is not None


def _restored(loader: Any, path: str) -> Iterator[Any]:
    # Written by the process before this one, into a folder of our own.
    saved = pickle.loads(Path(path).read_bytes())  # noqa: S301
    return restore(loader, saved)


def _parameters(factory: Callable[..., object]) -> dict[str, JsonValue]:
    """Return the keyword arguments of a factory, with those defaults that JSON has."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {
        parameter.name: _as_json(parameter.default)
        for parameter in parameters
        if parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}
    }


def _as_json(value: object) -> JsonValue:
    try:
        plain: JsonValue = msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError):
        return None
    return plain
