"""What a TensorFlow dataset says of its order: shuffles, their seeds, and who may give it up."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import audit, check, open_run, record
from detloader.findings import Severity, Verdict
from detloader.manifest.schema import Declared

Dataset = tf.data.Dataset
Make = Callable[[], tf.data.Dataset]

UNKNOWN = msgspec.UNSET

LARGE = Dataset.from_tensor_slices(np.zeros((6, 1000, 1000), np.int8))


@pytest.fixture(autouse=True)
def without_a_global_seed() -> Iterator[None]:
    """Take away the seed that other tests gave to TensorFlow as a whole."""
    tf.random.set_seed(None)
    yield
    tf.random.set_seed(None)


def recorded(dataset: tf.data.Dataset, run: Path, epochs: int = 1) -> Declared:
    with record(dataset, run) as twin:
        for _ in range(epochs):
            for _ in twin:
                pass
    return open_run(run).streams["main"].declared


def rows(first: int = 0, last: int = 200) -> tf.data.Dataset:
    return Dataset.range(first, last)


def files(folder: Path, count: int) -> str:
    folder.mkdir()
    for number in range(count):
        lines = (f"{number}-{line}\n" for line in range(240 // count))
        (folder / f"{number}.txt").write_text("".join(lines))
    return f"{folder}/*.txt"


def parts(cycle: int, block: int = 1) -> tf.data.Dataset:
    return Dataset.range(8).interleave(
        lambda part: Dataset.range(part * 25, part * 25 + 25), cycle, block
    )


def halves() -> list[tf.data.Dataset]:
    return [rows(0, 100), rows(100)]


def chosen(seed: int) -> tf.data.Dataset:
    turns = np.random.default_rng(seed).permutation([0] * 100 + [1] * 100)
    return Dataset.choose_from_datasets(halves(), Dataset.from_tensor_slices(turns))


def shuffled_by(dataset: tf.data.Dataset, seed: int) -> tf.data.Dataset:
    return dataset.shuffle(9, seed=seed)


def shuffled_part(part: Any, buffer: int = 25, seed: Any = 3) -> tf.data.Dataset:
    return Dataset.range(part * 25, part * 25 + 25).shuffle(buffer, seed=seed)


def within(buffer: int, seed: Any) -> tf.data.Dataset:
    return Dataset.range(8).flat_map(lambda part: shuffled_part(part, buffer, seed))


def deep_within(seed: int) -> tf.data.Dataset:
    return Dataset.range(2).map(lambda _: within(9, seed)).flat_map(lambda dataset: dataset)


def taken(seed: int) -> tf.data.Dataset:
    kept = rows(0, 50).shuffle(50, seed=seed)
    return Dataset.range(4).interleave(lambda part: kept.shard(4, part))


def at_once(seed: Any) -> tf.data.Dataset:
    return rows().batch(50).map(lambda batch: tf.random.shuffle(batch, seed=seed)).unbatch()


def sampled(*weights: float) -> tf.data.Dataset:
    return Dataset.sample_from_datasets(halves(), weights, seed=3)


def chosen_by(turns: tf.data.Dataset) -> tf.data.Dataset:
    return Dataset.choose_from_datasets(halves(), turns)


def turns() -> tf.data.Dataset:
    return Dataset.range(2).repeat(100)


def lengths(size: int) -> tf.data.Dataset:
    buckets = rows().bucket_by_sequence_length(
        lambda row: tf.cast(row % 9, tf.int32), [3, 6], [size] * 3
    )
    return buckets.unbatch()


# shuffle, seed
ORDERS: dict[str, tuple[Make, Any, Any]] = {
    "chain": (lambda: rows().shuffle(9, seed=3).batch(4), True, 3),
    "zero": (lambda: rows().shuffle(9, seed=0), True, 0),
    "unseeded": (lambda: rows().shuffle(9), True, None),
    "one of two unseeded": (lambda: rows().shuffle(9).map(abs).shuffle(9, seed=3), True, None),
    "a buffer of one": (lambda: rows().shuffle(1), UNKNOWN, UNKNOWN),
    "one element": (lambda: rows(0, 1).shuffle(9), UNKNOWN, UNKNOWN),
    "two seeds": (lambda: rows().shuffle(9, seed=3).shuffle(9, seed=4), True, "4, 3"),
    "many seeds": (lambda: functools.reduce(shuffled_by, range(9), rows()), True, UNKNOWN),
    "zipped": (lambda: Dataset.zip((rows().shuffle(9, seed=3),) * 2), True, 3),
    "partly zipped": (lambda: Dataset.zip((rows().shuffle(9, seed=3), rows())), UNKNOWN, 3),
    "numbered": (lambda: rows().shuffle(9, seed=3).enumerate(), UNKNOWN, 3),
    "concatenated": (lambda: rows().shuffle(9, seed=3).concatenate(rows()), True, 3),
    "chosen": (
        lambda: Dataset.choose_from_datasets([rows().shuffle(9, seed=3), rows()], rows(0, 2)),
        True,
        3,
    ),
    "sampled": (lambda: Dataset.sample_from_datasets(halves(), seed=3), UNKNOWN, 3),
    "sampled unseeded": (lambda: Dataset.sample_from_datasets(halves()), UNKNOWN, None),
    "in a function": (lambda: within(9, 3), UNKNOWN, 3),
    "in a function of a function": (lambda: deep_within(3), UNKNOWN, 3),
    "in a function, unseeded": (lambda: within(9, None), UNKNOWN, None),
    "in a function, by its argument": (
        lambda: rows(0, 3).flat_map(lambda part: rows().shuffle(9, seed=part)),
        UNKNOWN,
        UNKNOWN,
    ),
    "in a function, a buffer of one": (lambda: within(1, 3), UNKNOWN, UNKNOWN),
    "in a function and in the chain": (lambda: within(9, 3).shuffle(9, seed=4), True, "4, 3"),
    "in a window": (
        lambda: rows().window(9).flat_map(lambda window: window.shuffle(9, seed=3)),
        UNKNOWN,
        3,
    ),
    "in a function, of much data": (lambda: LARGE.flat_map(lambda _: within(9, 3)), UNKNOWN, 3),
    "taken from outside": (lambda: taken(3), UNKNOWN, 3),
    "that says what is chosen": (
        lambda: chosen_by(turns().shuffle(200, seed=3)),
        UNKNOWN,
        3,
    ),
    "of a tensor": (lambda: at_once(3), UNKNOWN, 3),
    "of a tensor, beside another": (lambda: at_once(None).shuffle(9, seed=3), True, 3),
    "of parts": (lambda: rows(0, 9).shuffle(9, seed=3).flat_map(Dataset.range), True, 3),
    "of nobody knows how many parts": (
        lambda: rows(0, 9).filter(lambda row: row > 2).shuffle(9, seed=3).flat_map(Dataset.range),
        UNKNOWN,
        3,
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_a_shuffle_is_declared_of_the_whole_and_a_seed_of_whatever_draws(
    name: str, tmp_path: Path
) -> None:
    make, shuffle, seed = ORDERS[name]
    declared = recorded(make().take(20), tmp_path / "run")

    assert declared.shuffle is shuffle
    assert declared.seed == seed or declared.seed is seed


def test_a_global_seed_is_a_seed(tmp_path: Path) -> None:
    for number, run in enumerate("ab"):
        tf.random.set_seed(number)
        declared = recorded(rows().shuffle(200), tmp_path / run)
        assert isinstance(declared.seed, int)
    (finding,) = audit(tmp_path / "a", tmp_path / "b").findings

    assert (finding.rule, finding.severity) == ("seed-handling", Severity.NOTE)
    assert finding.evidence["given"] == [0, 1]


GLOBAL: dict[str, tuple[Make, list[Any]]] = {
    "beside one's own": (
        lambda: rows().shuffle(200, seed=3),
        ["global 1, 3", "global 2, 3"],
    ),
    "in a function": (lambda: within(25, None), [1, 2]),
    "in a function, beside one's own": (lambda: within(25, 3), ["global 1, 3", "global 2, 3"]),
    "in sampling": (lambda: Dataset.sample_from_datasets(halves()), [1, 2]),
    "in a function, of a tensor": (lambda: at_once(None), [1, 2]),
}


@pytest.mark.parametrize("name", GLOBAL)
def test_another_global_seed_is_named(name: str, tmp_path: Path) -> None:
    make, seeds = GLOBAL[name]
    for seed, run in ((1, "a"), (2, "b")):
        tf.random.set_seed(seed)
        recorded(make(), tmp_path / run)
    (finding,) = audit(tmp_path / "a", tmp_path / "b").findings

    assert (finding.rule, finding.evidence["kind"]) == ("seed-handling", "different")
    assert finding.evidence["given"] == seeds


def test_a_global_seed_of_zero_is_one(tmp_path: Path) -> None:
    tf.random.set_seed(0)

    assert recorded(within(25, None), tmp_path / "run").seed == 0


def test_one_global_seed_of_which_others_were_made_is_told_so(tmp_path: Path) -> None:
    for before, run in ((0, "a"), (1, "b")):
        tf.random.set_seed(7)
        for _ in range(before):
            tf.random.uniform(())
        recorded(rows().shuffle(200), tmp_path / run)
    (finding,) = audit(tmp_path / "a", tmp_path / "b").findings

    assert (finding.rule, finding.evidence["kind"]) == ("seed-handling", "derived")
    assert finding.evidence["given"] == [7, 7]


DRAWING: dict[str, Make] = {
    "shuffle": lambda: rows().shuffle(200),
    "in a function": lambda: within(25, None),
    "taken from outside": lambda: taken(3).shuffle(9),
    "chosen": lambda: chosen_by(turns().shuffle(9)),
    "sampled": lambda: Dataset.sample_from_datasets(halves()),
    "mapped": lambda: rows().map(lambda row: row + tf.random.uniform((), 0, 9, tf.int64)),
}


@pytest.mark.parametrize("name", DRAWING)
@given(seed=st.integers(0, 2**31 - 2))
@settings(max_examples=3, deadline=None)
def test_reading_a_graph_takes_no_seed(name: str, seed: int) -> None:
    def drawn(loop: Callable[[tf.data.Dataset], list[Any]]) -> list[list[Any]]:
        tf.random.set_seed(seed)
        # What the second dataset and the number get depends on what was taken before.
        return [loop(DRAWING[name]()), values(DRAWING[name]()), [tf.random.uniform(()).numpy()]]

    def loop_of_twin(dataset: tf.data.Dataset) -> list[Any]:
        with tempfile.TemporaryDirectory() as folder, record(dataset, f"{folder}/run") as twin:
            return values(twin)

    assert drawn(loop_of_twin) == drawn(values)


def values(dataset: tf.data.Dataset) -> list[Any]:
    return [element.numpy() for element in dataset]


UNSEEDED: dict[str, Make] = {
    "whole": lambda: rows().shuffle(200),
    "partly zipped": lambda: Dataset.zip((rows().shuffle(200), rows())),
    "sampled": lambda: Dataset.sample_from_datasets(halves()),
    "in a function": lambda: within(25, None),
    "of a tensor": lambda: at_once(None),
}


@pytest.mark.parametrize("name", UNSEEDED)
def test_two_runs_that_nobody_seeded_are_told_so(name: str, tmp_path: Path) -> None:
    for run in "ab":
        recorded(UNSEEDED[name](), tmp_path / run)
    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.findings[0].rule == "seed-handling"
    assert result.findings[0].evidence["kind"] == "unseeded"


def split() -> tf.data.Dataset:
    return rows().shuffle(200, seed=5, reshuffle_each_iteration=False)


SOUND: dict[str, Callable[[Path], tf.data.Dataset]] = {
    "one order is meant": lambda _: split(),
    "train": lambda _: split().take(150).batch(8),
    "validation": lambda _: split().skip(150).batch(8),
    "train, shuffled": lambda _: split().take(150).shuffle(150, seed=1),
    "parts in turn, each of them shuffled": lambda _: (
        rows(0, 8).shuffle(8, seed=1).interleave(shuffled_part, 4, 5)
    ),
    "one file": lambda f: Dataset.list_files(files(f, 1)).flat_map(tf.data.TextLineDataset),
    "two files": lambda f: Dataset.list_files(files(f, 2)).flat_map(tf.data.TextLineDataset),
    "two files in turn": lambda f: (
        Dataset.list_files(files(f, 2), seed=3).interleave(tf.data.TextLineDataset, 2).batch(8)
    ),
    "a buffer of one": lambda _: rows().shuffle(1),
    "one shuffle after the other": lambda _: (
        rows(0, 100).shuffle(100, seed=1).concatenate(rows(100).shuffle(100, seed=1))
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_epochs_of_sound_shuffles_are_clean(name: str, tmp_path: Path) -> None:
    recorded(SOUND[name](tmp_path / "files"), tmp_path / "run", epochs=3)

    assert check(tmp_path / "run").findings == []


def test_the_outer_one_of_two_shuffles_decides_whether_epochs_have_other_orders(
    tmp_path: Path,
) -> None:
    kept = recorded(split(), tmp_path / "kept").config
    again = recorded(split().shuffle(9, seed=1), tmp_path / "again").config

    assert isinstance(kept, dict)
    assert isinstance(again, dict)
    assert kept["reshuffle_each_iteration"] is False
    assert again["reshuffle_each_iteration"] is True


def test_an_order_that_a_cache_keeps_is_caught(tmp_path: Path) -> None:
    recorded(rows().shuffle(200, seed=1).cache(), tmp_path / "run", epochs=3)

    assert check(tmp_path / "run").findings[0].rule == "epoch-order-repeat"


def test_an_order_that_a_snapshot_keeps_is_caught_and_named(tmp_path: Path) -> None:
    """The snapshot numbers what it stores, and takes the numbers away again."""
    stored = str(tmp_path / "stored")
    kept = rows().shuffle(200, seed=1).snapshot(stored)
    sound = rows().snapshot(f"{stored}-before").shuffle(200, seed=1)
    declared = [recorded(each, tmp_path / run, 3) for run, each in (("a", sound), ("b", kept))]
    found = [check(tmp_path / "b"), audit(tmp_path / "a", tmp_path / "b")]

    assert [(each.shuffle, each.seed) for each in declared] == [(True, 1), (True, 1)]
    assert check(tmp_path / "a").findings == []
    for result in found:
        assert result.findings[0].rule == "epoch-order-repeat"
        assert result.findings[0].severity is Severity.FAIL


@pytest.mark.parametrize("numbered", [False, True])
def test_a_snapshot_of_the_users_own_shards_is_what_it_stores(
    numbered: bool, tmp_path: Path
) -> None:
    def shard(*_: Any) -> tf.Tensor:
        return tf.constant(0, tf.int64)

    shuffled = rows().shuffle(200, seed=1)
    shuffled = Dataset.zip((rows().map(str_of), shuffled)) if numbered else shuffled
    stored = shuffled.snapshot(str(tmp_path / "stored"), shard_func=shard)

    shuffle = UNKNOWN if numbered else True
    assert recorded(stored, tmp_path / "run").shuffle is shuffle


def str_of(number: tf.Tensor) -> tf.Tensor:
    return tf.strings.as_string(number)


def test_seeds_of_several_shuffles_that_differ_are_shown(tmp_path: Path) -> None:
    for run, seed in (("a", 2), ("b", 3)):
        pairs = rows().shuffle(200, seed=1), rows().shuffle(200, seed=seed)
        recorded(Dataset.zip(pairs), tmp_path / run)
    reason = str(audit(tmp_path / "a", tmp_path / "b").reason)

    assert "[87654321,2]" in reason
    assert "[87654321,3]" in reason


ORDERED: dict[str, tuple[Make, Make]] = {
    "cycle": (lambda: parts(2), lambda: parts(4)),
    "cycle in batches": (lambda: parts(2).batch(5), lambda: parts(4).batch(5)),
    "block": (lambda: parts(4, 1), lambda: parts(4, 5)),
    "cycle in a function": (
        lambda: rows(0, 1).flat_map(lambda _: parts(2)),
        lambda: rows(0, 1).flat_map(lambda _: parts(4)),
    ),
    "choice": (lambda: chosen(1), lambda: chosen(2)),
    "choice, repeated": (
        lambda: chosen_by(turns()),
        lambda: chosen_by(Dataset.from_tensor_slices(np.array([0, 0, 1, 1])).repeat(50)),
    ),
    "choice, of a function": (
        lambda: chosen_by(turns()),
        lambda: chosen_by(turns().map(lambda turn: 1 - turn)),
    ),
    "weights": (lambda: sampled(0.5, 0.5), lambda: sampled(0.9, 0.1)),
    "buffer in a function": (lambda: within(25, 3), lambda: within(5, 3)),
    "sampling": (
        lambda: Dataset.sample_from_datasets(halves(), seed=1),
        lambda: Dataset.sample_from_datasets(halves(), seed=2),
    ),
    "buckets": (lambda: lengths(4), lambda: lengths(8)),
    "alternating": (
        rows,
        lambda: Dataset.choose_from_datasets(halves(), Dataset.range(2).repeat(100)),
    ),
}


DECIDING = {
    "cycle": "interleave",
    "cycle in batches": "interleave",
    "cycle in a function": "interleave",
    "block": "interleave",
    "choice": "choose_from_datasets",
    "choice, repeated": "choose_from_datasets",
    "choice, of a function": "choose_from_datasets",
    "weights": "sample_from_datasets",
    "sampling": "random",
    "buffer in a function": "shuffle",
}
"""Entries of the configuration that differ, and are named."""


@pytest.mark.parametrize("name", ORDERED)
def test_other_pipelines_that_keep_their_order_are_accused_of_nothing(
    name: str, tmp_path: Path
) -> None:
    for run, make in zip("ab", ORDERED[name], strict=True):
        with record(
            make(), tmp_path / run, ids=lambda element: np.asarray(element).tolist()
        ) as twin:
            for _ in twin:
                pass
    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.verdict is Verdict.REORDERED
    assert {finding.severity for finding in result.findings} <= {Severity.NOTE}
    if name in DECIDING:
        assert f"arguments that differ: {DECIDING[name]} (" in str(result.reason)


def test_how_many_files_are_read_in_turn_is_named(tmp_path: Path) -> None:
    files(tmp_path / "files", 6)
    paths = sorted(map(str, (tmp_path / "files").iterdir()))
    for run, reads in (("a", 2), ("b", 3)):
        recorded(tf.data.TextLineDataset(paths, num_parallel_reads=reads), tmp_path / run)
    result = audit(tmp_path / "a", tmp_path / "b")

    assert "arguments that differ: interleave (" in str(result.reason)


def generated() -> tf.data.Dataset:
    return Dataset.from_generator(
        lambda: iter(range(9)), output_signature=tf.TensorSpec((), tf.int64)
    )


def gives_up(dataset: tf.data.Dataset) -> tf.data.Dataset:
    return dataset.map(abs, num_parallel_calls=2, deterministic=False)


def with_option(dataset: tf.data.Dataset, chosen: bool) -> tf.data.Dataset:
    options = tf.data.Options()
    options.deterministic = chosen
    return dataset.with_options(options)


KEPT = rows(0, 40)

DETERMINISM: dict[str, tuple[Make, Any]] = {
    "in turn": (lambda: parts(2).batch(4), True),
    "in parallel": (lambda: rows().map(abs, num_parallel_calls=2), True),
    "of a dataset outside": (lambda: rows(0, 8).interleave(lambda i: KEPT.shard(8, i)), True),
    "given up": (lambda: gives_up(rows()), False),
    "given up though chosen": (lambda: with_option(gives_up(rows()), True), False),
    "given up within": (lambda: rows(0, 9).flat_map(lambda i: gives_up(KEPT)), False),
    "given up by a choice": (
        lambda: Dataset.choose_from_datasets([rows(), rows()], gives_up(rows(0, 2))),
        False,
    ),
    "chosen for all": (lambda: with_option(rows(), False), False),
    "of a program": (generated, UNKNOWN),
    "of a program, chosen": (lambda: with_option(generated(), True), True),
    "of much data": (lambda: LARGE, UNKNOWN),
    "of much data outside": (lambda: rows(0, 2).flat_map(lambda i: LARGE), UNKNOWN),
    "of much data, given up": (lambda: gives_up(LARGE), False),
}


@pytest.mark.parametrize("name", DETERMINISM)
def test_an_order_is_kept_where_nothing_in_the_graph_gives_it_up(name: str, tmp_path: Path) -> None:
    make, deterministic = DETERMINISM[name]

    assert recorded(make().take(3), tmp_path / "run").deterministic is deterministic
