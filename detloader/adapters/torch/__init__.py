"""Records Torch's loaders, and those of packages that derive theirs from them.

wrap        this module: which loaders, and what is recorded of each
batches     the loaders of `to_torch_loader`, recorded through the dataset that they read
twin        what the user gets, and the iterators that it makes
watched     what Torch is given in place of data set, collating and starting functions
watch       looks on while a batch is made, in whichever process that is
reading     what can be told of samples; tensors: as arrays and labels
witness     what travels with a batch; settling: what the next one tells of it
at_once     which data sets read a whole batch at once
recording   counts epochs in the loop's process; rows: what is written
padding     which rows were added to even out ranks
declared    what loader and samplers say of themselves; samplers: what can be told of one
order_seeds what the orders are seeded with, as they are begun
subsets     which records of the data set below a subset has
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence, Sized
from typing import Any, cast

import pyarrow as pa
from torch import distributed
from torch.utils.data import (
    DataLoader,
    IterableDataset,
    IterDataPipe,
    MapDataPipe,
    default_collate,
)
from torch.utils.data.dataloader import _BaseDataLoaderIter

from detloader.adapters import Recorded, find_iterate
from detloader.adapters.ids import id_array
from detloader.adapters.request import Request
from detloader.adapters.torch.at_once import reads_at_once
from detloader.adapters.torch.batches import wrap_batches
from detloader.adapters.torch.declared import (
    declared_of,
    epoch_holder,
    has_threads,
    seed_of_epoch,
)
from detloader.adapters.torch.order_seeds import OrderSeeds, seed_of_order
from detloader.adapters.torch.padding import padding_of
from detloader.adapters.torch.reading import SampleReader
from detloader.adapters.torch.recording import Recording
from detloader.adapters.torch.rows import Columns, RowMaker, count_ready
from detloader.adapters.torch.samplers import deciding_sampler, gives_lists
from detloader.adapters.torch.subsets import places_of, size_of
from detloader.adapters.torch.twin import RecordedLoader, twin_of
from detloader.adapters.torch.watch import Watch, WatchOfThreads
from detloader.errors import UsageError
from detloader.generators.witness import GLOBALS, DrawWitness, names_of_stored
from detloader.manifest.schema import Level
from detloader.recorder import Recorder
from detloader.torch.batches import Batches

__all__ = ["rank_of", "suits", "wrap"]

_AMOUNTS = frozenset({"source_size", "num_samples", "weights"})


def suits(loader: object) -> bool:
    """Tell whether this is a loader of Torch's, and not of data pipes, which Torch has given up."""
    return isinstance(loader, DataLoader) and not isinstance(
        loader.dataset, IterDataPipe | MapDataPipe
    )


def wrap(loader: DataLoader[Any], request: Request) -> Recorded:
    """Start recording a loader.

    Raises:
        UsageError: it is recorded already, or has begun; or `ids` or `batched` makes no sense.
    """
    if isinstance(loader.dataset, Batches):
        return wrap_batches(loader, loader.dataset, request)
    _require_fresh(loader)
    if request.batched is False and _delivers_batches(loader, request):
        message = "batched=False, but the loader puts records into batches: leave batched out"
        raise UsageError(message)
    return _record(loader, request)


def rank_of(loader: DataLoader[Any]) -> tuple[int, int] | None:
    """Return the rank that a loader reads for and how many there are; None where nobody says."""
    if isinstance(loader.dataset, Batches):
        return None
    sampler = deciding_sampler(loader)
    rank, ranks = getattr(sampler, "rank", None), getattr(sampler, "num_replicas", None)
    if isinstance(rank, int) and isinstance(ranks, int):
        return rank, ranks
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return None


def _require_fresh(loader: DataLoader[Any]) -> None:
    if isinstance(loader, RecordedLoader):
        raise UsageError("this loader is recorded already: record the one that it was made of")
    for name, value in vars(loader).items():
        is_kept = name != "_iterator" or loader.persistent_workers
        if isinstance(value, _BaseDataLoaderIter) and (is_kept or _will_go_on(loader)):
            message = "the loader has begun: record it before its first iteration or state_dict()"
            raise UsageError(message)


def _will_go_on(loader: DataLoader[Any]) -> bool:
    """Tell whether an iterator was made for a checkpoint, and waits for the first iteration."""
    return bool(vars(loader).get("_initial_iter_for_state_dict"))


def _record(loader: DataLoader[Any], request: Request) -> RecordedLoader:
    full = request.level is not Level.ORDER
    # Among threads, nobody sees who draws from a generator that all of them have.
    looks = full and request.draws and not has_threads(loader)
    generators = names_of_stored(_holders(loader)) if looks else None
    columns = Columns(
        batch=_delivers_batches(loader, request),
        index=_ids_of_samples(request) is not None
        and not isinstance(loader.dataset, IterableDataset),
        generators=generators,
        content=full,
        worker=_told_of_workers(loader),
        seed=seed_of_epoch(epoch_holder(loader)) is not None,
        resumed=hasattr(loader, "load_state_dict"),
        padding=padding_of(loader),
    )
    watch = functools.partial(_watch, loader, request, generators)
    ids = _ids_of_indices(loader, request)
    rows = RowMaker(columns, ids, _count_of_indices(loader))
    seeds: dict[int, None] = {}
    writer = request.writer(**_declared(loader, request, generators, ids))
    if "seed" not in request.declared and not isinstance(loader.dataset, IterableDataset):
        rows.order_seeds = OrderSeeds(writer.redeclare)
    recorder = Recorder(writer, rows.encode, seeds, ready=count_ready, sees_steps=True)
    seed_of = functools.partial(seed_of_order, loader)
    return twin_of(loader, Recording(watch, seed_of, recorder, seeds))


def _told_of_workers(loader: DataLoader[Any]) -> Sequence[str]:
    if not loader.num_workers:
        return ()
    # Threads seed the generators that they share.
    return ("worker",) if has_threads(loader) else ("worker", "worker_seed")


def _delivers_batches(loader: DataLoader[Any], request: Request) -> bool:
    if loader.batch_sampler is not None:
        return True
    return bool(request.batched) or gives_lists(loader)


def _reads_batches(loader: DataLoader[Any], request: Request) -> bool:
    """Tell whether an index is that of a batch, as far as anybody can see before it is read."""
    return bool(request.batched) and loader.batch_sampler is None and not gives_lists(loader)


def _ids_of_indices(loader: DataLoader[Any], request: Request) -> pa.Array[Any] | None:
    if request.ids is None:
        return places_of(loader.dataset)
    if _ids_of_samples(request) is not None:
        return None
    if isinstance(loader.dataset, IterableDataset):
        message = "an iterable data set has no indices: give ids as a key or a function of a sample"
        raise UsageError(message)
    return id_array(request.ids, len(cast("Sized", loader.dataset)))


def _ids_of_samples(request: Request) -> str | Callable[[Any], Any] | None:
    """Return how IDs are found in samples; None where they are not."""
    return request.ids if isinstance(request.ids, str) or callable(request.ids) else None


def _count_of_indices(loader: DataLoader[Any]) -> int | None:
    """Return how many records indices count; None where there are none, or nobody says."""
    is_indexed = not isinstance(loader.dataset, IterableDataset)
    return size_of(loader.dataset) if is_indexed else None


def _watch(loader: DataLoader[Any], request: Request, generators: Sequence[str] | None) -> Watch:
    """Return what watches one iterator."""
    collated = loader.batch_sampler is not None
    indexed = not isinstance(loader.dataset, IterableDataset)
    of_samples = _ids_of_samples(request)
    content = request.level is not Level.ORDER
    named = of_samples is not None or find_iterate(loader.dataset) is not None
    if indexed and not _reads_batches(loader, request):
        named = True
    stacked = collated and loader.collate_fn is default_collate
    reader = functools.partial(
        SampleReader,
        of_samples,
        # Without a name, nothing else could stand for an ID.
        request.digester if content or not named else None,
        stacked=stacked,
        skips=collated and not stacked,
    )
    draws = None if generators is None else DrawWitness(_holders(loader), generators)
    kind = WatchOfThreads if has_threads(loader) else Watch
    return kind(
        reader,
        draws,
        collated=collated,
        batched=bool(request.batched),
        named=request.ids is not None and of_samples is None,
    )


def _declared(
    loader: DataLoader[Any],
    request: Request,
    generators: Sequence[str] | None,
    ids: pa.Array[Any] | None,
) -> dict[str, Any]:
    declared = declared_of(loader)
    if _reads_batches(loader, request):
        # They count batches, and the rows are records.
        declared = {name: declared[name] for name in declared if name not in _AMOUNTS}
    if ids is not None and len(ids.unique()) < len(ids):
        # As a subset may have one record at several places.
        declared["config"] |= {"repeats": "ids"}
    if generators is not None:
        # These columns are of generators, and not of the members of one record.
        told: dict[str, Any] = {"independent_draws": [*GLOBALS, *generators]}
        if _makes_batches_at_once(loader, request):
            told["draws_of"] = "batch"
        declared["config"] |= {**told, "inert": [*told]}
    return declared


def _makes_batches_at_once(loader: DataLoader[Any], request: Request) -> bool:
    if loader.batch_sampler is None:
        return _delivers_batches(loader, request)
    return not isinstance(loader.dataset, IterableDataset) and reads_at_once(loader.dataset)


def _holders(loader: DataLoader[Any]) -> dict[str, object]:
    return {"": loader.dataset, "collate_fn": loader.collate_fn}
