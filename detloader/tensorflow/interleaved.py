"""`create_interleaved_dataset_from_generator`: a reader and a schedule, for TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any

from detloader.errors import UsageError
from detloader.extras import require
from detloader.tensorflow.schedule import (
    DataGenerator,
    IdGenerator,
    Schedule,
    is_endless,
    weights_of,
)
from detloader.tensorflow.stream_mode import StreamMode

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["create_interleaved_dataset_from_generator"]


def create_interleaved_dataset_from_generator(  # noqa: PLR0917 - the published parameters
    data_generator: DataGenerator,
    id_generator: IdGenerator,
    ids: Iterable[Any],
    spec: Any,
    preprocess: Callable[[Any], Any] | None = None,
    num_workers: int = 4,
    *,
    stream_mode: StreamMode | str = StreamMode.GLOBAL,
    deterministic: bool = True,
) -> tf.data.Dataset:
    """Make a `tf.data.Dataset` of a Python reader and a schedule of record IDs.

    In global mode the samples are those of `data_generator(id_generator(list(ids)))`, in
    that order, whatever `num_workers` says. In finite mode the IDs are cut into
    min(num_workers, number of IDs) contiguous parts, the first of them longer by one where
    they cannot be equal, and each part has generators of its own; all run in this process.

    Nothing is batched, shuffled or read ahead; do that with the dataset. Each pass calls the
    generators anew, with a fresh list of the IDs. The IDs stay with the elements through
    further operations: `record` around the finished dataset tells them. A sample belongs to
    the ID that the reader asked for last, so a reader that asks for IDs ahead of its samples
    needs `record(..., ids=...)`.

    Args:
        data_generator: the reader; called with an iterator of IDs, yields samples.
        id_generator: called with a list of IDs, which it may change; yields IDs.
        ids: the record IDs, read once. No IDs give a dataset without elements, and neither
            generator is called.
        spec: a structure of `tf.TensorSpec` that matches one sample, without a batch axis.
        preprocess: called in Python with each sample; returns the sample to deliver.
        num_workers: parts in finite mode, at least 1; no processes.
        stream_mode: "global" or "finite".
        deterministic: in finite mode, whether the parts come one after another. False
            merges them as they come: the order of each part is kept, that of all is not
            repeatable.

    Returns:
        A `tf.data.Dataset` with elements of `spec`.

    Raises:
        MissingExtraError: TensorFlow is not installed.
        UsageError: an argument is out of range or of the wrong kind; weights do not match
            the IDs; or, in finite mode, the ID generator never ends, which a generator of
            one's own shows when it gives an ID of its part again after all the others.
        SampleError: while iterating, the reader, the ID generator or preprocess failed, or a
            sample does not match `spec`. The message names the ID, and every further
            `next()` raises it again. Where TensorFlow iterates by itself, as in Keras's
            `fit`, its own error has that message as its first line.
    """
    require("tensorflow", extra="tensorflow")
    _check_workers(num_workers)
    if not isinstance(ids, Iterable):
        raise UsageError(f"ids is a {type(ids).__name__}; give a list of record IDs")
    for name, given in (("data_generator", data_generator), ("id_generator", id_generator)):
        if not callable(given):
            raise UsageError(f"{name} is {given!r}; give a function")
    if preprocess is not None and not callable(preprocess):
        raise UsageError(f"preprocess is {preprocess!r}; give a function, or None")
    schedule = Schedule(
        data_generator=data_generator,
        id_generator=id_generator,
        ids=tuple(ids),
        preprocess=preprocess,
        workers=int(num_workers),
        mode=_mode(stream_mode),
        deterministic=bool(deterministic),
    )
    if schedule.ids:
        _check_generator(schedule)
    from detloader.tensorflow.parts import dataset_of_schedule

    return dataset_of_schedule(schedule, spec)


def _check_workers(num_workers: object) -> None:
    # True is refused: it is more often a mistake than a count.
    is_integer = isinstance(num_workers, Integral) and not isinstance(num_workers, bool)
    if not is_integer or int(num_workers) < 1:  # type: ignore[call-overload]  # it is one
        raise UsageError(f"num_workers must be a positive integer, not {num_workers!r}")


def _mode(stream_mode: StreamMode | str) -> StreamMode:
    try:
        return StreamMode(stream_mode)
    except ValueError as error:
        message = f"stream_mode must be one of {', '.join(StreamMode)}, not {stream_mode!r}"
        raise UsageError(message) from error


def _check_generator(schedule: Schedule) -> None:
    if weights_of(schedule.id_generator) is not None:
        # Checks them, and draws nothing before its first `next`.
        schedule.id_generator(list(schedule.ids))
    if schedule.mode is StreamMode.FINITE and is_endless(schedule.id_generator):
        message = (
            "the ID generator never ends, and in finite mode every part must: use "
            'stream_mode="global", or uniform_id_generator with repeat=False'
        )
        raise UsageError(message)
