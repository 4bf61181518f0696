"""`to_grain` against the chain of Grain's own nodes, bit for bit."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import grain
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import to_grain
from tests.support import transforms
from tests.support.trees import assert_all_equal

RECORDS: dict[str, Any] = {
    "arrays": lambda i: np.arange(i, i + 3, dtype=np.float32),
    "images": lambda i: np.full((2, 3), i, np.uint8),
    "dicts": lambda i: {"x": np.full(8, i, np.float32), "y": np.int32(i)},
    "tuples": lambda i: (i, float(i)),
    "lists": lambda i: [i, np.int16(i)],
    "named tuples": lambda i: transforms.Pair(np.full(2, i), i),
    "ordered dicts": lambda i: OrderedDict(z=i, a=str(i)),
    "nested": lambda i: {"a": [{"b": (i, np.ones((1, 2)))}], "c": {"d": b"x" * i}},
    "integers": lambda i: i,
    "texts": lambda i: "x" * (i % 5),
    "bytes": lambda i: b"x" * (i % 5),
    "booleans": lambda i: bool(i % 2),
    "complex numbers": lambda i: complex(i, 1),
    "dates": lambda i: np.datetime64("2020-01-01") + np.timedelta64(i, "D"),
    "mixed dtypes": lambda i: np.zeros(2, [np.int8, np.int32, np.float16][i % 3]),
    "mixed numbers": lambda i: [i, float(i), bool(i % 2)][i % 3],
    "large integers": lambda i: 2**63 - 3 + i,
    "no dimensions": np.array,
    "no elements": lambda i: np.zeros((0, 2)),
    "structured": lambda i: np.array([(i, 0.5)], [("a", "i4"), ("b", "f8")]),
}


def stock(
    source: Any,
    seed: int,
    epochs: int | None,
    batch: int | None = None,
    *,
    drop: bool = False,
    transform: Any = None,
) -> grain.IterDataset[Any]:
    chain = grain.MapDataset.source(source).shuffle(seed=seed).repeat(epochs)
    if transform is not None:
        chain = chain.random_map(transform, seed=seed)
    if batch is not None:
        chain = chain.batch(batch, drop_remainder=drop)
    return chain.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize("batch_size", [None, 3])
def test_records_of_every_kind_come_as_from_the_stock_chain(
    kind: str, batch_size: int | None
) -> None:
    records = [RECORDS[kind](i) for i in range(9)]

    ours = to_grain(records, seed=5, shuffle=True, batch_size=batch_size, num_epochs=2)

    assert_all_equal(ours, stock(records, 5, 2, batch_size))


@given(
    size=st.integers(1, 70),
    seed=st.integers(0, 2**32 - 1),
    epochs=st.integers(1, 3),
    batch=st.integers(1, 40),
    drop=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_order_draws_and_batches_are_those_of_the_stock_chain(
    size: int, seed: int, epochs: int, batch: int, drop: bool
) -> None:
    transform = transforms.every_structure
    source = list(range(size))

    ours = to_grain(
        source,
        seed=seed,
        shuffle=True,
        transform=transform,
        batch_size=batch,
        drop_remainder=drop,
        num_epochs=epochs,
    )

    assert_all_equal(ours, stock(source, seed, epochs, batch, drop=drop, transform=transform))


@given(size=st.integers(1, 40), seed=st.integers(0, 2**32 - 1), epochs=st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_unbatched_streams_are_those_of_the_stock_chain(size: int, seed: int, epochs: int) -> None:
    transform = transforms.every_structure
    source = list(range(size))

    ours = to_grain(source, seed=seed, shuffle=True, transform=transform, num_epochs=epochs)

    assert_all_equal(ours, stock(source, seed, epochs, transform=transform))


def test_the_states_are_those_of_the_stock_chain() -> None:
    ours = iter(to_grain(range(10), seed=1, shuffle=True, batch_size=3))
    theirs = iter(stock(range(10), 1, 1, 3))

    for _ in range(4):
        assert ours.get_state() == theirs.get_state()
        assert next(ours).tolist() == next(theirs).tolist()


@pytest.mark.parametrize("size", [65_537, 262_145])
def test_every_record_comes_once_where_the_stock_chain_loses_one(size: int) -> None:
    order = np.concatenate(list(to_grain(range(size), seed=2, shuffle=True, batch_size=4096)))

    assert np.array_equal(np.sort(order), np.arange(size))


def test_compatibility_gives_the_stock_chain_s_order_where_it_loses_a_record() -> None:
    size = 65_537
    ours = to_grain(range(size), seed=2, shuffle=True, batch_size=4096, compatibility="published")

    order = np.concatenate(list(ours))

    theirs = grain.MapDataset.range(size).shuffle(seed=2)
    places = np.random.default_rng(0).integers(0, size, 3000)
    assert order[places].tolist() == [theirs[int(place)] for place in places]
    assert size - 1 not in order
    assert len(np.unique(order)) == size - 1
