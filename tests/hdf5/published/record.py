"""What zea 0.1.0 gives, written beside this script: run it with a Python that has zea 0.1.0.

    KERAS_BACKEND=jax python tests/hdf5/published/record.py

It was run with grain 0.2.18, keras 3.15.1, jax 0.10 on the CPU and numpy 2.4.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

HERE = Path(__file__).parent
FOLDER = Path(tempfile.gettempdir()) / f"zea-{os.getpid()}"


def write(name: str, *arrays: Any) -> Path:
    """Write one file an array, f_0.hdf5 and so on."""
    folder = FOLDER / name
    folder.mkdir(parents=True)
    for number, array in enumerate(arrays):
        with h5py.File(folder / f"f_{number}.hdf5", "w") as file:
            file["data/image"] = array
    return folder


def load(folder: Path, **arguments: Any) -> Any:
    from zea.data.dataloader import Dataloader  # type: ignore[import-not-found]

    given = {
        "batch_size": 4,
        "convert_to_tensor": False,
        "validate": False,
        "num_threads": 0,
        **arguments,
    }
    return Dataloader(str(folder), **given)


def first_values(batches: Iterable[Any]) -> list[int]:
    return [
        int(row) for batch in batches for row in np.asarray(batch).reshape(len(batch), -1)[:, 0]
    ]


def numbered(count: int, start: int = 0) -> Any:
    return np.repeat(np.arange(start, start + count, dtype="f4"), 4).reshape(count, 2, 2)


def orders() -> dict[str, Any]:
    found: dict[str, Any] = {}
    folder = write("orders", numbered(7), numbered(7, 100), numbered(7, 200))
    for seed in (0, 1, 7, 2**31 + 5, 2**33 + 1):
        for repetitions in (None, 2):
            loader = load(folder, seed=seed, dataset_repetitions=repetitions)
            dataset = first_values(loader.dataset[i] for i in range(len(loader.dataset)))
            epochs = [first_values(loader) for _ in range(3)]
            found[f"{seed},{repetitions}"] = {"dataset": dataset, "epochs": epochs}
    return found


def shards() -> dict[str, Any]:
    folder = FOLDER / "orders"
    return {
        str(count): [
            [first_values(loader) for _ in range(2)]
            for index in range(count)
            for loader in [
                load(folder, seed=3, num_shards=count, shard_index=index, dataset_repetitions=2)
            ]
        ]
        for count in (2, 3, 4)
    }


def one_order_and_shuffles() -> list[Any]:
    """Two epochs, shuffle(9), two epochs; shuffle(), shuffle(), shuffle(0) with one each."""
    loader = load(FOLDER / "orders", seed=5, reshuffle_each_epoch=False)
    found = [first_values(loader), first_values(loader)]
    loader.shuffle(9)
    found += [first_values(loader), first_values(loader)]
    for seed in (None, None, 0):
        loader.shuffle(seed)
        found.append(first_values(loader))
    return found


def new_orders_and_shuffles() -> list[Any]:
    """An unused iterator, an epoch; shuffle(9), shuffle(0) with dataset and an epoch each."""
    loader = load(FOLDER / "orders", seed=5)
    iter(loader)
    found = [first_values(loader)]
    for seed in (9, 0):
        loader.shuffle(seed)
        found += [first_values(loader.to_iter_dataset()), first_values(loader)]
    return found


def no_permutation() -> dict[str, Any]:
    loader = load(write("odd", numbered(65_537)), seed=0, batch_size=4096)
    order = np.array(first_values(loader.dataset[i] for i in range(len(loader.dataset))))
    return {
        "missing": np.setdiff1d(np.arange(65_537), order).tolist(),
        "sha256": hashlib.sha256(order.astype("<i8").tobytes()).hexdigest(),
    }


BLOCKS: list[dict[str, Any]] = [
    {"n_frames": 3},
    {"n_frames": 3, "overlapping_blocks": True},
    {"n_frames": 2, "frame_index_stride": 2},
    {"n_frames": 2, "frame_index_stride": 2, "overlapping_blocks": True},
    {"n_frames": 3, "frame_index_stride": 3},
    {"n_frames": 1, "frame_index_stride": 3},
    {"n_frames": 1, "frame_index_stride": 3, "overlapping_blocks": True},
    {"n_frames": 3, "limit_n_frames": 7},
]


def blocks() -> list[Any]:
    """Frames of each sample of a file of ten."""
    folder = write("blocks", numbered(10))
    return [
        [arguments, [np.asarray(batch)[0, 0, 0].astype(int).tolist() for batch in loader]]
        for arguments in BLOCKS
        for loader in [load(folder, shuffle=False, batch_size=1, **arguments)]
    ]


def sorting() -> list[Any]:
    """Names of files, in the order in which they come."""
    found: list[Any] = []
    for names in (
        ["f_1", "f_2", "f_10", "f_9"],
        ["scan_10_7", "scan_2_8", "scan_1_9"],
        ["p2_f1", "p1_f2", "p1_f10"],
        ["007", "8", "06"],
    ):
        folder = FOLDER / f"sorting{len(found)}"
        folder.mkdir()
        for name in names:
            with h5py.File(folder / f"{name}.hdf5", "w") as file:
                file["data/image"] = numbered(1)
        loader = load(folder, shuffle=False, batch_size=None, return_filename=True)
        found.append([names, [told["filename"] for _, told in loader]])
    return found


VALUES: dict[str, tuple[str, dict[str, Any]]] = {
    "resize": ("gray", {"image_size": (3, 4)}),
    "enlarge": ("gray", {"image_size": (8, 9)}),
    "center_crop": ("gray", {"image_size": (3, 4), "resize_type": "center_crop"}),
    "crop_or_pad": ("gray", {"image_size": (7, 4), "resize_type": "crop_or_pad"}),
    "colour": ("colour", {"image_size": (4, 2)}),
    "colour_axes": ("colour", {"image_size": (4, 2), "resize_axes": (0, 1)}),
    "other_axis": (
        "volume",
        {"initial_frame_axis": 1, "n_frames": 5, "insert_frame_axis": False},
    ),
    "joined": ("volume", {"n_frames": 2, "insert_frame_axis": False}),
    "normalised": ("bytes", {"image_range": (0, 255), "normalization_range": (-1, 1)}),
    "bytes_resized": ("bytes", {"image_size": (3, 4)}),
    "further_axes": ("volume", {"additional_axes_iter": (2, 1)}),
    "clipped": ("gray", {"image_range": (0.25, 0.75), "clip_image_range": True}),
}


def values() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    sources = {
        "gray": rng.random((4, 5, 6)).astype("f4"),
        "colour": rng.random((2, 5, 6, 3)).astype("f4"),
        "volume": rng.random((2, 5, 3, 4)).astype("f4"),
        "bytes": rng.integers(0, 256, (4, 5, 6)).astype("u1"),
    }
    folders = {name: write(name, array) for name, array in sources.items()}
    given = {
        name: np.concatenate(
            [np.asarray(batch) for batch in load(folders[source], shuffle=False, **arguments)]
        )
        for name, (source, arguments) in VALUES.items()
    }
    return {**{f"source_{name}": array for name, array in sources.items()}, **given}


def main() -> None:
    """Write both files."""
    os.environ["ZEA_DISABLE_CACHE"] = "1"
    os.environ["ZEA_FIND_H5_SHAPES_PARALLEL"] = "0"
    order = {
        "orders": orders(),
        "shards": shards(),
        "one_order_and_shuffles": one_order_and_shuffles(),
        "new_orders_and_shuffles": new_orders_and_shuffles(),
        "no_permutation": no_permutation(),
        "blocks": blocks(),
        "sorting": sorting(),
        "arguments": {name: list(case) for name, case in VALUES.items()},
    }
    (HERE / "order.json").write_text(json.dumps(order), encoding="utf-8")
    np.savez_compressed(HERE / "values.npz", **values())


if __name__ == "__main__":
    main()
