"""A program whose datasets a strategy distributes over devices, iterated in every way.

Its argument is the number of devices; 0 is without a strategy.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import tensorflow as tf

from detloader import name

EPOCHS = 2

strategy: Any = None


def use_devices(count: int) -> None:
    """Distribute over this many devices from here on."""
    global strategy  # noqa: PLW0603 - a program has one
    if not count:
        return
    (cpu,) = tf.config.list_physical_devices("CPU")
    device = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(cpu, [device] * count)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(count)])


def distributed(dataset: Any) -> Any:
    return dataset if strategy is None else strategy.experimental_distribute_dataset(dataset)


def from_function(dataset: Any) -> Any:
    if strategy is None:
        return dataset
    replicas = strategy.num_replicas_in_sync
    return strategy.distribute_datasets_from_function(
        lambda _: name(dataset.unbatch().batch(4 // replicas), "from-a-function")
    )


def total(batch: Any) -> Any:
    """Return the sum of a batch's numbers, over all replicas."""

    def of_one(part: Any) -> Any:
        leaves = tf.nest.flatten(part, expand_composites=True)
        numbers = [tf.cast(leaf, tf.int64) for leaf in leaves if leaf.dtype != tf.string]
        return sum(map(tf.reduce_sum, numbers))

    if strategy is None:
        return of_one(batch)
    return strategy.reduce("SUM", strategy.run(of_one, args=(batch,)), axis=None)


step = tf.function(total)


def in_python(data: Any) -> Any:
    return [int(step(batch)) for batch in data]


def by_iterator(data: Any) -> Any:
    take = tf.function(lambda iterator: total(next(iterator)))
    iterator, totals = iter(data), []
    while True:
        try:
            totals.append(int(take(iterator)))
        except tf.errors.OutOfRangeError:
            return totals


@tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
def _loop(data: Any) -> Any:
    result = tf.constant(0, tf.int64)
    for batch in data:
        result = 3 * result + total(batch)
    return result


@tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
def _optionals(iterator: Any) -> Any:
    result = tf.constant(0, tf.int64)
    given = iterator.get_next_as_optional()
    while given.has_value():
        result = 3 * result + total(given.get_value())
        given = iterator.get_next_as_optional()
    return result


@tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
def _until(data: Any) -> Any:
    result = tf.constant(0, tf.int64)
    for batch in data:
        result = 3 * result + total(batch)
        if result < 0:
            break
    return result


def by_loop_over_iterator(data: Any) -> Any:
    return int(_loop(iter(data)))


def by_argument(data: Any) -> Any:
    return int(_loop(data))


def until(data: Any) -> Any:
    return int(_until(iter(data)))


def by_optionals(data: Any) -> Any:
    return int(_optionals(iter(data)))


def by_eager_optionals(data: Any) -> Any:
    iterator, totals = iter(data), []
    while (given := iterator.get_next_as_optional()).has_value():
        totals.append(int(total(given.get_value())))
    return totals


_closures: dict[int, Any] = {}


def by_closure(data: Any) -> Any:
    if id(data) not in _closures:
        _closures[id(data)] = tf.function(lambda: _loop.python_function(data))
    return int(_closures[id(data)]())


def by_signature(data: Any) -> Any:
    take = tf.function(total, input_signature=[data.element_spec])
    return [int(take(batch)) for batch in data]


def numbers(count: int = 22) -> Any:
    return tf.data.Dataset.range(count).shuffle(count, seed=3).batch(4)


def structured() -> Any:
    def of_length(x: Any) -> Any:
        text = tf.strings.as_string(x)
        return {"long": tf.range(x % 4), "even": tf.sparse.from_dense([x % 2, x]), "text": text}

    dataset = tf.data.Dataset.range(22).map(of_length)
    return dataset.ragged_batch(4)


def main(devices: int) -> None:
    """Iterate in every way, and print what came of it."""
    use_devices(devices)
    tf.random.set_seed(1)
    ways = [
        in_python,
        by_iterator,
        by_loop_over_iterator,
        by_argument,
        until,
        by_optionals,
        by_eager_optionals,
        by_closure,
        by_signature,
    ]
    results: dict[str, Any] = {}
    for way in ways:
        data = distributed(name(numbers(), way.__name__))
        results[way.__name__] = [way(data) for _ in range(EPOCHS)]
    even = tf.data.Dataset.range(12).batch(4, drop_remainder=True).repeat(2)
    others = {
        "rest": distributed(name(numbers(21), "rest")),
        "structured": distributed(name(structured(), "structured")),
        "without-rest": distributed(name(even, "without-rest")),
        "from-a-function": from_function(name(numbers(), "from-a-function")),
    }
    for kind, data in others.items():
        results[kind] = [way(data) for way in (by_eager_optionals, by_iterator, by_argument)]
    results["drawn afterwards"] = float(tf.random.uniform([]))
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]))
