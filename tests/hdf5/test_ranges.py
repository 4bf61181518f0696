"""The range of values: clipped, checked, normalised; the published values and what was mended."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from detloader.errors import LoaderError, RangeError, UsageError
from detloader.hdf5.images.ranges import assert_in_range, checked_ranges, clip, normalize
from tests.support import published_images
from tests.support.published_images import Normalized

numbers = st.floats(-1e6, 1e6) | st.integers(-(10**6), 10**6)
ranges = st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))
samples = arrays.arrays(
    st.sampled_from([np.float16, np.float32, np.float64, np.uint8, np.int16, np.int64]),
    arrays.array_shapes(max_dims=3, min_side=0, max_side=4),
)


def inside(sample: NDArray[Any], image_range: tuple[float, float]) -> bool:
    try:
        assert_in_range(sample, image_range, "a.hdf5#0:1")
    except RangeError:
        return False
    return True


# Clip


@given(samples, ranges)
def test_clipping_brings_values_to_the_nearer_bound_and_leaves_the_sample(
    sample: NDArray[Any], image_range: tuple[float, float]
) -> None:
    before = sample.copy()

    clipped = clip(sample, image_range)

    np.testing.assert_array_equal(sample, before)
    assert not np.shares_memory(clipped, sample)
    low, high = image_range
    kept = [low <= value <= high for value in sample.ravel().tolist()]
    np.testing.assert_array_equal(clipped.ravel()[kept], sample.ravel()[kept])


@given(samples, ranges)
def test_clipping_twice_is_clipping_once(
    sample: NDArray[Any], image_range: tuple[float, float]
) -> None:
    once = clip(sample, image_range)

    np.testing.assert_array_equal(clip(once, image_range), once)


def test_nan_stays_nan() -> None:
    sample = np.array([np.nan, 5, -5], np.float32)

    np.testing.assert_array_equal(clip(sample, (0, 1)), np.array([np.nan, 1, 0], np.float32))


def test_a_bound_that_an_integer_type_cannot_hold_is_no_bound_for_it() -> None:
    sample = np.array([0, 7, 255], np.uint8)

    assert clip(sample, (-60, 100)).tolist() == [0, 7, 100]
    assert clip(sample, (-60, 1000)).dtype == np.uint8
    assert clip(sample, (0.5, 6.5)).tolist() == [0.5, 6.5, 6.5]


# Check


@given(samples, st.tuples(st.integers(-300, 300), st.integers(0, 600)))
def test_what_was_clipped_is_in_range(sample: NDArray[Any], limits: tuple[int, int]) -> None:
    image_range = (limits[0], limits[0] + limits[1])
    reachable = not sample.size or clip(sample, image_range).min() >= image_range[0]

    # An unsigned type holds nothing below zero.
    assert inside(clip(sample, image_range), image_range) or not reachable or image_range[1] < 0


@pytest.mark.parametrize("bound", [0.1, 0.7, 1e-3, math.pi])
def test_a_bound_is_the_number_that_the_type_has_for_it(bound: float) -> None:
    # As the published one compares, 0.1 of float32 is above 0.1: clipped images are refused.
    sample = np.full(3, 9, np.float32)

    assert inside(clip(sample, (0, bound)), (0, bound))
    assert not inside(np.nextafter(clip(sample, (0, bound)), np.float32(9)), (0, bound))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_the_error_names_the_sample_the_value_and_the_bound(dtype: Any) -> None:
    with pytest.raises(RangeError, match=r"a/b.hdf5#4:7: -61.* below image_range lower bound -60"):
        assert_in_range(np.array([-1, -61], dtype), (-60, 0), "a/b.hdf5#4:7")
    with pytest.raises(RangeError, match=r"a/b.hdf5#4:7: 1.* above image_range upper bound 0"):
        assert_in_range(np.array([-1, 1], dtype), (-60, 0), "a/b.hdf5#4:7")


def test_the_error_is_a_value_error_as_published() -> None:
    assert issubclass(RangeError, ValueError)
    assert issubclass(RangeError, LoaderError)


@pytest.mark.parametrize("value", [-61.0, 1.0])
def test_a_nan_does_not_hide_a_value_out_of_range(value: float) -> None:
    assert not inside(np.array([np.nan, -3, value], np.float32), (-60, 0))
    assert not inside(np.array([value, -3, np.nan], np.float32), (-60, 0))


def test_a_nan_alone_is_not_out_of_range() -> None:
    assert inside(np.array([np.nan, -3], np.float32), (-60, 0))
    assert inside(np.array([np.nan, np.nan], np.float32), (-60, 0))


def test_infinity_is_out_of_every_finite_range() -> None:
    assert not inside(np.array([np.inf, np.nan], np.float32), (-60, 0))
    assert not inside(np.array([-np.inf], np.float32), (-60, 0))
    assert inside(np.array([np.inf], np.float32), (-60, np.inf))


def test_a_sample_without_values_is_in_range() -> None:
    assert inside(np.empty((0, 3)), (0, 1))


# Normalise


@pytest.mark.parametrize("call", published_images.normalized())
def test_normalised_bits_are_those_of_zea_0_1_0(call: Normalized) -> None:
    result = normalize(call.image.copy(), call.image_range, call.normalization_range)

    assert result.tobytes() == call.result.tobytes()


@given(
    arrays.arrays(np.float32, 7, elements=st.floats(0, 1, width=32)),
    ranges.filter(lambda pair: pair[1] - pair[0] > 1e-3 * max(1, *map(abs, pair))),
    st.tuples(st.floats(-100, 100), st.floats(-100, 100)),
)
def test_the_image_range_comes_to_the_normalization_range(
    shares: NDArray[np.float32], source: tuple[float, float], target: tuple[float, float]
) -> None:
    low, high = source
    image = (low + shares.astype(np.float64) * (high - low)).astype(np.float32)
    image[:2] = source

    result = normalize(image.copy(), source, target)

    width = abs(target[1] - target[0])
    slack = 1e-3 * width + 1e-4
    np.testing.assert_allclose(result[:2], target, atol=slack)
    assert (result >= min(target) - slack).all()
    assert (result <= max(target) + slack).all()


def test_values_out_of_the_image_range_come_out_of_the_other() -> None:
    image = np.array([-120, -60, 0, 60], np.float32)

    assert normalize(image, (-60, 0), (0, 1)).tolist() == [-1, 0, 1, 2]


def test_normalising_works_in_place_and_sample_by_sample() -> None:
    batch = np.random.default_rng(0).random((4, 5, 6), np.float32)
    one_by_one = batch.copy()
    for sample in one_by_one:
        normalize(sample, (0, 0.7), (-1, 1))

    assert normalize(batch, (0, 0.7), (-1, 1)) is batch
    assert one_by_one.tobytes() == batch.tobytes()


# Arguments


@pytest.mark.parametrize(
    ("given_range", "bounds"),
    [
        ((-60, 0), (-60, 0)),
        ([np.float32(-60), np.int64(0)], (-60.0, 0)),
        (np.array([0, 0.5]), (0.0, 0.5)),
        ((Fraction(1, 2), 1), (0.5, 1)),
        ((-math.inf, 0), (-math.inf, 0)),
        ((3, 3), (3, 3)),
    ],
)
def test_a_range_is_any_pair_of_numbers(given_range: Any, bounds: tuple[float, float]) -> None:
    source, target = checked_ranges(given_range, None)

    assert (source, target) == (bounds, None)
    assert list(map(type, source or ())) == list(map(type, bounds))


def test_a_normalization_range_may_run_backwards() -> None:
    assert checked_ranges((0, 1), (1, -1)) == ((0, 1), (1, -1))
    assert checked_ranges(None, None) == (None, None)


@pytest.mark.parametrize(
    ("image_range", "normalization_range", "named"),
    [
        (None, (0, 1), "image_range must be set"),
        ((3, 3), (0, 1), "no width"),
        ((0, 1e-60), (0, 1), "no width"),
        ((0, 1e60), (0, 1), "finite"),
        ((-math.inf, 0), (0, 1), "finite"),
        ((0, 1), (0, math.inf), "finite"),
        ((0, -60), None, "lower bound first"),
        ((0, math.nan), None, "image_range"),
        ((0, 1), (math.nan, 1), "normalization_range"),
        ((0,), None, "image_range"),
        ((0, 1, 2), None, "image_range"),
        (("0", "1"), None, "image_range"),
        ((False, True), None, "image_range"),
        (5, None, "image_range"),
        ((0, 1), "01", "normalization_range"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(
    image_range: Any, normalization_range: Any, named: str
) -> None:
    with pytest.raises(UsageError, match=named):
        checked_ranges(image_range, normalization_range)
