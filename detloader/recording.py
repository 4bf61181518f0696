"""`record`: any loader, recorded while it runs.

>>> import tempfile
>>> from detloader import open_run, record
>>> folder = tempfile.mkdtemp()
>>> with record(["a", "b", "c"], f"{folder}/run", ids=str) as letters:
...     for letter in letters:
...         pass
>>> open_run(f"{folder}/run").rows
3
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from detloader.adapters import find_adapter, told_rank
from detloader.adapters.declaring import as_fields
from detloader.adapters.request import IdSource, Request
from detloader.at_work import find_recorder
from detloader.errors import UsageError
from detloader.manifest.folders import folder_of
from detloader.manifest.keyed import IdHash
from detloader.manifest.prefix import continuation
from detloader.manifest.relative import IdRoot
from detloader.manifest.rounding import Rounding, is_strong
from detloader.manifest.run_id import (
    rank_from_environment,
    ranks_from_environment,
    stream_of_attempt,
)
from detloader.manifest.sampling import sampling_of
from detloader.manifest.schema import Level, Recipe

__all__ = ["checked", "record"]


def record(
    loader: Any,
    run: str | os.PathLike[str],
    *,
    stream: str = "main",
    rank: int | None = None,
    level: Level | str = Level.FULL,
    ids: IdSource | None = None,
    batched: bool | None = None,
    draws: bool = True,
    id_root: str | os.PathLike[str] | None = None,
    id_hash: str | os.PathLike[str] | None = None,
    content: str | None = None,
    decimals: int | None = None,
    digest: str | None = None,
    epochs: Iterable[int] | None = None,
    every: int | None = None,
    then: str | None = None,
    declared: Mapping[str, object] | None = None,
    parent: str | os.PathLike[str] | None = None,
    recipe: Recipe | None = None,
    on_loss: Literal["count", "raise"] = "count",
) -> Any:
    """Return the loader's twin: the same elements and states, recorded as they are delivered.

    Each `iter()` is the next epoch, unless the loader counts epochs itself. The run is
    sealed as complete by `close()`, by leaving a `with` block, or when the interpreter
    exits; a `break` out of the loop is a normal stop, and an error out of the
    loader makes the run a part of what it was meant to be. Wrapping the same loader object with
    the same path goes on with its run, until that is sealed.

    Recording moves no random generator of the program, makes no extra iterator, and
    raises nothing into the loop once it has started, unless it is asked to: what it could
    not write is counted, and the run says so.

    Args:
        loader: a stream of `to_grain`, or any iterable.
        run: folder of the run; this rank's part is `RUN/<stream>/rank-<rank>`.
        stream: name of this loader, where a program has several. Where `torchrun` started the
            ranks again, it ends in `+restart1`, `+restart2` and so on.
        rank: data-parallel rank of this process; by default the shard that the loader reads,
            where it says so, else as its launcher set it, else 0.
        level: "digest" keeps digests alone, "order" IDs, "full" draws and content too.
        ids: for `to_grain`, the ID of each source index; for an iterable, the key of each
            element that holds its ID, or a function that finds it. Without it, the index
            or the digest of the content is the ID.
        batched: whether an iterable's element is a batch, and not one record.
        draws: whether to look at random generators before and after each sample, where what was
            drawn cannot be told by other means; docs/record-torch.md says what it costs.
        id_root: folder of the data on this machine: record IDs that are paths below it are
            kept relative to it, so that runs of two machines can be compared.
        id_hash: file with a key: keyed digests of IDs are kept in their place, so that the run
            may be shared where the IDs may not; docs/privacy.md says what that hides.
        content: "float16" or "float32": floats are rounded to it before content is digested,
            for decoders and kernels that differ in the last bit. Samples stay as they are.
        decimals: the same with so many digits after the decimal point, 0 to 15.
        digest: "sha256": content is digested by it, and not by XXH3-64, which is made for speed
            and holds against accidents alone.
        epochs: numbers of the epochs to record, such as `range(0, 100, 10)`; all by default.
        every: which batches of an epoch to record: with 10, those labelled 0, 10, 20, …; of a
            loader without batches, records by their place in the epoch.
        then: "order", to record epochs after the first one without draws and content.
        declared: what the run is meant to be, such as `{"weights": [1, 1, 2]}`; it stands
            above what the loader says of itself, `config` entry by entry.
        parent: the run that this one continues, sealed or cut off, which this one will name.
        recipe: how the loader was made, where a factory made it.
        on_loss: "raise" to have a `RunError` in the loop, and from `close()`, where a row could
            not be recorded.

    Returns:
        An object of the loader's kind, with `close()`, that is also a context manager.

    Raises:
        RunExistsError: another loader recorded that rank already.
        RunError: the folder cannot be written.
        UsageError: the loader cannot be recorded, or an argument makes no sense.
    """
    raises = _raises(on_loss)
    kept = _settled(
        level=level,
        id_root=id_root,
        id_hash=id_hash,
        content=content,
        decimals=decimals,
        digest=digest,
        epochs=epochs,
        every=every,
        then=then,
    )
    adapter = find_adapter(loader)
    stream = stream_of_attempt(stream)
    if rank is None:
        rank, ranks = told_rank(loader) or (rank_from_environment(), ranks_from_environment())
    else:
        ranks = None
    request = Request(
        run=run,
        stream=stream,
        rank=rank,
        ranks=ranks,
        ids=ids,
        batched=batched,
        draws=draws,
        declared={**continuation(parent), **as_fields(declared)},
        recipe=recipe and _as_recorded(recipe, ids, id_root, batched=batched),
        **kept,
    )
    folder = folder_of(run, stream, request.rank)
    recorder = find_recorder(folder)
    if recorder is not None and recorder.wrapped is not None and recorder.wrapped[0] is loader:
        return recorder.wrapped[1]
    twin = adapter.wrap(loader, request)
    if (started := find_recorder(folder)) is not None:
        started.wrapped = loader, twin
        started.raises = raises
    return twin


def checked(**options: Any) -> dict[str, Any]:
    """Return options of `record` so that several loaders can be told them.

    Args:
        options: those that say what is kept of each row, and of which rows.

    Raises:
        UsageError: one makes no sense, or the key cannot be read.
    """
    if isinstance(epochs := options["epochs"], Iterator):
        options["epochs"] = [*epochs]
    _settled(**options)
    return options


def _settled(
    *,
    level: Level | str,
    id_root: str | os.PathLike[str] | None,
    id_hash: str | os.PathLike[str] | None,
    content: str | None,
    decimals: int | None,
    digest: str | None,
    epochs: Iterable[int] | None,
    every: int | None,
    then: str | None,
) -> dict[str, Any]:
    """Return what is kept of each row, and of which rows, as a request has it."""
    level = _level(level)
    return {
        "level": level,
        "id_root": None if id_root is None else IdRoot(id_root),
        "id_hash": None if id_hash is None else IdHash.of(id_hash),
        "rounding": Rounding.of(content, decimals),
        "strong": is_strong(digest),
        "sampling": sampling_of(epochs, every, then, level),
    }


def _as_recorded(
    recipe: Recipe,
    ids: IdSource | None,
    id_root: str | os.PathLike[str] | None,
    *,
    batched: bool | None,
) -> Recipe:
    """Say in a recipe how its elements were read, as far as a name or a flag says it."""
    return msgspec.structs.replace(
        recipe,
        ids=ids if isinstance(ids, str) else msgspec.UNSET,
        batched=msgspec.UNSET if batched is None else batched,
        id_root=msgspec.UNSET if id_root is None else _below_here(Path(id_root)),
    )


def _below_here(folder: Path) -> str | msgspec.UnsetType:
    """Return a folder relative to the working folder; nothing is told of any other."""
    place = os.path.relpath(folder)
    return msgspec.UNSET if place.startswith(os.pardir) else Path(place).as_posix()


def _raises(on_loss: str) -> bool:
    if on_loss not in {"count", "raise"}:
        message = f"on_loss {on_loss!r} is neither 'count' nor 'raise'"
        raise UsageError(message)
    return on_loss == "raise"


def _level(level: Level | str) -> Level:
    try:
        return Level(level)
    except ValueError as error:
        message = f"level {level!r} is none of {', '.join(Level)}"
        raise UsageError(message) from error
