"""Another loader's elements as a TensorFlow dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from detloader.errors import DetloaderError, LoaderError
from detloader.grain.elements import Witnessing
from detloader.grain.plan import Plan
from detloader.grain.source import check_iterable
from detloader.tensorflow.attributed import AttributedDataset
from detloader.tensorflow.attribution import MARK, UNKNOWN, Attribution, PlanAttribution
from detloader.tensorflow.forms import Form, MismatchError, check_spec
from detloader.tensorflow.from_python import MARK_SPEC, dataset_of
from detloader.tensorflow.passes import on_one_line

__all__ = ["dataset_of_elements"]


def dataset_of_elements(loader: Any, spec: Any) -> tf.data.Dataset:
    """Return a dataset of a loader's elements, with marks where it is one of `to_grain`.

    Raises:
        UsageError: the specification is none, or the loader cannot be iterated.
    """
    check_spec("output_signature", spec)
    check_iterable(loader)
    plan = getattr(loader, "plan", None)
    # A recorded stream has a plan, too, but its witness is spoken for.
    if isinstance(plan, Plan) and hasattr(loader, "witnessed"):
        return _dataset_of_stream(loader, plan, spec)
    attribution = Attribution()
    fit = _Fit(spec)

    def pairs() -> Iterator[tuple[Any, Any]]:
        for number, element in enumerate(_guarded(loader)):
            yield fit(element, number), UNKNOWN

    return AttributedDataset(dataset_of(pairs, (spec, MARK_SPEC), attribution), attribution)


def _dataset_of_stream(stream: Any, plan: Plan, spec: Any) -> tf.data.Dataset:
    attribution = PlanAttribution(plan)
    witnessed = stream.witnessed(Witnessing.DRAWS)
    single = plan.batch_size is None
    fit = _Fit(spec)

    def pairs() -> Iterator[tuple[Any, Any]]:
        for number, (element, witness) in enumerate(witnessed):
            marks = attribution.marks(witness)
            yield fit(element, number), marks[0] if single else marks

    marks_spec = MARK_SPEC if single else tf.TensorSpec((None, MARK), tf.int64)
    return AttributedDataset(dataset_of(pairs, (spec, marks_spec), attribution), attribution)


class _Fit:
    """Gives each element the types and the structure of the signature."""

    def __init__(self, spec: Any) -> None:
        self._form = Form(spec) if Form.suits(spec) else None

    def __call__(self, element: Any, number: int) -> Any:
        if self._form is None:
            return element
        try:
            return self._form.pack(self._form.arrays(element))
        except MismatchError as error:
            message = (
                f"element {number} does not match output_signature: {on_one_line(str(error))}; "
                "give None for an axis that varies"
            )
            raise LoaderError(message) from error


def _guarded(loader: Iterable[Any]) -> Iterator[Any]:
    """Yield a loader's elements, and its errors as ours."""
    number = 0
    try:
        for element in loader:
            yield element
            number += 1
    except DetloaderError:
        raise
    except Exception as error:
        what = on_one_line(f"{type(error).__name__}: {error}")
        raise LoaderError(f"the dataset failed at element {number}: {what}") from error
