"""The examples of the published page, with another import."""

from __future__ import annotations

import subprocess
import sys

# The examples of the published page with the package's name replaced, as a user would.
PUBLISHED = """
import numpy as np
import tensorflow as tf
from functools import partial
from detloader.data import to_grain
from detloader.utils import create_interleaved_dataset_from_generator, random_id_generator

records = [
    {"x": np.full((8,), index, dtype=np.float32), "y": np.int32(index % 2)} for index in range(10)
]
add_noise = lambda record, rng: {
    "x": record["x"] + rng.normal(size=8).astype(np.float32), "y": record["y"]
}
dataset = to_grain(
    records, seed=0, shuffle=True, transform=add_noise, batch_size=4, num_epochs=2
)
print([batch["x"].shape for batch in dataset])

records = {index: np.full((8, 1), index, dtype=np.float32) for index in range(3)}
def read_records(record_ids):
    for record_id in record_ids:
        yield records[record_id]
spec = tf.TensorSpec(shape=(8, 1), dtype=tf.float32)
dataset = create_interleaved_dataset_from_generator(
    data_generator=read_records, id_generator=iter, ids=list(records), spec=spec,
    stream_mode="global",
)
print([batch.shape for batch in dataset.batch(2).as_numpy_iterator()])
partitioned = create_interleaved_dataset_from_generator(
    read_records, iter, list(records), spec,
    stream_mode="finite", num_workers=2, deterministic=True,
)
print(len(list(partitioned)))
weighted = create_interleaved_dataset_from_generator(
    read_records, partial(random_id_generator, weights=[1, 1, 2]), list(records), spec,
    stream_mode="global",
)
preview = list(weighted.take(6).as_numpy_iterator())
print(len(preview), preview[0].shape)
"""


def test_published_imports_give_published_shapes() -> None:
    result = subprocess.run(
        [sys.executable, "-c", PUBLISHED], capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "[(4, 8), (4, 8), (4, 8), (4, 8), (4, 8)]",
        "[(2, 8, 1), (1, 8, 1)]",
        "3",
        "6 (8, 1)",
    ]
