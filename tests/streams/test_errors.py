"""What goes wrong in a reader, a generator or a sample is named, once and for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from detloader import record, to_grain, to_tf_dataset
from detloader.errors import BatchError, LoaderError, SampleError
from detloader.manifest.verify import verify_run
from tests.support.loaders import rows_of
from tests.support.streams import NUMBER, as_list, stream

PIPELINES: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda dataset: dataset,
    "batch": lambda dataset: dataset.batch(2),
    "prefetch": lambda dataset: dataset.prefetch(2),
    "map and batch": lambda dataset: dataset.map(lambda n: n + 1, 2).batch(2, num_parallel_calls=2),
    "shuffle": lambda dataset: dataset.shuffle(3),
    "cache": lambda dataset: dataset.cache(),
}


def fail_at_three(ids: Iterable[int]) -> Iterator[int]:
    for number in ids:
        if number == 3:
            message = "disk on\nfire"
            raise OSError(message)
        yield number


def ids_fail_after_three(ids: list[int]) -> Iterator[int]:
    for number in ids:
        yield number
        if number == 3:
            raise KeyError(number)


def errors_of(dataset: Any, times: int = 3) -> tuple[int, list[Exception]]:
    """Return how many elements came, and the errors of so many further steps."""
    iterator = iter(dataset)
    elements = 0
    errors: list[Exception] = []
    while len(errors) < times:
        try:
            next(iterator)
            elements += 1
        except StopIteration:
            pytest.fail("the stream ends as if all were well")
        except Exception as error:  # noqa: BLE001  # whatever it is, it is to be told
            errors.append(error)
    return elements, errors


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("recorded", [True, False])
def test_a_reader_s_error_names_the_record_and_comes_again(
    pipeline: str, recorded: bool, tmp_path: Path
) -> None:
    dataset = PIPELINES[pipeline](stream(range(6), data_generator=fail_at_three))
    if recorded:
        dataset = record(dataset, tmp_path / "run")

    elements, errors = errors_of(dataset)

    assert elements <= 3
    for error in errors:
        assert isinstance(error, SampleError)
        assert str(error) == (
            "the reader failed on record 3 (sample 3 of its pass): OSError: disk on fire"
        )
        assert (error.record, error.position) == (3, 3)
        assert isinstance(error.__cause__, OSError)
    if recorded:
        dataset.close()


@pytest.mark.parametrize("mode", ["global", "finite"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_every_mode_names_what_failed(mode: str, deterministic: bool) -> None:
    where = {"stream_mode": mode, "deterministic": deterministic, "num_workers": 2}

    def refuse_three(number: int) -> int:
        if number == 3:
            raise StopIteration
        return number

    failures: list[tuple[dict[str, Any], str]] = [
        ({"data_generator": fail_at_three}, "the reader failed on record 3"),
        ({"id_generator": ids_fail_after_three}, "the ID generator failed after record 3"),
        ({"preprocess": refuse_three}, "preprocess failed on record 3"),
        ({"preprocess": lambda n: "x" if n == 3 else n}, "a sample of record 3"),
    ]
    for options, said in failures:
        _, errors = errors_of(stream(range(6), **options, **where))
        for error in errors:
            assert isinstance(error, SampleError)
            assert said in str(error)
            assert error.record == 3
            assert "\n" not in str(error)


def test_what_fails_before_any_id_is_named_without_one() -> None:
    def no_generator(_: Any) -> Any:
        message = "no such folder"
        raise FileNotFoundError(message)

    def not_iterable(_: Any) -> Any:
        return 5

    failures: list[tuple[dict[str, Any], str]] = [
        ({"data_generator": no_generator}, "the reader failed before it asked for an ID: File"),
        ({"data_generator": not_iterable}, "the reader failed before it asked for an ID: TypeE"),
        ({"id_generator": no_generator}, "the ID generator failed before it asked for an ID: F"),
        ({"id_generator": not_iterable}, "the ID generator failed before it asked for an ID: T"),
    ]
    for options, said in failures:
        _, errors = errors_of(stream([1], **options))
        assert all(type(error) is LoaderError and said in str(error) for error in errors)


@pytest.mark.parametrize(
    ("spec", "bad", "said"),
    [
        (tf.TensorSpec((2,), tf.float32), [1.0], r"the sample has shape \(1,\), not \(2,\)"),
        (tf.TensorSpec((None, 2), tf.float32), [[1.0]], r"has shape \(1, 1\), not \(None, 2\)"),
        (NUMBER, "seven", "the sample cannot be cast to int64"),
        (tf.TensorSpec((), tf.uint8), 300, "the sample cannot be cast to uint8"),
        ((NUMBER, NUMBER), 1, "the sample is a int, not a tuple of 2"),
        ((NUMBER, NUMBER), [1, 2], "the sample is a list of 2, not a tuple of 2"),
        ({"x": NUMBER}, {"y": 1}, "the sample is a dict of 'y', not a dict of 'x'"),
        ({"x": (NUMBER,)}, {"x": (1, 2)}, r"the sample\['x'\] is a tuple of 2"),
    ],
)
@pytest.mark.parametrize("batched", [True, False])
def test_a_sample_that_does_not_match_the_spec_names_record_and_leaf(
    spec: Any, bad: Any, said: str, batched: bool
) -> None:
    dataset = stream(["a", "b"], data_generator=lambda ids: (bad for _ in ids), spec=spec)

    _, errors = errors_of(dataset.batch(2) if batched else dataset)

    for error in errors:
        with pytest.raises(SampleError, match=said):
            raise error
        assert str(error).startswith("a sample of record 'a' (sample 0 of the stream)")
        assert "\n" not in str(error)


def test_samples_of_one_batch_that_differ_in_shape_are_named() -> None:
    def grow(ids: Iterable[int]) -> Iterator[Any]:
        return (np.zeros(number) for number in ids)

    dataset = stream([1, 1, 2], data_generator=grow, spec=tf.TensorSpec((None,), tf.float32))

    elements, errors = errors_of(dataset.batch(3))

    assert elements == 0
    for error in errors:
        assert isinstance(error, BatchError)
        assert str(error) == (
            "records [1, 1, 2]: samples of one batch have shapes (1,) and (2,): "
            "use padded_batch, or make them alike"
        )


def test_iterators_fail_each_for_itself() -> None:
    fail = [True]

    def sometimes(ids: Iterable[int]) -> Iterator[int]:
        return fail_at_three(ids) if fail[0] else iter(ids)

    dataset = stream(range(6), data_generator=sometimes)
    _, errors = errors_of(dataset)
    fail[0] = False

    assert len(errors) == 3
    assert as_list(dataset) == list(range(6))


def test_where_tensorflow_iterates_alone_its_error_begins_with_ours() -> None:
    dataset = stream(range(6), data_generator=fail_at_three).batch(2)

    with pytest.raises(tf.errors.UnknownError) as caught:
        dataset.reduce(np.int64(0), lambda total, batch: total + tf.reduce_sum(batch))

    first_line = str(caught.value).splitlines()[0]
    assert "SampleError: the reader failed on record 3 (sample 3 of its pass)" in first_line


def test_a_plain_dataset_made_of_ours_raises_again_and_never_ends_early() -> None:
    windows = stream(range(6), data_generator=fail_at_three).window(1)

    _, errors = errors_of(windows)

    assert all("the reader failed on record 3" in str(error) for error in errors)


def test_a_run_that_broke_off_says_so(tmp_path: Path) -> None:
    dataset = stream(range(6), data_generator=fail_at_three)

    with pytest.raises(SampleError), record(dataset, tmp_path / "run") as twin:
        list(twin)

    assert rows_of(tmp_path / "run", "record") == [0, 1, 2]
    assert not verify_run(tmp_path / "run").complete


def test_errors_of_a_stream_of_grain_come_through_by_name() -> None:
    def fail(number: int, rng: np.random.Generator) -> int:
        return fail_at_three([number]).__next__()

    grain = to_grain(range(6), seed=0, transform=fail, batch_size=2)

    elements, errors = errors_of(to_tf_dataset(grain, tf.TensorSpec((None,), tf.int64)))

    assert elements == 1
    assert all(isinstance(error, SampleError) and "record 3" in str(error) for error in errors)


def test_elements_of_another_loader_that_do_not_fit_are_numbered() -> None:
    batches = [np.zeros(2), np.zeros((2, 2)), np.zeros(2)]

    elements, errors = errors_of(to_tf_dataset(batches, tf.TensorSpec((2,), tf.float64)))

    assert elements == 1
    for error in errors:
        assert isinstance(error, LoaderError)
        assert str(error).startswith("element 1 does not match output_signature: ")
        assert "(2, 2)" in str(error)


def test_another_loader_s_own_error_is_numbered() -> None:
    class Loader:
        def __iter__(self) -> Iterator[int]:
            return fail_at_three(range(6))

    elements, errors = errors_of(to_tf_dataset(Loader(), NUMBER))

    assert elements == 3
    for error in errors:
        assert isinstance(error, LoaderError)
        assert str(error) == "the dataset failed at element 3: OSError: disk on fire"
