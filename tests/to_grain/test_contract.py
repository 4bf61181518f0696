"""The published contract of `to_grain`, clause by clause (HG-1 to HG-19)."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import detloader
from detloader import to_grain
from detloader.errors import UsageError
from tests.support import transforms
from tests.support.trees import assert_all_equal


def orders(dataset: Any, size: int, passes: int) -> list[list[int]]:
    flat = [int(record) for record in dataset]
    assert len(flat) == size * passes
    return [flat[size * number : size * (number + 1)] for number in range(passes)]


class Squares:
    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> int:
        return index * index


@pytest.mark.parametrize("source", [[0, 1, 4, 9, 16], np.arange(5) ** 2, Squares()])
def test_hg_01_any_object_with_a_length_and_integer_indexing_is_a_source(source: Any) -> None:
    assert [int(record) for record in to_grain(source)] == [0, 1, 4, 9, 16]


def test_hg_02_the_transform_runs_per_record_after_shuffle_and_repeat_and_before_batching() -> None:
    seen = []

    def note(record: int, rng: np.random.Generator) -> float:
        seen.append(record)
        return rng.random()

    batches = list(
        to_grain(range(3), seed=0, shuffle=True, transform=note, batch_size=4, num_epochs=2)
    )

    assert [len(batch) for batch in batches] == [4, 2]
    assert seen == [int(r) for r in to_grain(range(3), seed=0, shuffle=True, num_epochs=2)]
    assert len(set(np.concatenate(batches).tolist())) == 6


@pytest.mark.parametrize(
    ("arguments", "shapes"),
    [
        ({"num_epochs": 2}, [(4, 8)] * 5),
        ({"num_epochs": 1}, [(4, 8), (4, 8), (2, 8)]),
        ({"num_epochs": 1, "drop_remainder": True}, [(4, 8), (4, 8)]),
    ],
)
def test_hg_03_the_page_s_example_has_the_page_s_shapes(
    arguments: dict[str, Any], shapes: list[tuple[int, ...]]
) -> None:
    records = [
        {"x": np.full((8,), index, dtype=np.float32), "y": np.int32(index % 2)}
        for index in range(10)
    ]

    def add_noise(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        return {"x": record["x"] + rng.normal(size=8).astype(np.float32), "y": record["y"]}

    dataset = detloader.to_grain(
        records, seed=0, shuffle=True, transform=add_noise, batch_size=4, **arguments
    )

    assert [batch["x"].shape for batch in dataset] == shapes
    assert {batch["x"].dtype for batch in dataset} == {np.dtype(np.float32)}
    assert {batch["y"].dtype for batch in dataset} == {np.dtype(np.int32)}


def test_hg_04_batches_run_across_epoch_borders() -> None:
    batches = [batch.tolist() for batch in to_grain([0, 1, 2], batch_size=2, num_epochs=2)]

    assert batches == [[0, 1], [2, 0], [1, 2]]


def test_hg_05_each_pass_is_a_new_permutation_with_new_draws() -> None:
    passes = orders(to_grain(range(50), seed=7, shuffle=True, num_epochs=3), 50, 3)
    drawn = list(to_grain(range(50), seed=7, transform=transforms.draw_one, num_epochs=3))

    assert [sorted(order) for order in passes] == [list(range(50))] * 3
    assert len({tuple(order) for order in passes}) == 3
    assert len(set(drawn)) == 150


def test_hg_06_without_shuffle_each_pass_has_the_order_of_the_source() -> None:
    assert orders(to_grain(range(4), num_epochs=2, seed=9), 4, 2) == [[0, 1, 2, 3]] * 2


@pytest.mark.parametrize("arguments", [{"shuffle": True}, {"transform": transforms.draw_one}])
def test_hg_07_shuffle_and_transform_need_a_seed(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="needs a seed"):
        to_grain([1], **arguments)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, 2.0, True, "0"])
def test_hg_07_a_seed_is_checked_even_where_it_is_not_used(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed"):
        to_grain([1], seed=seed)


@pytest.mark.parametrize("seed", [0, 2**32 - 1, np.int64(3), np.uint32(2**32 - 1)])
def test_hg_07_any_integer_in_range_is_a_seed(seed: Any) -> None:
    assert len(list(to_grain([1, 2], seed=seed, shuffle=True))) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *itertools.product(["batch_size", "num_epochs", "worker_buffer_size"], [0, -1, 2.0, True]),
        *itertools.product(["workers"], [-1, 1.0, True, None]),
        ("worker_buffer_size", None),
    ],
)
def test_hg_08_counts_out_of_range_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be an integer") as caught:
        to_grain([1], **{name: value})
    assert "\n" not in str(caught.value)


def test_hg_08_arguments_are_checked_in_the_published_order() -> None:
    wrong: dict[str, Any] = {
        "seed": -1,
        "batch_size": 0,
        "num_epochs": 0,
        "workers": -1,
        "worker_buffer_size": 0,
    }
    while wrong:
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))} must be"):
            to_grain([1], **wrong)
        del wrong[next(iter(wrong))]


def test_hg_09_nothing_heavy_is_imported_before_a_stream_is_made() -> None:
    program = (
        "import sys; from detloader import to_grain\n"
        "try: to_grain([1], workers=-1)\n"
        "except ValueError: print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()

    assert not {"grain", "tensorflow", "torch", "keras", "jax", "pyarrow"} & set(loaded)


def test_hg_10_no_number_of_epochs_repeats_without_end() -> None:
    endless = to_grain([0, 1, 2], num_epochs=None)

    assert list(itertools.islice(endless, 7)) == [0, 1, 2, 0, 1, 2, 0]
    batches = itertools.islice(to_grain([0, 1, 2], num_epochs=None, batch_size=2), 3)
    assert [batch.tolist() for batch in batches] == [[0, 1], [2, 0], [1, 2]]


def test_hg_11_each_iteration_replays_the_same_elements() -> None:
    dataset = to_grain(
        range(20), seed=9, shuffle=True, transform=transforms.every_structure, batch_size=3
    )

    assert_all_equal(iter(dataset), list(dataset))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_hg_12_order_and_draws_do_not_depend_on_the_workers(workers: int) -> None:
    arguments: dict[str, Any] = {
        "seed": 3,
        "shuffle": True,
        "transform": transforms.every_structure,
        "batch_size": 4,
        "num_epochs": 2,
    }

    alone = to_grain(range(11), **arguments)

    assert_all_equal(to_grain(range(11), workers=workers, **arguments), alone)


def test_hg_13_workers_are_other_processes_and_deliver_in_turn() -> None:
    batches = list(
        to_grain(range(8), seed=0, transform=transforms.process_id, batch_size=2, workers=2)
    )

    pids = [set(batch["pid"].tolist()) for batch in batches]
    assert [batch["id"].tolist() for batch in batches] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert pids[0] == pids[2] != pids[1] == pids[3]
    assert os.getpid() not in pids[0] | pids[1]


def test_hg_14_draws_follow_seed_and_position_by_the_published_formula() -> None:
    drawn = list(
        to_grain([0, 0], seed=3, shuffle=True, transform=transforms.draw_one, num_epochs=2)
    )

    key = np.random.SeedSequence(3).generate_state(2, np.uint64)
    expected = [
        np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, position])).random()
        for position in range(4)
    ]
    assert drawn == expected
    assert [round(value, 5) for value in drawn[:3]] == [0.04529, 0.77551, 0.64769]


@pytest.mark.parametrize(
    ("size", "seed", "order"),
    [
        (10, 0, [0, 4, 6, 7, 8, 3, 1, 9, 5, 2]),
        (11, 0, [0, 4, 10, 7, 8, 3, 1, 9, 5, 2, 6]),
    ],
)
def test_hg_15_orders_are_the_published_ones(size: int, seed: int, order: list[int]) -> None:
    assert list(to_grain(range(size), seed=seed, shuffle=True)) == order


def test_hg_15_the_seed_of_a_pass_wraps_around_at_32_bits() -> None:
    late = orders(to_grain(range(20), seed=2**32 - 1, shuffle=True, num_epochs=2), 20, 2)

    assert late[1] == list(to_grain(range(20), seed=0, shuffle=True))


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([np.int32(1), np.int32(2)], np.array([1, 2], np.int32)),
        ([1, 2], np.array([1, 2], np.int64)),
        ([1.5, 2.5], np.array([1.5, 2.5])),
        (["a", "bcd"], np.array(["a", "bcd"])),
        ([b"a", b"bcd"], np.array([b"a", b"bcd"])),
        ([True, False], np.array([True, False])),
        ([(1, [2.0]), (3, [4.0])], (np.array([1, 3]), [np.array([2.0, 4.0])])),
        (
            [OrderedDict(b=1, a=2), OrderedDict(b=3, a=4)],
            OrderedDict(b=np.array([1, 3]), a=np.array([2, 4])),
        ),
    ],
)
def test_hg_16_batches_are_stacked_leaf_by_leaf(records: list[Any], expected: Any) -> None:
    (batch,) = to_grain(records, batch_size=2)

    assert type(batch) is type(expected)
    assert_all_equal([batch], [expected])


@pytest.mark.parametrize(
    "records",
    [
        [np.zeros(2), np.zeros(3)],
        [{"x": 1}, {"x": 1, "y": 2}],
        [{"x": 1}, {"y": 1}],
        [(1, 2), (1, 2, 3)],
        [(1, 2), 1],
        [{"x": 1}, [1]],
        [1, np.zeros(2)],
    ],
)
def test_hg_16_samples_of_different_structure_make_no_batch(records: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"records \[0, 1\] do not fit into one batch") as caught:
        next(iter(to_grain(records, batch_size=2)))
    assert "\n" not in str(caught.value)


def test_hg_17_arguments_without_a_use_are_ignored() -> None:
    assert list(to_grain([1, 2, 3], drop_remainder=True)) == [1, 2, 3]
    assert list(to_grain([1, 2, 3], worker_buffer_size=9)) == [1, 2, 3]


@pytest.mark.parametrize("num_epochs", [1, 5, None])
@pytest.mark.parametrize("batch_size", [None, 4])
def test_hg_18_an_empty_source_is_an_empty_stream(
    num_epochs: int | None, batch_size: int | None
) -> None:
    empty = to_grain([], seed=0, shuffle=True, num_epochs=num_epochs, batch_size=batch_size)

    assert list(empty) == []


def test_hg_19_an_endless_stream_drifts_against_whole_batches_of_an_epoch() -> None:
    stream = iter(to_grain(range(10), num_epochs=None, batch_size=4))
    steps_per_epoch = 10 // 4

    keras_epochs = [
        np.concatenate([next(stream) for _ in range(steps_per_epoch)]).tolist() for _ in range(2)
    ]

    assert keras_epochs == [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 0, 1, 2, 3, 4, 5]]
