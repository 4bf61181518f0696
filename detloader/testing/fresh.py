"""A loader made and recorded in a process of its own, under conditions that no argument makes.

Such a process finds the factory by its name alone, in a module that is importable or in a
file, and its arguments are sent as JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from detloader.audits.replay.axis import find_axis
from detloader.audits.replay.engine import TIMEOUT
from detloader.audits.replay.job import Job, Learnt
from detloader.audits.replay.trial import Trial, perform
from detloader.errors import LoaderError, UsageError
from detloader.manifest.reader import Run
from detloader.manifest.rounding import Rounding
from detloader.testing.factory import Conditions, Factory, module_of
from detloader.testing.runs import sealed

__all__ = ["job_for", "record_fresh"]


def job_for(factory: Factory, conditions: Conditions) -> Job:
    """Return the job of making and recording a loader under these conditions.

    Raises:
        UsageError: a fresh process could not find the factory, or an argument or option is
            none that can be sent to it.
    """
    options = factory.recording
    arguments = {name: value for name, value in conditions.items() if factory.argument(name)}
    surroundings = {name: conditions[name] for name in conditions.keys() - arguments.keys()}
    if "level" in options or not isinstance(options.get("ids", ""), str):
        raise UsageError(
            "leave out level= and ids=: a fresh process can be told ids= as a key of each element, "
            "and nothing more"
        )
    rounding = Rounding.of(options.get("content"), options.get("decimals"))
    job = Job(
        factory=factory.name,
        elements=options.get("elements"),
        ids=options.get("ids"),
        batched=options.get("batched"),
        id_root=str(options["id_root"]) if "id_root" in options else None,
        rounding=None if rounding is None else rounding.name,
        folder=str(Path.cwd()),
        importable=[str(Path(entry).absolute()) for entry in sys.path if Path(entry).is_dir()],
        variables={"PYTHONHASHSEED": "0"},
        learnt=Learnt(parameters=dict.fromkeys(factory.parameters)),
    )
    for name, value in surroundings.items():
        job = find_axis(name).vary(job, value)
    return msgspec.structs.replace(
        job,
        factory=_place(factory),
        arguments=_as_json(factory, factory.arguments(arguments)),
    )


def record_fresh(job: Job, run: Path, name: str) -> Run:
    """Do a job in a process of its own.

    Raises:
        LoaderError: it failed there, or its loader had no element.
    """
    replayed = perform(Trial(job=job, run=str(run), timeout=TIMEOUT)).replayed
    if replayed.died is not None:
        printed = "".join(f"; it printed: {line}" for line in replayed.last_lines[-1:])
        raise LoaderError(f"{name} died in a fresh process: {replayed.died}{printed}")
    return sealed(run, name)


def _place(factory: Factory) -> str:
    """Return where a fresh process finds a factory: "MODULE:NAME", or "FILE:NAME"."""
    module = module_of(factory.function)
    if module is None:
        raise UsageError(
            f"{factory.name} cannot be found by a fresh process, for it is made while the tests "
            "run: move it to the top of a module, and pass what it closes over as arguments={…}"
        )
    home = module.__name__ if _is_importable(module) else _file(module)
    return f"{home}:{factory.function.__qualname__}"


def _is_importable(module: ModuleType) -> bool:
    """Tell whether its name, which pytest may have made up, leads to it."""
    parts = module.__name__.split(".")
    folders = None
    for count in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:count]), folders)
        if spec is None:
            return False
        folders = spec.submodule_search_locations
    return spec is not None and spec.origin == module.__file__


def _file(module: ModuleType) -> str:
    assert module.__file__ is not None
    path = Path(module.__file__)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _as_json(factory: Factory, arguments: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in arguments.items():
        try:
            same = msgspec.json.decode(msgspec.json.encode(value)) == value
        except (TypeError, ValueError):
            same = False
        if not same:
            raise UsageError(
                f"{factory.name} cannot be called in a fresh process, for {name} is a "
                f"{type(value).__name__}, and JSON has none: pass a text or a number that stands "
                f"for it, such as arguments={{{name!r}: str({name})}}"
            )
    return dict(arguments)
