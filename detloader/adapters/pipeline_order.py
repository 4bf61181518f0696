"""What the stages of a WebDataset pipeline say of its order."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from webdataset import filters
from webdataset.mix import RandomMix, RoundRobin
from webdataset.pipeline import DataPipeline
from webdataset.pytorch import DataLoader
from webdataset.shardlists import (
    DirectoryShardList,
    MultiShardSample,
    ResampledShards,
    SimpleShardList,
    resampled_,
)
from webdataset.tariterators import tar_file_expander, tarfile_samples

__all__ = ["arguments_of", "order_of", "workers_of"]

_UNKNOWN = object()


ENOUGH_SHARDS = 10
"""So many are not put into one order twice by chance: 10! > 1e6."""


class _Stage(NamedTuple):
    """What a stage does to the order.

    Attributes:
        shuffles: None where it does not say.
        seed: of the shuffle; None where it has none.
        buffer: how many it holds to choose from; None where that is all.
        replacement: whether it may take a shard twice.
        reads: whether it makes records of shards.
    """

    shuffles: bool | None
    seed: object = _UNKNOWN
    buffer: int | None = None
    replacement: bool = False
    reads: bool = False


_KEEPS = _Stage(shuffles=False)
_READS = _Stage(shuffles=False, reads=True)
_SILENT = _Stage(shuffles=None)


def order_of(pipeline: DataPipeline, ranks: int) -> dict[str, Any]:
    """Return the declared fields that stages tell: `shuffle`, `replacement`, `seed`, `config`.

    What they do not tell is left out: a stage of the user's own may shuffle, too; of several
    seeds none is that of the order; and a few shards that are shuffled, and whose records are
    not, may come in one order again, as if there were no shuffle.

    Args:
        pipeline: what is recorded.
        ranks: how many share its shards.
    """
    stages = [_read(stage) for stage in _stages(pipeline)]
    shuffles = [stage for stage in stages if stage.shuffles]
    if not shuffles:
        return {} if _SILENT in stages else {"shuffle": False}
    about: dict[str, Any] = {"config": {"shuffle": [*map(_shown, shuffles)]}}
    if _mixes_records(stages) or _count_shards(pipeline) >= ENOUGH_SHARDS * ranks:
        about["shuffle"] = True
    if any(stage.replacement for stage in shuffles):
        about["replacement"] = True
    seeds = {stage.seed for stage in shuffles}
    if None in seeds:
        about["seed"] = None
    elif len(seeds) == 1 and _UNKNOWN not in seeds:
        about["seed"] = seeds.pop()
    return about


def _mixes_records(stages: Sequence[_Stage]) -> bool:
    of_records = itertools.dropwhile(
        lambda stage: stage.shuffles is not None and not stage.reads, stages
    )
    return any(stage.shuffles for stage in of_records)


def _count_shards(pipeline: DataPipeline) -> int:
    """Count the shards of which each worker has an order; 0 where nobody knows."""
    first = pipeline.pipeline[0]
    inner = getattr(first, "dataset", first)
    if isinstance(inner, DataPipeline):
        return _count_shards(inner) // max(1, getattr(first, "num_workers", 1))
    return len(getattr(inner, "urls", ()))


def arguments_of(stage: Any) -> dict[str, Any]:
    """Return the arguments of a function that is a stage, defaults too."""
    given = inspect.signature(stage.f).bind(None, *stage.args, **stage.kw)
    given.apply_defaults()
    return given.arguments


def workers_of(pipeline: DataPipeline) -> dict[str, Any]:
    """Return as a declared field how many workers a loader within the pipeline has, if one is."""
    for stage in pipeline.pipeline:
        if isinstance(stage, DataLoader):
            return {"workers": stage.num_workers}
        if isinstance(stage, DataPipeline) and (told := workers_of(stage)):
            return told
    return {}


def _stages(pipeline: DataPipeline) -> Iterator[Any]:
    """Yield the stages of a pipeline, and of those within it, loaders' data sets too."""
    for stage in pipeline.pipeline:
        inner = getattr(stage, "dataset", stage)
        if isinstance(inner, DataPipeline):
            yield from _stages(inner)
        else:
            yield inner


def _read(stage: Any) -> _Stage:
    function = getattr(stage, "f", stage)
    if function is filters._shuffle:  # noqa: SLF001 - no stage has another name for it
        told = arguments_of(stage)
        return _shuffle(told["bufsize"], told["seed"] if told["rng"] is None else _UNKNOWN)
    if function is resampled_:
        return _Stage(shuffles=True, seed=None, replacement=True)
    for kind, read in _KINDS.items():
        if isinstance(stage, kind):
            return read(stage)
    if function in (tar_file_expander, tarfile_samples):
        return _READS
    is_of_the_library = str(getattr(function, "__module__", "")).partition(".")[0] == "webdataset"
    return _KEEPS if is_of_the_library or function is filters.slice.f else _SILENT


def _shuffle(buffer: int, seed: object) -> _Stage:
    # WebDataset adds the stage where nothing is to be shuffled, too: from a buffer of one.
    return _Stage(shuffles=True, seed=_seed(seed), buffer=buffer) if buffer > 1 else _KEEPS


def _seed(seed: object) -> object:
    return seed if seed is None or type(seed) in {int, float, str} else _UNKNOWN


def _shown(stage: _Stage) -> dict[str, Any]:
    shown = {"buffer_size": stage.buffer, "seed": stage.seed}
    return {name: value for name, value in shown.items() if value not in {None, _UNKNOWN}}


def _listed(shards: SimpleShardList) -> _Stage:
    return _KEEPS if shards.seed is None else _Stage(shuffles=True, seed=_seed(shards.seed))


def _resampled(shards: ResampledShards) -> _Stage:
    # Else it takes the time for a seed, whatever seed it was given.
    seed = _seed(shards.seed) if shards.deterministic else None
    return _Stage(shuffles=True, seed=seed, replacement=True)


_KINDS: dict[type, Callable[[Any], _Stage]] = {
    filters.detshuffle: lambda stage: _shuffle(stage.bufsize, stage.seed),
    SimpleShardList: _listed,
    ResampledShards: _resampled,
    MultiShardSample: lambda _: _Stage(shuffles=True),
    DirectoryShardList: lambda _: _SILENT,
    RandomMix: lambda _: _SILENT,
    RoundRobin: lambda _: _SILENT,
}
