"""A program that trains with Keras under a strategy, on what `fit` takes of each kind.

Its argument is the number of devices; 0 is without a strategy.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from detloader import name
from tests.support import distributed

X = np.arange(69, dtype=np.float32).reshape(23, 3) / 69
Y = np.arange(23, dtype=np.float32).reshape(23, 1) / 23


def batches() -> Any:
    # Under a strategy Keras builds a model with a batch, so that shuffles are one further.
    shuffled = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(
        23, seed=1, reshuffle_each_iteration=False
    )
    return shuffled.batch(4)


def model(layers: Any, **options: Any) -> Any:
    keras.utils.set_random_seed(1)
    with distributed.strategy.scope() if distributed.strategy else contextlib.nullcontext():
        built = keras.Sequential([*layers, keras.layers.Dense(1)])
        built.compile(optimizer="sgd", loss="mse", **options)
    return built


def main(devices: int) -> None:
    """Train in several ways, and print what came of it."""
    distributed.use_devices(devices)
    given = distributed.distributed(name(batches(), "given"))
    built = [keras.Input((3,))]
    options: Any = {"epochs": 2, "verbose": 0}
    losses = [
        model(built).fit(batches(), **options),
        model([]).fit(batches(), validation_data=(X[:10], Y[:10]), **options),
        model(built, run_eagerly=True).fit(X, Y, batch_size=4, **options),
        model(built).fit(given, steps_per_epoch=6, **options),
    ]
    trained = model(built)
    evaluated = [
        trained.evaluate(batches(), verbose=0),
        trained.evaluate(given, steps=6, verbose=0),
        float(trained.predict(X, verbose=0).sum()),
    ]
    drawn = float(tf.random.uniform([])), np.random.rand()  # noqa: NPY002 - the global one is meant
    json.dump([[each.history for each in losses], evaluated, drawn], sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]))
