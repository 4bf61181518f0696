"""The order of samples: that of zea 0.1.0, wherever that is a permutation."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import grain
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.hdf5.arguments import Compatibility, Remainder
from detloader.hdf5.order.epochs import Epochs, Pass, epoch_seed
from detloader.hdf5.order.sample_order import SampleOrder, Shard
from tests.support.hdf5_files import first_values, load, numbered, write, write_file

PUBLISHED = json.loads((Path(__file__).parent / "published" / "order.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("orders"), 7, 7, 7)


def dataset_of(loader: Any) -> list[int]:
    return first_values(loader.dataset[i] for i in range(len(loader.dataset)))


def rows_of(order: SampleOrder, passes: int = 1) -> list[int]:
    return [int(row) for row in order.span(0, order.rows_of_pass * passes).rows]


def sample_order(
    size: int,
    seed: int | None,
    index: int = 0,
    count: int = 1,
    *,
    remainder: Remainder = "keep",
    compatibility: Compatibility = None,
) -> SampleOrder:
    shard = Shard(index=index, count=count, remainder=remainder)
    return SampleOrder(size=size, seed=seed, shard=shard, compatibility=compatibility)


# What zea 0.1.0 gave


@pytest.mark.parametrize("compatibility", [None, "zea-0.1"])
@pytest.mark.parametrize("case", PUBLISHED["orders"])
def test_epochs_have_the_published_orders(folder: Path, case: str, compatibility: Any) -> None:
    seed, repetitions = (None if word == "None" else int(word) for word in case.split(","))
    loader = load(folder, seed=seed, dataset_repetitions=repetitions, compatibility=compatibility)

    assert dataset_of(loader) == PUBLISHED["orders"][case]["dataset"]
    assert [first_values(loader) for _ in range(3)] == PUBLISHED["orders"][case]["epochs"]


@pytest.mark.parametrize("compatibility", [None, "zea-0.1"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_shards_have_the_published_orders(folder: Path, count: int, compatibility: Any) -> None:
    for index, wanted in enumerate(PUBLISHED["shards"][str(count)]):
        loader = load(
            folder,
            seed=3,
            num_shards=count,
            shard_index=index,
            dataset_repetitions=2,
            compatibility=compatibility,
        )

        assert [first_values(loader) for _ in range(2)] == wanted


def test_one_order_for_all_epochs_is_the_published_one_until_it_is_shuffled_with_0(
    folder: Path,
) -> None:
    for compatibility, told in ((None, slice(6)), ("zea-0.1", slice(7))):
        loader = load(folder, seed=5, reshuffle_each_epoch=False, compatibility=compatibility)
        found = [first_values(loader), first_values(loader)]
        loader.shuffle(9)
        found += [first_values(loader), first_values(loader)]
        for seed in (None, None, 0):
            loader.shuffle(seed)
            found.append(first_values(loader))

        assert found[told] == PUBLISHED["one_order_and_shuffles"][told]


def test_compatibility_counts_unused_iterators_and_loses_shuffles_as_published(
    folder: Path,
) -> None:
    loader = load(folder, seed=5, compatibility="zea-0.1")
    iter(loader)
    found = [first_values(loader)]
    for seed in (9, 0):
        loader.shuffle(seed)
        found += [first_values(loader.to_iter_dataset()), first_values(loader)]

    assert found == PUBLISHED["new_orders_and_shuffles"]


def test_at_65537_samples_compatibility_alone_loses_the_published_one(tmp_path: Path) -> None:
    orders = {
        compatibility: rows_of(sample_order(65_537, 0, compatibility=compatibility))
        for compatibility in (None, "zea-0.1")
    }
    published = PUBLISHED["no_permutation"]

    packed = np.array(orders["zea-0.1"], "<i8").tobytes()
    assert hashlib.sha256(packed).hexdigest() == published["sha256"]
    assert sorted(set(range(65_537)) - set(orders["zea-0.1"])) == published["missing"]
    assert sorted(orders[None]) == list(range(65_537))


# The equations


def test_the_seed_of_an_epoch_is_a_draw_of_the_generator_that_the_seed_makes() -> None:
    for seed in (0, 1, 2**40):
        rng = np.random.default_rng(seed)
        drawn = [int(rng.integers(0, 2**31)) for _ in range(50)]

        assert [epoch_seed(seed, number) for number in range(50)] == drawn


@given(st.integers(0, 2**70), st.integers(0, 3000))
def test_the_seed_of_any_epoch_is_what_drawing_all_before_it_comes_to(
    seed: int, number: int
) -> None:
    drawn = np.random.default_rng(seed).integers(0, 2**31, number + 1)

    assert epoch_seed(seed, number) == drawn[-1]


def test_the_seed_of_a_late_epoch_is_known() -> None:
    # The hundred-millionth draw, and one that nobody could draw.
    assert epoch_seed(5, 10**8) == 265638225
    assert epoch_seed(5, 2**64 + 1) == epoch_seed(5, 2**64 + 1)


@settings(max_examples=25)
@given(
    size=st.integers(1, 300),
    seed=st.integers(0, 2**40),
    passes=st.integers(1, 3),
    count=st.integers(1, 5),
    data=st.data(),
)
def test_the_order_is_that_of_grain(
    size: int, seed: int, passes: int, count: int, data: st.DataObject
) -> None:
    count = min(count, size)
    index = data.draw(st.integers(0, count - 1))
    stock = grain.MapDataset.range(size).seed(seed).shuffle()
    if count > 1:
        stock = stock[index::count]
    stock = stock.repeat(passes)

    order = sample_order(size, seed, index, count)

    assert rows_of(order, passes) == [int(stock[i]) for i in range(len(stock))]


@settings(max_examples=25)
@given(size=st.integers(1, 60), count=st.integers(1, 12), passes=st.integers(1, 3))
def test_shards_together_hold_each_sample_once_a_pass(size: int, count: int, passes: int) -> None:
    count = min(count, size)
    spans = [
        order.span(0, order.rows_of_pass * passes)
        for order in (sample_order(size, 7, index, count) for index in range(count))
    ]

    for number in range(passes):
        rows = [row for span in spans for row in span.rows[span.passes == number].tolist()]
        assert sorted(rows) == list(range(size))
    positions = [p for span in spans for p in span.positions.tolist()]
    assert sorted(positions) == list(range(size * passes))


@settings(max_examples=25)
@given(size=st.integers(1, 60), count=st.integers(1, 12), passes=st.integers(1, 3))
def test_padded_shards_are_equal_and_lose_nothing(size: int, count: int, passes: int) -> None:
    orders = [sample_order(size, 7, index, count, remainder="pad") for index in range(count)]
    spans = [order.span(0, order.rows_of_pass * passes) for order in orders]

    assert {len(span.rows) for span in spans} == {-(-size // count) * passes}
    positions = [p for span in spans for p in span.positions.tolist()]
    assert len(set(positions)) == len(positions)
    for number in range(passes):
        own = [row for s in spans for row in s.rows[(s.passes == number) & ~s.padding].tolist()]
        assert sorted(own) == list(range(size))


@settings(max_examples=25)
@given(size=st.integers(1, 60), count=st.integers(1, 12))
def test_shards_that_drop_the_remainder_are_equal_and_repeat_nothing(size: int, count: int) -> None:
    orders = [sample_order(size, 7, index, count, remainder="drop") for index in range(count)]
    spans = [order.span(0, order.rows_of_pass) for order in orders]

    assert {len(span.rows) for span in spans} == {size // count}
    rows = [row for span in spans for row in span.rows.tolist()]
    assert len(set(rows)) == len(rows)
    kept = [row for index in range(count) for row in rows_of(sample_order(size, 7, index, count))]
    assert set(rows) <= set(kept)


@settings(max_examples=25)
@given(start=st.integers(0, 100), length=st.integers(0, 60), seed=st.none() | st.integers(0, 9))
def test_any_stretch_of_the_order_is_a_part_of_the_whole(
    start: int, length: int, seed: int | None
) -> None:
    order = sample_order(20, seed, 1, 3, remainder="pad")
    whole = order.span(0, 160)

    for found, all_of_it in zip(order.span(start, start + length), whole, strict=True):
        np.testing.assert_array_equal(found, all_of_it[start : start + length])


# Epochs


@given(seed=st.integers(0, 2**33), epoch=st.integers(0, 40))
def test_an_epoch_is_a_function_of_seed_and_number(seed: int, epoch: int) -> None:
    counted = Epochs(seed, reshuffle=True, compatibility=None)
    for _ in range(epoch):
        counted.begin()
    chosen = Epochs(seed, reshuffle=True, compatibility=None)
    chosen.set_next(epoch)

    assert counted.begin() == chosen.begin() == Pass(epoch, epoch_seed(seed, epoch))


def test_set_epoch_goes_to_an_epoch(folder: Path) -> None:
    loader = load(folder)
    epochs = [first_values(loader) for _ in range(3)]

    loader.set_epoch(1)

    assert first_values(loader.to_iter_dataset()) == epochs[1]
    assert [first_values(loader), first_values(loader)] == epochs[1:]


def test_without_shuffle_samples_come_in_the_order_of_files_and_frames(tmp_path: Path) -> None:
    for name in ("f_10", "f_9", "f_1"):
        write_file(tmp_path / f"{name}.hdf5", numbered(2, 100 * int(name[2:])))

    loader = load(tmp_path, shuffle=False, dataset_repetitions=2)

    once = [100, 101, 900, 901, 1000, 1001]
    assert first_values(loader) == first_values(loader) == once * 2
    loader.shuffle(3)
    assert first_values(loader) == once * 2


def test_batches_run_across_the_border_of_two_passes(folder: Path) -> None:
    loader = load(folder, batch_size=16, dataset_repetitions=2)

    assert [len(batch) for batch in loader] == [16, 16, 10]
    assert len(loader) == 3
    assert [len(b) for b in load(folder, batch_size=16, drop_remainder=True)] == [16]
