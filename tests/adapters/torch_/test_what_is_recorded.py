"""What the rows and the header of a recorded Torch loader say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    WeightedRandomSampler,
    default_collate,
)
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

from detloader import open_run, record, to_grain
from detloader.adapters.torch.reading import SampleReader
from detloader.adapters.weights import MOST_WEIGHTS
from detloader.audits import audit, check
from detloader.manifest.content import sample_digest
from detloader.manifest.reader import Stream
from detloader.manifest.rounding import EXACT
from tests.support.loaders import rows_of
from tests.support.results import loud_rules
from tests.support.torch_datasets import (
    Augmented,
    GlobalDraws,
    distributed_sampler,
    pad_together,
    torch_loader,
)


def recorded(loader: Any, run: Path, epochs: int = 1, **how: Any) -> Stream:
    with record(loader, run, **how) as twin:
        for _ in range(epochs):
            list(twin)
    return open_run(run).streams["main"]


def column(stream: Stream, name: str) -> list[Any]:
    values: list[Any] = stream.table([name])[name].to_pylist()
    return values


def test_records_are_the_samplers_indices_in_batches_and_epochs(tmp_path: Path) -> None:
    loader = torch_loader(range(5), batch_size=2, sampler=[4, 0, 3, 0, 1])

    recorded(loader, tmp_path / "run", epochs=2)

    once = [(4, 0), (0, 0), (3, 1), (0, 1), (1, 2)]
    assert rows_of(tmp_path / "run", "record", "batch", "epoch") == [
        (*row, epoch) for epoch in range(2) for row in once
    ]


def test_lists_of_indices_are_batches_of_records(tmp_path: Path) -> None:
    sampler = BatchSampler(SequentialSampler(range(5)), 2, drop_last=False)
    data = torch.arange(10.0).reshape(5, 2)

    recorded(torch_loader(data, batch_size=None, sampler=sampler), tmp_path / "lists")
    recorded(torch_loader(data, batch_size=2), tmp_path / "samples")

    names = ("record", "batch", "content")
    assert rows_of(tmp_path / "lists", *names) == rows_of(tmp_path / "samples", *names)


def test_an_index_that_counts_from_the_end_is_the_record_that_it_means(tmp_path: Path) -> None:
    sampler: Any = [-1, 0, -4, 3]
    stream = recorded(torch_loader(torch.arange(4), sampler=sampler), tmp_path / "run")

    assert column(stream, "record") == [3, 0, 0, 3]


def test_text_and_other_keys_are_ids_too(tmp_path: Path) -> None:
    recorded(torch_loader({"a": 1, "b": 2}, sampler=["b", "a"]), tmp_path / "text")
    recorded(torch_loader({(0, 1): 1}, sampler=[(0, 1)]), tmp_path / "pairs")

    assert rows_of(tmp_path / "text", "record") == ["b", "a"]
    assert rows_of(tmp_path / "pairs", "record") == ["(0, 1)"]


def test_ids_are_a_key_or_a_function_of_samples_or_one_for_each_index(tmp_path: Path) -> None:
    samples = [{"key": f"n{number}", "x": number} for number in range(3)]
    names = {"key": "key", "function": lambda sample: sample["key"], "sequence": ["n0", "n1", "n2"]}
    for name, ids in names.items():
        loader = torch_loader(samples, batch_size=2, collate_fn=len)
        recorded(loader, tmp_path / name, ids=ids)
        assert rows_of(tmp_path / name, "record") == ["n0", "n1", "n2"]

    assert rows_of(tmp_path / "sequence", "index") == [0, 1, 2]


def test_records_of_an_iterable_data_set_are_told_by_their_content(tmp_path: Path) -> None:
    numbers = Numbers(7)

    stream = recorded(torch_loader(numbers, batch_size=3), tmp_path / "run", level="order")

    assert column(stream, "record") == [f"{sample_digest(number):016x}" for number in range(7)]
    assert "content" not in stream.columns


class Numbers(IterableDataset[int]):
    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Any:
        return iter(range(self.size))


def test_an_element_of_an_iterable_may_be_a_batch(tmp_path: Path) -> None:
    class Batches(IterableDataset[Any]):
        def __iter__(self) -> Any:
            return iter(
                [{"id": [3, 1], "x": torch.zeros(2, 2)}, {"id": [2], "x": torch.ones(1, 2)}]
            )

    loader = torch_loader(Batches(), batch_size=None)
    recorded(loader, tmp_path / "run", ids="id", batched=True)

    assert rows_of(tmp_path / "run", "record", "batch") == [(3, 0), (1, 0), (2, 1)]


def by_the_user(samples: list[Any]) -> Any:
    return default_collate(samples)


@pytest.mark.parametrize("workers", [0, 2])
def test_content_is_that_of_samples_however_they_are_put_together(
    tmp_path: Path, workers: int
) -> None:
    samples: list[Any] = [
        ({"image": torch.full((2, 3), i), "path": f"{i}.png"}, i, float(i)) for i in range(7)
    ]
    ways = {"stacked": None, "by the user": by_the_user}
    found = {}
    for name, collate in ways.items():
        loader = torch_loader(samples, batch_size=3, collate_fn=collate, num_workers=workers)
        found[name] = column(recorded(loader, tmp_path / name), "content")

    arrays = [({**image, "image": image["image"].numpy()}, i, x) for image, i, x in samples]
    assert found["stacked"] == found["by the user"] == [sample_digest(s) for s in arrays]


@given(
    st.recursive(
        st.sampled_from([1, 2.5, True, "text", b"bytes", np.float32(2), np.arange(3)]),
        lambda inner: (
            st.lists(inner, min_size=1, max_size=2)
            | st.tuples(inner, inner)
            | st.dictionaries(st.sampled_from("abc"), inner, min_size=1)
        ),
        max_leaves=5,
    )
)
@settings(max_examples=60)
def test_rows_of_a_stacked_batch_have_the_digests_of_its_samples(sample: Any) -> None:
    samples = [sample, sample, sample]
    one = SampleReader(None, EXACT, stacked=False).of_samples(samples)
    other = SampleReader(None, EXACT, stacked=True).of_stacked(default_collate(samples), 3)

    assert other["content"] == one["content"]


def test_the_same_samples_have_one_digest_from_torch_and_from_grain(tmp_path: Path) -> None:
    source = [{"x": np.arange(4, dtype=np.float32) + i, "y": np.int64(i)} for i in range(6)]

    recorded(torch_loader(source, batch_size=4), tmp_path / "torch")
    recorded(to_grain(source, batch_size=4), tmp_path / "grain")

    names = ("record", "batch", "content")
    assert rows_of(tmp_path / "torch", *names) == rows_of(tmp_path / "grain", *names)


def test_draws_are_told_for_each_generator_and_for_all_of_them(tmp_path: Path) -> None:
    stream = recorded(torch_loader(GlobalDraws(6), batch_size=2), tmp_path / "run")
    drawn = {
        name: [draw is not None for draw in column(stream, name)]
        for name in ("draws", "draws_torch", "draws_python", "draws_numpy")
    }

    assert drawn["draws"] == drawn["draws_torch"] == [True] * 6
    assert drawn["draws_python"] == [bool(index % 2) for index in range(6)]
    assert drawn["draws_numpy"] == [bool(index % 3) for index in range(6)]
    assert len(set(column(stream, "draws"))) == 6


def test_where_nothing_is_drawn_there_is_no_draw(tmp_path: Path) -> None:
    stream = recorded(torch_loader(range(4), shuffle=True), tmp_path / "run")

    assert column(stream, "draws") == [None] * 4


def test_draws_that_the_collating_function_takes_are_those_of_its_whole_batch(
    tmp_path: Path,
) -> None:
    samples = [{"key": str(i), "x": torch.zeros(i + 1)} for i in range(4)]
    loader = torch_loader(samples, batch_size=2, collate_fn=pad_together)

    draws = column(recorded(loader, tmp_path / "run"), "draws_torch")

    assert draws[0] == draws[1] != draws[2] == draws[3]


def test_one_seed_gives_one_draw_whoever_looks(tmp_path: Path) -> None:
    for name in ("one", "other"):
        torch.manual_seed(4)
        loader = torch_loader(
            GlobalDraws(9, numpy=False, python=False), batch_size=2, num_workers=2
        )
        recorded(loader, tmp_path / name)

    assert audit(tmp_path / "one", tmp_path / "other").verdict == "identical"


def test_without_draws_nobody_looks_at_generators(tmp_path: Path) -> None:
    stream = recorded(torch_loader(Augmented(4)), tmp_path / "run", draws=False)

    assert not [name for name in stream.columns if name.startswith("draws")]


def test_workers_their_seeds_and_labels_are_shown(tmp_path: Path) -> None:
    torch.manual_seed(1)
    stream = recorded(torch_loader(GlobalDraws(8), batch_size=2, num_workers=2), tmp_path / "run")
    seeds = column(stream, "worker_seed")

    assert column(stream, "worker") == [0, 0, 1, 1, 0, 0, 1, 1]
    assert column(stream, "label") == [index % 4 for index in range(8)]
    assert [seed - seeds[0] for seed in seeds] == column(stream, "worker")


def test_labels_are_found_in_pairs_and_by_name(tmp_path: Path) -> None:
    for name, sample in {"pair": (torch.zeros(2), 3), "named": {"x": 1.0, "label": 3}}.items():
        for collate in (None, list):
            run = tmp_path / f"{name}-{collate}"
            loader = torch_loader([sample] * 3, batch_size=2, collate_fn=collate)
            assert column(recorded(loader, run), "label") == [3, 3, 3]


@pytest.mark.parametrize("collate", [None, list])
def test_a_label_that_no_column_holds_is_not_shown_and_the_rest_is_recorded(
    collate: Any, tmp_path: Path
) -> None:
    labels = [2**63 - 1, 2**63, 5, 2**64 - 1]
    samples = [(torch.zeros(2), torch.tensor(label, dtype=torch.uint64)) for label in labels]
    loader = torch_loader(samples, batch_size=2, collate_fn=collate)
    stream = recorded(loader, tmp_path / "run")

    assert column(stream, "label") == [2**63 - 1, None, 5, None]
    assert column(stream, "record") == [0, 1, 2, 3]
    assert len(set(column(stream, "content"))) == 4


def test_a_named_label_that_no_column_holds_is_not_shown(tmp_path: Path) -> None:
    samples = [{"x": torch.zeros(2), "y": 2**63 + index} for index in range(4)]
    loader = torch_loader(samples, batch_size=2, collate_fn=list)

    assert column(recorded(loader, tmp_path / "run"), "label") == [None] * 4


def test_epochs_are_the_samplers_where_it_is_told_them(tmp_path: Path) -> None:
    sampler = distributed_sampler(range(3), 1, 0, seed=10)
    with record(torch_loader(range(3), sampler=sampler), tmp_path / "run") as twin:
        for epoch in (5, 6, 6, 9):
            sampler.set_epoch(epoch)
            list(twin)

    rows = rows_of(tmp_path / "run", "epoch", "seed")
    assert rows[::3] == [(5, 15), (6, 16), (7, 16), (9, 19)]
    assert open_run(tmp_path / "run").streams["main"].ranks[0].header.seen.seeds == [15, 16, 19]


def test_records_that_even_out_the_ranks_are_marked(tmp_path: Path) -> None:
    for rank in range(4):
        sampler = distributed_sampler(range(9), 4, rank, shuffle=False)
        recorded(torch_loader(range(9), sampler=sampler, batch_size=2), tmp_path / "run")
    table = open_run(tmp_path / "run").streams["main"].table(["record", "padding"]).to_pydict()
    rows = list(zip(table["rank"], table["record"], table["padding"], strict=True))

    assert sorted(record for _, record, padding in rows if not padding) == list(range(9))
    assert sorted(row for row in rows if row[2]) == [(1, 0, True), (2, 1, True), (3, 2, True)]


class Reversed(DistributedSampler[int]):
    def __iter__(self) -> Iterator[int]:
        return iter([*super().__iter__()][::-1])


class Halves(BatchSampler):
    def __iter__(self) -> Iterator[list[int]]:
        for batch in super().__iter__():
            yield from (batch[:2], batch[2:])


@pytest.mark.parametrize("own", ["sampler", "batches"])
def test_where_a_sampler_makes_an_order_of_its_own_nobody_says_what_evens_out_the_ranks(
    own: str, tmp_path: Path
) -> None:
    for rank in range(2):
        kind: Any = Reversed if own == "sampler" else DistributedSampler
        batches = BatchSampler if own == "sampler" else Halves
        sampler = kind(range(37), 2, rank, shuffle=False)
        loader = torch_loader(range(37), batch_sampler=batches(sampler, 4, drop_last=False))
        stream = recorded(loader, tmp_path / "run")

    assert "padding" not in stream.columns
    assert loud_rules(check(tmp_path / "run")) == []


def test_a_class_of_stateful_samplers_marks_what_evens_out_the_ranks(tmp_path: Path) -> None:
    for rank in range(2):
        sampler: Any = StatefulDistributedSampler(torch.arange(5), 2, rank, shuffle=False)
        stream = recorded(torch_loader(range(5), sampler=sampler), tmp_path / "run")

    assert column(stream, "padding").count(True) == 1


def test_floats_are_rounded_before_they_are_digested_where_that_is_asked(tmp_path: Path) -> None:
    for name, noise in {"one": 0.0, "other": 1e-9}.items():
        samples = [(torch.full((3,), i + noise, dtype=torch.float64), i) for i in range(4)]
        recorded(torch_loader(samples, batch_size=2), tmp_path / name, decimals=3)

    assert audit(tmp_path / "one", tmp_path / "other").verdict == "identical"


RANKED = """
import sys
from torch import distributed
from torch.utils.data import DataLoader
from detloader import record
rank, folder = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
with record(DataLoader(range(3)), folder + "/run") as twin:
    list(twin)
distributed.destroy_process_group()
"""


def test_a_rank_is_that_of_the_process_group(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", RANKED]
    ranks = [subprocess.Popen([*command, str(rank), str(tmp_path)]) for rank in range(2)]
    assert [process.wait() for process in ranks] == [0, 0]

    stream = open_run(tmp_path / "run").streams["main"]

    assert [(rank.header.rank, rank.header.ranks) for rank in stream.ranks] == [(0, 2), (1, 2)]


def test_an_iterator_that_is_never_used_is_no_epoch(tmp_path: Path) -> None:
    with record(torch_loader(range(2)), tmp_path / "run") as twin:
        iter(twin)
        list(twin)

    assert rows_of(tmp_path / "run", "epoch") == [0, 0]


DECLARED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "in order": ({"batch_size": 3, "drop_last": True}, {"shuffle": False, "drop_remainder": True}),
    "shuffled": (
        {"shuffle": True, "generator": torch.Generator().manual_seed(8)},
        {"shuffle": True, "seed": 8, "replacement": False, "source_size": 10},
    ),
    "resampled": (
        {"sampler": RandomSampler(range(10), replacement=True, num_samples=4)},
        {"replacement": True, "num_samples": 4, "shuffle": True},
    ),
    "weighted": (
        {"sampler": WeightedRandomSampler([1, 2] * 5, 10, replacement=True)},
        {"weights": [1.0, 2.0] * 5, "replacement": True, "shuffle": True},
    ),
    "distributed": (
        {"sampler": distributed_sampler(range(10), 3, 0, shuffle=False, seed=4)},
        {"world_size": 3, "shuffle": False},
    ),
    "batches": (
        {"batch_sampler": BatchSampler(RandomSampler(range(10)), 4, drop_last=True)},
        {"batch_size": 4, "drop_remainder": True, "shuffle": True},
    ),
    "workers": (
        {"num_workers": 2, "multiprocessing_context": "spawn", "in_order": False},
        {"workers": 2, "start_method": "spawn", "deterministic": False},
    ),
}


@pytest.mark.parametrize("name", DECLARED)
def test_what_the_objects_tell_is_declared(tmp_path: Path, name: str) -> None:
    options, expected = DECLARED[name]
    with record(torch_loader(range(10), **options), tmp_path / "run") as twin:
        list(twin)

    declared = open_run(tmp_path / "run").streams["main"].declared

    assert {field: getattr(declared, field) for field in expected} == expected


def test_more_weights_than_a_header_holds_are_told_by_their_digest(tmp_path: Path) -> None:
    configs = []
    for weight in (1.0, 2.0):
        weights = [1.0] * MOST_WEIGHTS + [weight]
        loader = torch_loader(range(len(weights)), sampler=WeightedRandomSampler(weights, 3))
        declared = recorded(loader, tmp_path / str(weight)).declared
        assert not isinstance(declared.weights, list)
        assert isinstance(declared.config, dict)
        configs.append(declared.config["weights"])

    assert configs[0] != configs[1]


def test_a_sampler_of_the_users_own_is_not_guessed_at(tmp_path: Path) -> None:
    stream = recorded(torch_loader(range(4), sampler=[2, 0]), tmp_path / "run")

    assert not isinstance(stream.declared.shuffle, bool)
    assert isinstance(stream.declared.config, dict)
    assert stream.declared.config["sampler"] == "list"


class OwnOrder(RandomSampler):
    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))


class OwnBatches(BatchSampler):
    def __iter__(self) -> Iterator[list[int]]:
        return iter([*super().__iter__()][::-1])


@pytest.mark.parametrize(
    "options",
    [
        {"sampler": OwnOrder(range(4))},
        {"batch_sampler": OwnBatches(RandomSampler(range(4)), 2, drop_last=False)},
    ],
    ids=["sampler", "batches"],
)
def test_a_class_of_the_users_own_is_not_guessed_at_whatever_it_derives_from(
    options: dict[str, Any], tmp_path: Path
) -> None:
    declared = recorded(torch_loader(range(4), **options), tmp_path / "run").declared

    assert not isinstance(declared.shuffle, bool)
    assert not isinstance(declared.seed, int)


def test_the_start_method_is_not_settled_by_asking() -> None:
    program = """
import multiprocessing, tempfile
from torch.utils.data import DataLoader
from detloader import record
with tempfile.TemporaryDirectory() as folder:
    record(DataLoader(range(3), num_workers=1), folder + "/run").close()
multiprocessing.set_start_method("spawn")
"""
    subprocess.run([sys.executable, "-c", program], check=True)
