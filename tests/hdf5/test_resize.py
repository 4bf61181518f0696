"""Resizing: the published values, the laws of each type, and what was mended."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from detloader.errors import UsageError
from detloader.hdf5.images.resize import Resize, make_resize
from tests.support import published_images
from tests.support.published_images import Resized

TYPES = ["resize", "center_crop", "random_crop", "crop_or_pad"]
INTERPOLATIONS = ["bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"]

sizes = st.tuples(st.integers(1, 12), st.integers(1, 12))
images = arrays.arrays(
    st.sampled_from([np.float32, np.float64, np.uint8, np.int16]),
    st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 4)),
    elements={"min_value": 0, "max_value": 200},
)


def made(*arguments: Any, **options: Any) -> Resize:
    resize = make_resize(*arguments, **options)
    assert resize is not None
    return resize


def a_generator(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def noise(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).random(shape, np.float32)


# The published values


@pytest.mark.parametrize("call", published_images.resized())
def test_values_are_those_of_zea_0_1_0(call: Resized) -> None:
    resize = made(call.image_size, call.resize_type, call.resize_axes, call.resize_kwargs)

    result = resize(call.image)

    if call.resize_type == "resize" and call.image.dtype.kind in "iu":
        np.testing.assert_array_equal(result, call.result)
    else:
        largest = np.abs(call.image.astype(np.float64)).max()
        np.testing.assert_allclose(result, call.result, rtol=0, atol=1e-6 * largest)


@pytest.mark.parametrize(
    ("source", "target"),
    [((64, 64), (32, 32)), ((12, 14), (5, 6)), ((5, 6), (12, 14)), ((33, 17), (20, 90))],
)
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_every_interpolation_is_that_of_keras(
    interpolation: str, antialias: bool, source: tuple[int, int], target: tuple[int, int]
) -> None:
    import keras

    image = noise(*source, 5)
    kwargs = {"interpolation": interpolation, "antialias": antialias}
    layer = keras.layers.Resizing(*target, **kwargs)
    # TensorFlow looks the weights of this kernel up in a table of 1,024.
    tabled = interpolation == "bicubic" and not antialias

    ours, theirs = made(target, "resize", None, kwargs)(image), np.asarray(layer(image))

    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1.2e-3 if tabled else 3e-6)


@given(st.tuples(st.integers(1, 300), st.integers(1, 300)))
def test_nearest_takes_the_pixel_that_holds_the_centre(lengths: tuple[int, int]) -> None:
    source, target = lengths
    column = np.arange(source, dtype=np.float32)[:, None, None]

    taken = made((target, 1), "resize", None, {"interpolation": "nearest"})(column).ravel()

    centres = (np.arange(target) + 0.5) * source / target
    assert ((taken <= centres) & (centres <= taken + 1)).all()


def test_resized_integers_are_whole_and_within_their_type_as_published() -> None:
    edge = np.array([[0, 0, 255, 255]], np.uint8)[..., None]

    result = made((1, 9), "resize", None, {"interpolation": "bicubic"})(edge)

    assert result.dtype == np.float32
    assert set(np.unique(result)) <= set(range(256))
    assert (result.min(), result.max()) == (0, 255)


@pytest.mark.parametrize(
    "kwargs", [{"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True, "fill_value": 9}]
)
@pytest.mark.parametrize("source", [(12, 7), (7, 12), (5, 5)])
def test_integers_keep_their_aspect_as_in_keras(
    source: tuple[int, int], kwargs: dict[str, Any]
) -> None:
    import keras

    image = np.random.default_rng(0).integers(0, 256, (*source, 2), np.uint8)

    ours = made((9, 8), "resize", None, kwargs)(image)

    # A tie may be rounded to the other side.
    theirs = np.asarray(keras.layers.Resizing(9, 8, **kwargs)(image)).astype(np.float32)
    np.testing.assert_allclose(ours, theirs, atol=1)
    assert (ours == theirs).mean() > 0.98
    assert (ours == ours.round()).all()


def test_antialiasing_gives_each_pixel_its_share() -> None:
    dot = np.zeros((9, 9, 1), np.float32)
    dot[4, 4] = 9 * 9

    plain = made((3, 3), "resize", None, {"interpolation": "bilinear"})(dot)
    shared = made((3, 3), "resize", None, {"interpolation": "bilinear", "antialias": True})(dot)

    assert plain.mean() == 9
    assert shared.mean() == pytest.approx(1, rel=0.2)


# Laws


@given(images, sizes, st.sampled_from(TYPES))
def test_a_sample_comes_to_the_shape_that_was_told(
    image: NDArray[Any], size: tuple[int, int], resize_type: str
) -> None:
    resize = made(size, resize_type)

    result = resize(image, a_generator())

    assert result.shape == resize.output_shape(image.shape) == (*size, image.shape[2])
    assert result.dtype == np.float32


@given(images, sizes, st.sampled_from(TYPES))
def test_a_sample_is_neither_changed_nor_shared(
    image: NDArray[Any], size: tuple[int, int], resize_type: str
) -> None:
    before = image.copy()
    image.flags.writeable = False

    result = made(size, resize_type)(image, a_generator())

    np.testing.assert_array_equal(image, before)
    assert not np.shares_memory(result, image)


@given(images, sizes, st.sampled_from(TYPES))
def test_writing_into_a_row_of_a_batch_gives_the_same(
    image: NDArray[Any], size: tuple[int, int], resize_type: str
) -> None:
    resize = made(size, resize_type)
    batch = np.full((3, *resize.output_shape(image.shape)), np.nan, np.float32)

    returned = resize(image, a_generator(), batch[1])

    assert np.shares_memory(returned, batch)
    np.testing.assert_array_equal(batch[1], resize(image, a_generator()))
    assert np.isnan(batch[[0, 2]]).all()


@given(st.permutations(range(4)), st.sampled_from(TYPES), st.sampled_from(INTERPOLATIONS), sizes)
def test_axes_in_any_place_and_order_give_the_same_pixels(
    order: list[int], resize_type: str, interpolation: str, size: tuple[int, int]
) -> None:
    sample = noise(6, 5, 2, 3)
    kwargs = {"interpolation": interpolation} if resize_type == "resize" else {}
    expected = made(size, resize_type, (0, 1), kwargs)(sample, a_generator())

    axes = (order.index(0), order.index(1))
    moved = made(size, resize_type, axes, kwargs)(sample.transpose(order), a_generator())
    from_behind = made(size, resize_type, (axes[0] - 4, axes[1] - 4), kwargs)

    np.testing.assert_allclose(moved, expected.transpose(order), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(from_behind(sample.transpose(order), a_generator()), moved)


@pytest.mark.parametrize("resize_type", TYPES)
def test_the_target_may_lie_in_any_order_in_memory(resize_type: str) -> None:
    sample = noise(3, 6, 5, 2)
    resize = made((4, 4), resize_type, (1, 2))
    out = np.empty((2, 4, 4, 3), np.float32).transpose(3, 2, 1, 0)

    resize(sample, a_generator(), out)

    np.testing.assert_array_equal(out, resize(sample, a_generator()))


@given(images, st.sampled_from(INTERPOLATIONS), st.booleans())
def test_an_image_of_the_right_size_stays_as_it_is(
    image: NDArray[Any], interpolation: str, antialias: bool
) -> None:
    kwargs = {"interpolation": interpolation, "antialias": antialias}

    result = made(image.shape[:2], "resize", None, kwargs)(image)

    np.testing.assert_allclose(result, image.astype(np.float32), rtol=1e-6, atol=1e-6)


@given(sizes, sizes, st.sampled_from(INTERPOLATIONS), st.booleans())
def test_an_even_image_stays_even(
    source: tuple[int, int], target: tuple[int, int], interpolation: str, antialias: bool
) -> None:
    kwargs = {"interpolation": interpolation, "antialias": antialias}

    result = made(target, "resize", None, kwargs)(np.full((*source, 1), 7, np.float32))

    np.testing.assert_allclose(result, 7, rtol=1e-6)


@pytest.mark.parametrize("channels", [1, 4, 5, 20, 128, 129, 300])
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_each_channel_is_resized_as_it_would_be_alone(interpolation: str, channels: int) -> None:
    image = noise(9, 7, channels)
    resize = made((5, 6), "resize", None, {"interpolation": interpolation})

    result = resize(image)

    for channel in {0, channels // 2, channels - 1}:
        alone = resize(image[:, :, [channel]])
        np.testing.assert_allclose(result[:, :, [channel]], alone, rtol=1e-6)


def test_opencv_is_left_as_it_was() -> None:
    import cv2

    for setting in (True, False, True):
        cv2.ipp.setUseIPP(setting)
        before = cv2.ipp.useIPP()
        made((2, 2))(noise(4, 4, 1))
        assert cv2.ipp.useIPP() == before


@given(images, st.integers(0, 9), st.integers(0, 9))
def test_padding_and_then_cropping_gives_the_image_back(
    image: NDArray[Any], more_rows: int, more_columns: int
) -> None:
    height, width = image.shape[:2]

    padded = made((height + more_rows, width + more_columns), "crop_or_pad")(image)
    back = made((height, width), "crop_or_pad")(padded)

    np.testing.assert_array_equal(back, image.astype(np.float32))


@given(images, sizes)
def test_crop_or_pad_cuts_and_pads_each_axis_as_it_needs(
    image: NDArray[Any], size: tuple[int, int]
) -> None:
    tall, wide = (max(pair) for pair in zip(image.shape, size, strict=False))

    at_once = made(size, "crop_or_pad")(image)
    one_by_one = made(size, "center_crop")(made((tall, wide), "crop_or_pad")(image))

    np.testing.assert_array_equal(at_once, one_by_one)


@given(images, st.data())
def test_a_random_crop_is_a_window_of_the_image(image: NDArray[Any], data: st.DataObject) -> None:
    height = data.draw(st.integers(1, image.shape[0]))
    width = data.draw(st.integers(1, image.shape[1]))
    seed = data.draw(st.integers(0, 99))

    result = made((height, width), "random_crop")(image, a_generator(seed))

    # The order of the draws is part of what is promised.
    same = a_generator(seed)
    top = same.integers(image.shape[0] - height + 1)
    left = same.integers(image.shape[1] - width + 1)
    window = image[top : top + height, left : left + width]
    np.testing.assert_array_equal(result, window.astype(np.float32))


def test_every_window_is_drawn_equally_often() -> None:
    places = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
    resize, rng = made((2, 2), "random_crop"), a_generator()

    drawn = [int(resize(places, rng)[0, 0, 0]) for _ in range(6_000)]

    counts = np.unique(drawn, return_counts=True)
    assert counts[0].tolist() == [0, 1, 2, 4, 5, 6]
    assert counts[1].min() > 850


# What the published one gets wrong


@pytest.mark.parametrize("resize_type", TYPES)
def test_colour_frames_are_resized_along_height_and_width(resize_type: str) -> None:
    colour = noise(12, 14, 3, 1)

    result = made((5, 6), resize_type)(colour, a_generator())

    assert result.shape == (5, 6, 3, 1)
    by_name = made((5, 6), resize_type, (0, 1))(colour, a_generator())
    np.testing.assert_array_equal(result, by_name)
    assert made((5, 6), resize_type, (1, 2))(colour, a_generator()).shape == (12, 5, 6, 1)


def test_the_frame_axis_is_neither_height_nor_width_wherever_it_is() -> None:
    sample = noise(2, 12, 14, 3)

    assert made((5, 6), frame_axis=0)(sample).shape == (2, 5, 6, 3)
    assert made((5, 6), frame_axis=-4)(sample).shape == (2, 5, 6, 3)
    assert made((5, 6), frame_axis=1)(sample).shape == (5, 12, 6, 3)
    assert made((5, 6), frame_axis=3)(sample).shape == (5, 6, 14, 3)
    assert made((5, 6), frame_axis=None)(sample).shape == (5, 6, 14, 3)


def test_axes_of_a_sample_of_three_axes_can_be_named() -> None:
    sample = noise(3, 12, 14)

    assert made((5, 6), "resize", (1, 2))(sample).shape == (3, 5, 6)
    assert made((5, 6), "resize", (-2, -1))(sample).shape == (3, 5, 6)


def test_crop_or_pad_takes_its_arguments() -> None:
    image = np.arange(1, 5, dtype=np.uint8).reshape(1, 4, 1)

    def row(**kwargs: Any) -> list[float]:
        return list(made((1, 7), "crop_or_pad", None, kwargs)(image).ravel())

    assert row() == [0, 1, 2, 3, 4, 0, 0]
    assert row(constant_values=-60.5) == [-60.5, 1, 2, 3, 4, -60.5, -60.5]
    assert row(mode="edge") == [1, 1, 2, 3, 4, 4, 4]
    assert row(mode="reflect") == [2, 1, 2, 3, 4, 3, 2]
    assert row(mode="symmetric") == [1, 1, 2, 3, 4, 4, 3]
    assert row(mode="wrap") == [4, 1, 2, 3, 4, 1, 2]


def test_a_random_crop_depends_on_its_generator_alone() -> None:
    resize, image = made((20, 20), "random_crop"), noise(64, 64, 1)
    expected = [resize(image, a_generator(seed)) for seed in range(8)]

    other = pickle.loads(pickle.dumps(resize))  # noqa: S301 - its own
    backwards = [other(image, a_generator(seed)) for seed in reversed(range(8))][::-1]

    np.testing.assert_array_equal(backwards, expected)
    assert len({crop.tobytes() for crop in expected}) == 8


def test_all_frames_of_a_block_are_cropped_at_one_place() -> None:
    block = np.repeat(noise(9, 9, 1), 5, axis=2)

    for sample, axes in ((block, None), (block.transpose(2, 0, 1), (1, 2))):
        crop = made((4, 4), "random_crop", axes)(sample, a_generator())
        frames = crop if axes is None else crop.transpose(1, 2, 0)
        assert (frames == frames[:, :, :1]).all()


def test_a_random_crop_is_random_along_an_axis_even_where_the_other_fits_exactly() -> None:
    resize, image = made((4, 2), "random_crop"), noise(4, 9, 1)

    crops = {resize(image, a_generator(seed)).tobytes() for seed in range(30)}

    assert len(crops) > 3


def test_only_a_random_crop_draws() -> None:
    assert [made((2, 2), resize_type).draws for resize_type in TYPES] == [False, False, True, False]


def test_what_has_no_weight_cannot_spoil_a_pixel() -> None:
    image = np.ones((8, 8, 1), np.float32)
    image[0, 0] = np.nan

    for interpolation in INTERPOLATIONS:
        result = made((4, 4), "resize", None, {"interpolation": interpolation})(image)
        assert not np.isnan(result[3, 3, 0])


# Arguments


def test_no_size_and_no_type_is_no_resizing() -> None:
    assert make_resize(None) is None


@pytest.mark.parametrize("size", [[5, 6], (5, 6), np.array([5, 6]), (np.int64(5), np.uint8(6))])
def test_a_size_is_any_sequence_of_two_integers(size: Any) -> None:
    assert made(size)(noise(3, 4, 1)).shape == (5, 6, 1)


@pytest.mark.parametrize("size", [5, (5,), (5, 6, 7), (0, 6), (-1, 6), (5.0, 6), (True, 6), "56"])
def test_a_size_that_is_none_is_refused(size: Any) -> None:
    with pytest.raises(UsageError, match="image_size"):
        make_resize(size)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((None, "resize"), "image_size"),
        (((5, 6), "stretch"), "'stretch'; known are resize, center_crop"),
        (((5, 6), ["resize"]), "resize_type"),
        (((5, 6), "resize", None, 7), "resize_kwargs is 7"),
        (((5, 6), "resize", None, {"fill_value": "white"}), "fill_value"),
        (((5, 6), "crop_or_pad", None, {"constant_values": (0, 1)}), "constant_values"),
        (((5, 6), "resize", (0,)), "resize_axes"),
        (((5, 6), "resize", (0, 1.5)), "resize_axes"),
        (((5, 6), "resize", None, {"interpolation": "area"}), "'area'; known are nearest"),
        (((5, 6), "resize", None, {"interp": "nearest"}), "'interp', unknown to resize"),
        (((5, 6), "center_crop", None, {"mode": "edge"}), "'mode', unknown to center_crop"),
        (((5, 6), "random_crop", None, {"seed": 3}), "'seed', unknown to random_crop"),
        (((5, 6), "resize", None, {"fill_mode": "reflect"}), "fill_mode"),
        (((5, 6), "resize", None, {"data_format": "channels_first"}), "resize_axes"),
        (((5, 6), "crop_or_pad", None, {"mode": "empty"}), "'empty'; known are constant"),
        (((5, 6), "crop_or_pad", None, {"mode": "edge", "constant_values": 1}), "constant_values"),
        (
            ((5, 6), "resize", None, {"crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True}),
            "not both",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(arguments: tuple[Any, ...], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        make_resize(*arguments)


@pytest.mark.parametrize(
    ("axes", "shape", "named"),
    [
        (None, (4, 5), "2 axes"),
        (None, (4, 5, 6, 7, 8), "5 axes .* give resize_axes"),
        ((1, 3), (4, 5, 6), r"\(1, 3\)"),
        ((-4, 0), (4, 5, 6), r"\(-4, 0\)"),
        ((0, -3), (4, 5, 6), "two different ones"),
        ((0, 1), (4, 0, 6), "no pixels"),
    ],
)
def test_samples_that_have_no_such_axes_are_refused(
    axes: Any, shape: tuple[int, ...], named: str
) -> None:
    resize = made((2, 2), "resize", axes)

    for use in (lambda: resize.output_shape(shape), lambda: resize(np.zeros(shape))):
        with pytest.raises(UsageError, match=named):
            use()


def test_a_random_crop_without_a_generator_is_refused() -> None:
    with pytest.raises(UsageError, match="generator"):
        made((2, 2), "random_crop")(noise(3, 3, 1))
