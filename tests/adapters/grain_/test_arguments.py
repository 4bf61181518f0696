"""Arguments of Grain's nodes that decide which record comes when."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grain
import numpy as np
import pytest
from grain import experimental

from detloader import audit, open_run, record
from detloader.findings import Result, Severity, Verdict
from tests.support.grain_pipelines import source
from tests.support.results import loud_rules


def run(dataset: Any, folder: Path, **options: Any) -> Path:
    with record(dataset, folder, **options) as loader:
        list(loader)
    return folder


def compare(a: Any, b: Any, folder: Path, **options: Any) -> Result:
    return audit(run(a, folder / "a", **options), run(b, folder / "b", **options))


def parts(count: int = 2) -> list[grain.MapDataset[Any]]:
    return [source(24, 100 * part).shuffle(part) for part in range(count)]


def streams(count: int = 2) -> list[grain.IterDataset[Any]]:
    return [part.to_iter_dataset() for part in parts(count)]


ARGUMENTS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "mix": (lambda weights: grain.MapDataset.mix(parts(), weights), [0.5, 0.5], [0.8, 0.2]),
    "mix of streams": (lambda w: grain.IterDataset.mix(streams(), w), [0.5, 0.5], [0.8, 0.2]),
    "slice": (lambda part: source(90)[part].shuffle(3), slice(0, 80), slice(10, 90)),
    "slice or none": (lambda stop: source(90).shuffle(3)[:stop], 90, 80),
    "limit": (lambda count: experimental.LimitIterDataset(streams()[0], count), 20, 16),
    "interleave": (
        lambda cycle: experimental.InterleaveIterDataset(streams(4), cycle_length=cycle),
        1,
        4,
    ),
    "window_shuffle": (
        lambda size: experimental.WindowShuffleMapDataset(source(), window_size=size, seed=1),
        5,
        7,
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_another_argument_is_named_where_it_makes_the_difference(name: str, tmp_path: Path) -> None:
    make, before, after = ARGUMENTS[name]
    result = compare(make(before), make(after), tmp_path)

    assert result.verdict in {Verdict.CHANGED, Verdict.REORDERED}
    assert loud_rules(result) == []
    assert f"{name.split(maxsplit=1)[0]} (" in str(result.reason)


def test_weights_that_mix_alike_and_slices_of_all_are_no_other_arguments(tmp_path: Path) -> None:
    pairs = {
        "weights": (
            grain.MapDataset.mix(parts()),
            grain.MapDataset.mix(parts(), [3, 3]).shuffle(seed=1),
        ),
        "slices": (source().shuffle(1), source()[0:23].shuffle(2)),
    }
    for name, (a, b) in pairs.items():
        result = compare(a, b, tmp_path / name)

        assert result.verdict is Verdict.REORDERED
        assert not {"mix (", "slice ("} & {f"{word} (" for word in str(result.reason).split()}


@pytest.mark.parametrize("batch", [None, 4])
def test_the_seed_of_a_member_beside_the_first_is_the_cause_of_another_match(
    batch: int | None, tmp_path: Path
) -> None:
    def pairs(seed: int) -> Any:
        members = [source().shuffle(seed=1), source(23, 100).shuffle(seed=seed)]
        zipped = experimental.ZipMapDataset(members)
        return zipped.batch(batch) if batch else zipped

    result = compare(pairs(1), pairs(2), tmp_path)

    assert (result.verdict, loud_rules(result)) == (Verdict.CHANGED, [])
    assert result.findings[0].rule == "seed-handling"


@pytest.mark.parametrize("shuffle", [False, True])
def test_shards_that_drop_their_remainder_are_named_by_the_option(
    shuffle: bool, tmp_path: Path
) -> None:
    for name, drops in (("a", False), ("b", True)):
        for rank in range(2):
            shards = grain.sharding.ShardOptions(rank, 2, drop_remainder=drops)
            sampler = grain.samplers.IndexSampler(97, shards, shuffle=shuffle, num_epochs=2, seed=3)
            loader = grain.DataLoader(data_source=range(97), sampler=sampler)
            with record(loader, tmp_path / name, rank=rank) as dataset:
                list(dataset)
    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.verdict is Verdict.CHANGED
    assert loud_rules(result) == []
    assert (result.findings[0].rule, result.findings[0].severity) == (
        "tail-handling",
        Severity.NOTE,
    )


def packed(seed: int) -> Any:
    rows = grain.MapDataset.source([{"id": np.full(3, number)} for number in range(24)])
    return experimental.FirstFitPackIterDataset(
        rows.shuffle(seed=seed).to_iter_dataset(), length_struct={"id": 4}, num_packing_bins=2
    )


def first_id(element: Any) -> int:
    return int(np.ravel(element["id"])[0])


def test_a_graph_tells_its_seeds_also_where_its_records_cannot_be_followed(
    tmp_path: Path,
) -> None:
    result = compare(packed(1), packed(2), tmp_path, ids=first_id)
    declared = open_run(tmp_path / "b").streams["main"].declared

    assert (declared.shuffle, declared.seed) == (True, 2)
    assert loud_rules(result) == []
    assert result.findings[0].message == "The runs were given different seeds, 1 and 2."


def test_of_nodes_that_are_not_known_nothing_is_said(tmp_path: Path) -> None:
    rows = grain.MapDataset.source([{"id": np.full(3, number)} for number in range(24)])
    bins = experimental.FirstFitPackIterDataset(
        rows.to_iter_dataset(), length_struct={"id": 4}, num_packing_bins=2
    )
    known = open_run(run(source().repeat(2), tmp_path / "known", ids="id")).streams["main"]
    unknown = open_run(run(bins, tmp_path / "unknown", ids=first_id)).streams["main"]

    assert (known.declared.shuffle, known.declared.workers) == (False, 0)
    assert "repeats" in (known.declared.config or {})
    assert not isinstance(unknown.declared.shuffle, bool)
    assert not isinstance(unknown.declared.workers, int)
