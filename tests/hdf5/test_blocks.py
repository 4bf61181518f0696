"""Which frames samples hold, and how they stand in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.errors import UsageError
from detloader.hdf5.frames.blocks import BlockRule, BlockTable
from tests.support.hdf5_files import load, numbered, write, write_file


def frames_of(folder: Path, frames: int, **arguments: Any) -> list[str]:
    path = write_file(folder / "a.hdf5", numbered(frames))
    loader = load(path, batch_size=None, shuffle=False, **arguments)
    return ["".join(str(int(frame)) for frame in sample[0, 0]) for sample in loader]


@pytest.mark.parametrize(
    ("frames", "arguments", "wanted"),
    [
        (10, {"n_frames": 3}, "012 345 678"),
        (10, {"n_frames": 3, "overlapping_blocks": True}, "012 123 234 345 456 567 678 789"),
        (10, {"n_frames": 2, "frame_index_stride": 2}, "02 46"),
        (
            10,
            {"n_frames": 2, "frame_index_stride": 2, "overlapping_blocks": True},
            "02 13 24 35 46 57 68",
        ),
        (10, {"n_frames": 3, "frame_index_stride": 3}, "036"),
        (10, {"frame_index_stride": 3}, "0 3 6"),
        (10, {"frame_index_stride": 3, "overlapping_blocks": True}, "0 1 2 3 4 5 6 7"),
        (10, {"n_frames": 3, "limit_n_frames": 7}, "012 345"),
        (10, {"n_frames": 3, "limit_n_frames": 99}, "012 345 678"),
        (4, {"limit_n_samples": 3}, "0 1 2"),
        (4, {"limit_n_samples": 9}, "0 1 2 3"),
    ],
)
def test_blocks_span_frames_times_stride(
    tmp_path: Path, frames: int, arguments: dict[str, Any], wanted: str
) -> None:
    assert frames_of(tmp_path, frames, **arguments) == wanted.split()


@pytest.mark.parametrize(
    ("frames", "arguments"),
    [
        (8, {"n_frames": 3, "frame_index_stride": 3}),
        (7, {"n_frames": 3, "frame_index_stride": 3}),
        (10, {"n_frames": 3, "limit_n_frames": 2}),
    ],
)
def test_files_too_short_for_any_block_are_an_error(
    tmp_path: Path, frames: int, arguments: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="no samples: no file has the"):
        frames_of(tmp_path, frames, **arguments)


def test_a_file_too_short_for_a_block_is_left_out_with_a_warning(tmp_path: Path) -> None:
    write(tmp_path, 6, 2, 3)

    with pytest.warns(UserWarning, match=r"1 of 3 files have fewer than the 3 frames.*f_1\.hdf5"):
        loader = load(tmp_path, n_frames=3, shuffle=False, batch_size=None)

    assert [int(sample.flat[0]) for sample in loader] == [0, 3, 200]


@pytest.mark.parametrize(
    ("shape", "arguments", "wanted"),
    [
        ((4, 5, 6), {}, (2, 5, 6, 1)),
        ((4, 5, 6), {"n_frames": 2}, (2, 5, 6, 2)),
        ((4, 5, 6), {"n_frames": 2, "frame_axis": 0}, (2, 2, 5, 6)),
        ((4, 5, 6), {"n_frames": 2, "frame_axis": 1}, (2, 5, 2, 6)),
        ((4, 5, 6, 3), {}, (2, 5, 6, 3, 1)),
        ((4, 5, 6, 3), {"n_frames": 2, "insert_frame_axis": False}, (2, 5, 6, 6)),
        ((4, 5, 6), {"n_frames": 2, "insert_frame_axis": False}, (2, 5, 12, 1)),
        ((4, 5, 6), {"n_frames": 2, "insert_frame_axis": False, "frame_axis": 0}, (2, 10, 6, 1)),
        ((4, 5), {}, (2, 5, 1, 1)),
        ((4,), {}, (2, 1, 1)),
        ((4, 5, 6), {"additional_axes_iter": (1,)}, (2, 6, 1, 1)),
        ((4, 5, 6), {"batch_size": None}, (5, 6, 1)),
        ((3, 5, 6), {"batch_size": 16}, (3, 5, 6, 1)),
    ],
)
def test_shape_is_that_of_the_first_element(
    tmp_path: Path, shape: tuple[int, ...], arguments: dict[str, Any], wanted: tuple[int, ...]
) -> None:
    path = write_file(tmp_path / "a.hdf5", np.zeros(shape, np.float32))

    loader = load(path, **{"batch_size": 2, **arguments})

    assert loader.shape == wanted
    assert next(iter(loader)).shape == wanted


def test_additional_axes_are_nested_in_the_order_given_behind_the_frames(tmp_path: Path) -> None:
    data = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    path = write_file(tmp_path / "a.hdf5", data)

    samples = list(load(path, additional_axes_iter=(2, 1), shuffle=False, batch_size=None))

    wanted = [data[f, i, j] for f in range(2) for j in range(4) for i in range(3)]
    np.testing.assert_array_equal([sample[..., 0, 0] for sample in samples], wanted)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    axes = draw(st.integers(1, 4))
    frame_axis = draw(st.integers(0, axes - 1))
    others = [axis for axis in range(axes) if axis != frame_axis]
    return {
        "shapes": draw(st.lists(st.tuples(*[st.integers(1, 6)] * axes), min_size=1, max_size=3)),
        "rule": BlockRule(
            n_frames=draw(st.integers(1, 3)),
            stride=draw(st.integers(1, 3)),
            overlapping=draw(st.booleans()),
            limit=draw(st.none() | st.integers(1, 6)),
        ),
        "frame_axis": frame_axis,
        "extra_axes": draw(
            st.permutations(others).flatmap(
                lambda o: st.sampled_from([tuple(o[:k]) for k in range(len(o) + 1)])
            )
        ),
    }


@given(tables())
def test_the_table_is_the_published_nest_of_loops(table: dict[str, Any]) -> None:
    rule, frame_axis, extra_axes = table["rule"], table["frame_axis"], table["extra_axes"]
    wanted: list[tuple[int, ...]] = []
    for number, shape in enumerate(table["shapes"]):
        end = min(shape[frame_axis], rule.limit or shape[frame_axis])
        for start in range(0, end - rule.span + 1, rule.step):
            indices = np.ndindex(*[shape[axis] for axis in extra_axes])
            wanted.extend((number, start, *index) for index in indices)

    found = BlockTable(**table)

    assert len(found) == len(wanted)
    located = found.locate(np.arange(len(found)))
    rows = zip(located.file, located.start, *located.extra.T, strict=True)
    assert [tuple(map(int, row)) for row in rows] == wanted


storages = st.sampled_from(
    [
        {},
        {"chunks": True},
        {"chunks": True, "compression": "gzip"},
        {"dtype": ">f8"},
        {"dtype": "<i2"},
    ]
)


@given(table=tables(), storage=storages, insert=st.booleans(), data=st.data())
def test_samples_are_the_frames_that_their_metadata_name(
    tmp_path_factory: pytest.TempPathFactory,
    table: dict[str, Any],
    storage: dict[str, Any],
    insert: bool,
    data: st.DataObject,
) -> None:
    shape, rule = table["shapes"][0], table["rule"]
    if not len(BlockTable(**{**table, "shapes": [shape]})):
        return
    axes = len(shape) - len(table["extra_axes"]) - (not insert)
    if not axes:
        return
    frame_axis = data.draw(st.integers(-axes, axes - 1))
    values = np.arange(np.prod(shape)).reshape(shape)
    path = write_file(tmp_path_factory.mktemp("h") / "a.hdf5", values, **storage)

    loader = load(
        path,
        batch_size=None,
        return_filename=True,
        n_frames=rule.n_frames,
        frame_index_stride=rule.stride,
        overlapping_blocks=rule.overlapping,
        limit_n_frames=rule.limit,
        initial_frame_axis=table["frame_axis"],
        additional_axes_iter=table["extra_axes"],
        frame_axis=frame_axis,
        insert_frame_axis=insert,
    )

    for sample, told in loader:
        block = values[told["indices"]]
        before = sum(axis < table["frame_axis"] for axis in table["extra_axes"])
        frames = np.moveaxis(block, table["frame_axis"] - before, 0)
        placed = (
            np.moveaxis(frames, 0, frame_axis)
            if insert
            else np.concatenate(list(frames), frame_axis)
        )
        np.testing.assert_array_equal(sample.reshape(placed.shape), placed)
        assert sample.dtype == np.float32
