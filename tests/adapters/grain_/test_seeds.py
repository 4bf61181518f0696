"""Seeds of Grain's graphs: those that were given, and those that Grain derives from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grain
import pytest
from grain import experimental

from detloader import audit, check, open_run, record
from detloader.findings import Finding, Result, Severity, Verdict
from tests.support.grain_pipelines import double, noise, source
from tests.support.results import evidence_of, loud_rules


def seeded(seed: int = 7) -> grain.MapDataset[Any]:
    return source().seed(seed)


def mixed() -> grain.MapDataset[Any]:
    return grain.MapDataset.mix([seeded().shuffle(), seeded(8).shuffle()], [0.5, 0.5])


def run(dataset: Any, folder: Path) -> Path:
    with record(dataset, folder) as loader:
        list(loader)
    return folder


def compare(a: Any, b: Any, folder: Path) -> Result:
    return audit(run(a, folder / "a"), run(b, folder / "b"))


def only(result: Result) -> Finding:
    (finding,) = result.findings
    assert finding.rule == "seed-handling"
    return finding


GIVEN: dict[str, tuple[Callable[[], Any], int | str]] = {
    "to the dataset": (lambda: seeded().shuffle(), 7),
    "to the shuffle": (lambda: source().shuffle(seed=3), 3),
    "to both": (lambda: seeded().shuffle(seed=3), 3),
    "to both, and used by both": (lambda: seeded().shuffle(seed=3).random_map(noise), "7, 3"),
    "for draws alone": (lambda: seeded().random_map(noise), 7),
    "for a stream": (lambda: source().to_iter_dataset().seed(7).random_map(noise), 7),
    "to each of two": (mixed, "7, 8"),
}


@pytest.mark.parametrize("name", GIVEN)
def test_the_seed_of_a_run_is_the_one_that_was_given(name: str, tmp_path: Path) -> None:
    make, given = GIVEN[name]
    path = run(make(), tmp_path / "run")

    assert open_run(path).streams["main"].declared.seed == given
    assert check(path).findings == []


CHANGED: dict[str, tuple[Callable[[], Any], Callable[[], Any], str]] = {
    "a shuffle": (
        lambda: seeded().shuffle().map(double).batch(4),
        lambda: seeded().map(double).shuffle().batch(4),
        "ShuffleMapDataset",
    ),
    "a slice that leaves nothing out": (
        lambda: seeded().shuffle().repeat(2),
        lambda: seeded()[0:23].shuffle().repeat(2),
        "ShuffleMapDataset",
    ),
    "draws": (
        lambda: seeded().random_map(noise),
        lambda: seeded()[0:23].random_map(noise),
        "RandomMapMapDataset",
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_node_that_is_put_in_changes_the_seeds_above_it_and_is_named(
    name: str, tmp_path: Path
) -> None:
    before, after, node = CHANGED[name]
    finding = only(compare(before(), after(), tmp_path))
    evidence = evidence_of(finding)

    assert finding.severity is Severity.WARN
    assert (evidence["kind"], evidence["given"]) == ("derived", [7, 7])
    assert [part for part, _ in evidence["made"]] == [node, node]
    assert "Both runs were given seed 7" in finding.message


def test_seeds_that_were_given_otherwise_are_named_as_they_were_given(tmp_path: Path) -> None:
    finding = only(compare(seeded(7).shuffle(), seeded(8).shuffle(), tmp_path))

    assert finding.message == "The runs were given different seeds, 7 and 8."


TRANSFORMED: dict[str, Callable[[int], Any]] = {
    "of a dataset": lambda seed: source().random_map(noise, seed=seed),
    "of a stream": lambda seed: source().to_iter_dataset().random_map(noise, seed=seed),
    "behind a shuffle": lambda seed: source().shuffle(seed=3).random_map(noise, seed=seed),
    "of one of two": lambda seed: source().random_map(noise, seed=1).random_map(noise, seed=seed),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_another_seed_of_a_transform_is_the_cause_of_other_draws(name: str, tmp_path: Path) -> None:
    make = TRANSFORMED[name]
    result = compare(make(1), make(2), tmp_path)
    finding = only(result)
    evidence = evidence_of(finding)

    assert (result.verdict, result.reason) == (Verdict.CHANGED, None)
    assert (finding.severity, evidence["kind"]) == (Severity.NOTE, "different")
    assert [seed for _, seed in evidence["made"]] == [1, 2]


def keyed(seed: int) -> grain.MapDataset[Any]:
    return source().random_map(noise, seed=seed)


def test_another_seed_of_a_transform_is_no_other_source_though_ids_are_found_in_elements(
    tmp_path: Path,
) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        with record(keyed(seed), tmp_path / name, ids="id") as loader:
            for _ in range(2):  # Grain draws the same in each
                list(loader)
    finding = only(audit(tmp_path / "a", tmp_path / "b"))

    assert evidence_of(finding)["kind"] == "different"


@pytest.mark.parametrize("stream", [False, True])
def test_another_seed_of_a_window_is_the_cause_of_another_order(
    stream: bool, tmp_path: Path
) -> None:
    def windows(seed: int) -> Any:
        if stream:
            dataset = source().to_iter_dataset()
            return experimental.WindowShuffleIterDataset(dataset, window_size=5, seed=seed)
        return experimental.WindowShuffleMapDataset(source(), window_size=5, seed=seed)

    result = compare(windows(1), windows(2), tmp_path)

    assert loud_rules(result) == []
    assert result.findings[0].message == "The runs were given different seeds, 1 and 2."


def test_a_node_that_changes_no_seed_in_use_changes_nothing(tmp_path: Path) -> None:
    before, after = seeded().shuffle(seed=3), seeded()[0:23].shuffle(seed=3)
    result = compare(before, after, tmp_path)

    assert (result.verdict, result.findings) == (Verdict.IDENTICAL, [])


def test_derived_seeds_do_not_stand_before_ranks_that_all_read_everything(tmp_path: Path) -> None:
    for rank in range(2):
        for name, part in (("a", seeded(3)[rank::2]), ("b", seeded(3))):
            with record(part.shuffle().batch(4), tmp_path / name, rank=rank) as loader:
                list(loader)
    result = audit(tmp_path / "a", tmp_path / "b")

    assert loud_rules(result) == ["partition-broken"]
    assert result.findings[0].rule == "partition-broken"
