"""A loader delivers what was frozen."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from detloader.audits.frozen import Frozen, differences, freeze, load, save
from detloader.audits.frozen.form import FrozenStream
from detloader.errors import FrozenError
from detloader.findings import JsonValue
from detloader.manifest.reader import Run, Stream
from detloader.reports.evidence import labelled
from detloader.reports.plain import listed, wrap
from detloader.testing.context import Context
from detloader.testing.options import Recording
from detloader.testing.runs import record_loader, run_folder
from detloader.testing.told import Made, look_further

__all__ = ["check_match"]

_LONGEST, _NAMED = 40, 6


def check_match(context: Context, loader: Any, name: str, options: Recording) -> str:
    """Compare a loader with the frozen order of a name, or freeze it where that is asked for.

    Raises:
        AssertionError: it delivers something else.
        FrozenError: there is no such frozen order, it cannot be read, or it is of another loader.
    """
    path = context.orders.path(name)
    if path.is_dir():
        raise FrozenError(f"{_shown(path)} is a folder, and no frozen order: remove or rename it")
    with context.folder() as folder:
        run = record_loader(loader, run_folder(folder, name), options, name=type(loader).__name__)
        with context.orders.locked(path) as is_to_be_written:
            if is_to_be_written:
                _freeze(run, path)
            else:
                _require_match(path, _load(path), run)
    return f"{'frozen' if is_to_be_written else 'as frozen'}, {run.rows:,} rows"


def _load(path: Path) -> Frozen:
    if not path.exists():
        raise FrozenError(
            f"{_shown(path)} does not exist: write it with `pytest --detloader-update-new`, "
            "and commit it"
        )
    try:
        return load(_shown(path))
    except FrozenError as error:
        raise FrozenError(f"{error}; `pytest --detloader-update` writes it anew") from None


def _freeze(run: Run, path: Path) -> None:
    """Write a file, unless it says the same already, maybe of another environment."""
    frozen = freeze(run)
    with contextlib.suppress(FrozenError):
        if load(path).fingerprint == frozen.fingerprint:
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    save(frozen, path)


def _require_match(path: Path, frozen: Frozen, run: Run) -> None:
    (stream,) = run.streams.values()
    before = frozen.streams.get(stream.name)
    was, now = before and before.declared.loader, stream.declared.loader
    if was and now and was != now:
        raise FrozenError(
            f"{_shown(path)} is of another loader, a {was} and not a {now}: give this one "
            "another name, or write the file anew with `pytest --detloader-update`"
        )
    if not (found := differences(frozen, run)):
        return
    lines = [wrap(str(each), indent="  ") for each in found]
    if before and (changed := [*_changed(before, stream)]):
        lines.append(labelled("not as it was", listed(changed, _NAMED)))
    lines += [look_further("show", Made(run, "")), "  if it is meant     pytest --detloader-update"]
    raise AssertionError("\n".join([f"changed: not what {_shown(path)} says", "", *lines]))


def _changed(before: FrozenStream, stream: Stream) -> Iterator[str]:
    """Yield what was declared, and what the loader ran on, where it was something else."""
    pairs = (
        (before.declared, stream.declared),
        (before.environment.versions, stream.environment.versions),
        (before.environment.env, stream.environment.env),
    )
    for old, new in pairs:
        then, now = _fields(old), _fields(new)
        for name in sorted({*then, *now} - {*before.long_values}):
            if then.get(name) != now.get(name):
                yield f"{name} {_value(then.get(name))} became {_value(now.get(name))}"


def _fields(part: object) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = msgspec.to_builtins(part)
    return fields


def _value(value: JsonValue) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
