"""`to_grain`: indexed records in a reproducible order, as a Grain dataset.

source      what is read, and what is called for each record
plan        which records each element holds: a function of the arguments
samples     trees of arrays, copied and stacked
elements    makes one element, whatever was made before
alone       makes one record, and lists its draws
iterators   Grain's, mended: errors stay, workers share no memory
stream      the dataset that comes of it all
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

from detloader.errors import UsageError
from detloader.grain.source import DataSource, Transform, check_source
from detloader.order.permutation import Compatibility

if TYPE_CHECKING:
    from detloader.grain.stream import BatchStream

__all__ = ["to_grain"]

_SEEDS = 2**32


def to_grain(
    source: DataSource,
    *,
    seed: int | None = None,
    shuffle: bool = False,
    transform: Transform | None = None,
    batch_size: int | None = None,
    drop_remainder: bool = False,
    num_epochs: int | None = 1,
    workers: int = 0,
    worker_buffer_size: int = 1,
    compatibility: Compatibility = None,
) -> BatchStream:
    """Read records in an order, and with draws, that depend on the seed alone.

    The order is source, shuffle, repeat, transform, batch, workers. Parameters, defaults,
    order and draws are those of `helia_edge.data.to_grain`; `compatibility` is ours.

    With `workers=0` an element is made when it is asked for, in the calling thread:
    nothing is read ahead. With workers, each of them is ahead of the consumer by at most
    `2 * worker_buffer_size + 2` elements: those in its queue, as many that a thread of this
    process took off it, and one in the hands of either.

    Each pass e shuffles with seed + e, so neighbouring seeds share permutations: pass 1 of
    seed 0 is pass 0 of seed 1. For independent repeats take seeds from `spawn_seeds`.

    Args:
        source: any object with `len()` and integer indexing, such as a list. It is never
            changed: the transform gets a copy of what is read, of arrays and containers.
        seed: 0 <= seed < 2**32; required where `shuffle` or `transform` is given.
        shuffle: whether each pass is a new permutation of all records.
        transform: called as `transform(record, rng)` for each record, with a generator set
            by seed and position in the stream (all passes counted). Draws follow the
            position, not the record. `rng.spawn` is refused: no replay could repeat it.
        batch_size: records stacked, leaf by leaf, into one element; None for none.
            Batches run across the border between two passes.
        drop_remainder: whether a last, shorter batch is left out; ignored without batches.
        num_epochs: passes over the source; None repeats without end.
        workers: processes that read and transform; 0 for the calling one.
        worker_buffer_size: elements in the queue of each worker; ignored without workers.
        compatibility: "published" gives the published order also at sizes 2**k + 1 (k even,
            k >= 16), where it leaves one record out and repeats another. Only for replaying
            a frozen experiment.

    Returns:
        A `grain.IterDataset`. Each `iter()` begins at the first element and replays the
        same ones.

    Raises:
        UsageError: an argument is missing, out of range or of the wrong kind; it is a
            ValueError, too.
        SampleError: while iterating, the source or the transform failed or returned None.
            The message names the record, and each further `next()` raises it again.
    """
    check_source(source)
    if transform is not None and not callable(transform):
        raise UsageError(f"transform is {transform!r}; give a function of a record and a generator")
    if seed is None and (shuffle or transform is not None):
        message = "to_grain needs a seed to shuffle or transform: give seed=0 or another integer"
        raise UsageError(message)
    _check("seed", seed, 0, optional=True)
    if seed is not None and seed >= _SEEDS:
        message = f"seed must be an integer from 0 to 2**32 - 1, not {seed!r}"
        raise UsageError(message)
    _check("batch_size", batch_size, 1, optional=True)
    _check("num_epochs", num_epochs, 1, optional=True)
    _check("workers", workers, 0)
    _check("worker_buffer_size", worker_buffer_size, 1)
    if compatibility not in {None, "published"}:
        message = f'compatibility must be None or "published", not {compatibility!r}'
        raise UsageError(message)

    from detloader.grain.plan import Plan
    from detloader.grain.stream import BatchStream

    plan = Plan(
        seed=None if seed is None else int(seed),
        shuffle=bool(shuffle),
        size=len(source),
        batch_size=None if batch_size is None else int(batch_size),
        drop_remainder=bool(drop_remainder),
        num_epochs=None if num_epochs is None else int(num_epochs),
        workers=int(workers),
        worker_buffer_size=int(worker_buffer_size),
        compatibility=compatibility,
    )
    return BatchStream(plan, source, transform)


def _check(name: str, value: object, least: int, *, optional: bool = False) -> None:
    if optional and value is None:
        return
    # True and 2.0 are refused: they are more often mistakes than counts.
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        wanted = f"an integer of at least {least}{' or None' if optional else ''}"
        message = f"{name} must be {wanted}, not {value!r}"
        raise UsageError(message)
