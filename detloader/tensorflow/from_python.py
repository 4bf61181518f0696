"""Python iterators as TensorFlow datasets of (element, mark)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from detloader.errors import BatchError, SampleError
from detloader.tensorflow.attribution import MARK, UNKNOWN, Attribution, Mark
from detloader.tensorflow.forms import Batch, Form, MismatchError
from detloader.tensorflow.ledger import Ledger
from detloader.tensorflow.passes import Pass, Steady, on_one_line
from detloader.tensorflow.schedule import Schedule

__all__ = ["MARK_SPEC", "Reading", "dataset_of"]

MARK_SPEC = tf.TensorSpec((MARK,), tf.int64)


def dataset_of(
    make: Callable[[], Iterable[Any]], spec: Any, attribution: Attribution
) -> tf.data.Dataset:
    """Return a dataset of the elements that `make()` yields, made anew for each pass."""
    return tf.data.Dataset.from_generator(
        lambda: Steady(make(), attribution), output_signature=spec
    )


class Reading:
    """Some parts of a schedule, one after another, sample by sample or in whole batches.

    A whole batch crosses from Python into TensorFlow at once, which is where the time goes.
    """

    def __init__(self, schedule: Schedule, ledger: Ledger, parts: Sequence[int], spec: Any) -> None:
        self._schedule = schedule
        self._ledger = ledger
        self._parts = parts
        self._spec = spec
        # Ragged and sparse samples are left to TensorFlow.
        self._form = Form(spec) if Form.suits(spec) else None

    @property
    def makes_batches(self) -> bool:
        """Whether `batches` can be asked for."""
        return self._form is not None

    def samples(self) -> tf.data.Dataset:
        """Return a dataset of single samples."""
        form = self._form
        make = self._marked if form is None else lambda: self._samples(form)
        return dataset_of(make, (self._spec, MARK_SPEC), self._ledger)

    def batches(self, size: int, *, drop_remainder: bool) -> tf.data.Dataset:
        """Return a dataset of batches."""
        form = self._form
        assert form is not None
        rows = size if drop_remainder else None
        spec = form.batched(rows), tf.TensorSpec((rows, MARK), tf.int64)
        return dataset_of(
            lambda: self._batches(form, size, drop_remainder=drop_remainder), spec, self._ledger
        )

    def _marked(self) -> Iterator[tuple[Any, Mark]]:
        for part in self._parts:
            yield from Pass(self._schedule, self._ledger, part)

    def _samples(self, form: Form) -> Iterator[tuple[Any, Mark]]:
        for place, (sample, mark) in enumerate(self._marked()):
            try:
                arrays = form.arrays(sample)
            except MismatchError as error:
                raise self._misfit(mark, place, error) from error
            yield form.pack(arrays), mark

    def _batches(
        self, form: Form, size: int, *, drop_remainder: bool
    ) -> Iterator[tuple[Any, NDArray[np.int64]]]:
        samples = enumerate(self._marked())
        while True:
            batch, marks = Batch(form, size), []
            for place, (sample, mark) in itertools.islice(samples, size):
                try:
                    batch.append(sample)
                except MismatchError as error:
                    raise self._misfit(mark, place, error) from error
                marks.append(mark)
            if not marks or (drop_remainder and len(marks) < size):
                return
            yield self._stacked(form, batch, marks)

    def _stacked(
        self, form: Form, batch: Batch, marks: Sequence[Mark]
    ) -> tuple[Any, NDArray[np.int64]]:
        try:
            return form.pack(batch.arrays()), np.array(marks, np.int64)
        except BatchError as error:
            records = list(map(self._record, marks))
            raise BatchError(f"records {on_one_line(repr(records))}: {error}") from error

    def _misfit(self, mark: Mark, place: int, error: Exception) -> SampleError:
        record = self._record(mark)
        message = (
            f"a sample of record {on_one_line(repr(record))} (sample {place} of the stream) does "
            f"not match spec: {on_one_line(str(error))}; mend the reader or spec"
        )
        return SampleError(message, record, place)

    def _record(self, mark: Mark) -> Any:
        """Return the ID of a mark; None where the reader yields samples of none."""
        return None if mark == UNKNOWN else self._ledger.record(mark[0])
