"""The loader before the change, as a model and as the audits recognise it (O-1 to O-9).

Every order here comes from the model; orders that helia-edge 0.6.2 itself delivered are in
tests/cases, in the folders named real-helia-….
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader import uniform_id_generator
from detloader.audits import audit, check
from detloader.errors import UsageError
from detloader.findings import Severity
from detloader.order.interleave import (
    OlderInterleave,
    fitting_partition_counts,
    older_random_id_generator,
    oversampling,
)
from tests.support.results import evidence_of, findings_of
from tests.support.runs import write_run
from tests.support.streams import as_list, stream

FEW = settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

RULE = "implicit-partitioning"


def older(ids: Sequence[Any], workers: int, seed: int = 0, **options: Any) -> OlderInterleave[Any]:
    arguments: dict[str, Any] = {"id_generator": iter, "rng": random.Random(seed)} | options
    return OlderInterleave(ids, num_workers=workers, **arguments)


def against_source(
    folder: Path, order: list[int], size: int, **declared: Any
) -> tuple[list[Any], Any]:
    """Audit an order against the source's own; return the rule's findings, and the result."""
    meant = {"shuffle": False, "source_size": size} | declared
    source = write_run(folder / "new", {"record": [*range(size)]}, meant)
    result = audit(source, write_run(folder / "old", {"record": order}, meant))
    return findings_of(result, RULE), result


@pytest.mark.parametrize(
    ("size", "workers", "dropped"),
    [
        (10, 4, [8, 9]),
        (10, 3, [9]),
        (7, 4, [4, 5, 6]),
        (9, 2, [8]),
        (4, 4, []),
        (3, 8, []),
        (12, 4, []),
        (13, 7, [7, 8, 9, 10, 11, 12]),
    ],
)
def test_o_1_the_last_ids_are_dropped_and_named(
    size: int, workers: int, dropped: list[int], tmp_path: Path
) -> None:
    loader = older(range(size), workers, seed=2)
    order = list(loader)

    assert loader.dropped == dropped
    assert sorted(order) == [*range(size - len(dropped))]
    findings, _ = against_source(tmp_path, order, size, workers=workers)
    if dropped and len(loader.parts[0]) > 1:
        (finding,) = findings
        assert evidence_of(finding)["dropped"] == dropped
        assert workers in evidence_of(finding)["partitions"]


@pytest.mark.parametrize("workers", [2, 5, 9])
def test_o_1_with_one_id_less_than_two_each_almost_half_is_lost(workers: int) -> None:
    assert len(older(range(2 * workers - 1), workers).dropped) == workers - 1


def test_o_2_a_merge_is_of_samples_and_does_not_repeat_itself() -> None:
    samples = {number: number % 3 + 1 for number in range(12)}

    merges = [
        list(older(range(12), 3, seed, samples_per_id=samples.__getitem__)) for seed in range(6)
    ]

    assert len({tuple(merge) for merge in merges}) == 6
    for merge in merges:
        for part in older(range(12), 3).parts:
            own = [number for number in part for _ in range(samples[number])]
            assert [number for number in merge if number in part] == own
    assert any(
        merge[place - 1] != number and number in merge[:place]
        for merge in merges
        for place, number in enumerate(merge)
    )


def test_o_2_merged_parts_of_the_new_loader_lose_nothing_and_are_no_fault(tmp_path: Path) -> None:
    dataset = stream(range(23), stream_mode="finite", deterministic=False)

    findings, _ = against_source(tmp_path, as_list(dataset), 23, workers=4)

    assert all(evidence_of(finding)["dropped"] == [] for finding in findings)


@given(size=st.integers(9, 60), workers=st.integers(2, 7), seed=st.integers(0, 99))
@FEW
def test_o_3_every_worker_count_that_fits_is_listed_the_declared_one_first(
    size: int, workers: int, seed: int, tmp_path_factory: Any
) -> None:
    loader = older(range(size), workers, seed)
    order = list(loader)
    fits = fitting_partition_counts(np.array(order), size)

    findings, _ = against_source(tmp_path_factory.mktemp("runs"), order, size, workers=workers)

    assert min(workers, size) in fits
    for finding in findings:
        evidence = evidence_of(finding)
        assert evidence["dropped"] == loader.dropped
        assert evidence["partitions"][0] == workers
        # Where nothing is dropped, parts of a single record fit any order and are not listed.
        if loader.dropped and evidence["formula"].startswith("b = merge(partition"):
            assert evidence["partitions"] == [workers, *(n for n in fits if n != workers)]
        assert set(evidence["partitions"]) <= set(fits)
    in_source_order = order == sorted(order)
    if loader.dropped and not in_source_order and len(loader.parts[0]) > 1:
        assert findings


def test_o_3_a_drop_alone_fixes_the_remainder_and_not_the_count(tmp_path: Path) -> None:
    findings, _ = against_source(tmp_path, [0, 4, 1, 5, 2, 6, 3, 7], 10, workers=4)

    (finding,) = findings
    assert evidence_of(finding)["partitions"] == [4, 8]
    assert evidence_of(finding)["dropped"] == [8, 9]
    assert evidence_of(finding)["undecidable"] is False


@pytest.mark.parametrize("size", [8, 10])
def test_o_3_the_source_s_own_order_cannot_be_told_from_a_global_schedule(
    size: int, tmp_path: Path
) -> None:
    findings, result = against_source(tmp_path, [*range(8)], size, workers=4)

    if size == 8:
        assert (result.verdict, findings) == ("identical", [])
    for finding in findings:
        assert evidence_of(finding)["undecidable"] is True
        assert finding.severity is not Severity.FAIL


def test_o_4_parts_that_repeat_have_equal_shares_and_the_factor_is_told(tmp_path: Path) -> None:
    samples = [1, 1, 1, 1, 7, 7, 7, 7]
    cycles = partial(uniform_id_generator, shuffle=False)
    whole = [number for number in range(8) for _ in range(samples[number])] * 100
    parts = list(
        islice(
            older(range(8), 2, 3, id_generator=cycles, samples_per_id=samples.__getitem__),
            len(whole),
        )
    )

    factors = oversampling(samples, 2)
    assert factors.tolist() == [4.0] * 4 + [4 / 7] * 4
    shares = Counter(parts)
    assert all(
        shares[number] / len(whole)
        == pytest.approx(factors[number] * samples[number] / 32, rel=0.15)
        for number in range(8)
    )
    meant = {"shuffle": False, "source_size": 8, "num_samples": len(whole)}
    a, b = (
        write_run(tmp_path / name, {"record": order}, meant)
        for name, order in (("a", whole), ("b", parts))
    )
    (finding,) = findings_of(audit(a, b), "sampling-distribution")
    evidence = evidence_of(finding)
    assert 2 in evidence["partitions"]
    assert evidence["effect"] == pytest.approx(4, rel=0.2)


def test_o_5_duplicated_ids_collapse_into_the_parts_they_fall_in() -> None:
    loader = older([0, 0, 1, 2, 3], 4)

    assert (loader.parts, loader.dropped) == ([[0], [0], [1], [2]], [3])
    assert as_list(stream([0, 0, 1, 2, 3])) == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("weights", [[1, 1, 2], [0, 100], [-1] * 9, None])
def test_o_6_weights_are_ignored_wrong_ones_too(weights: Any) -> None:
    draws = partial(older_random_id_generator, weights=weights, rng=random.Random(1))

    order = list(islice(older(range(10), 4, id_generator=draws), 4_000))

    assert set(order) == set(range(8))
    assert all(400 < count < 600 for count in Counter(order).values())


def test_o_6_ignored_weights_and_the_dropped_ids_are_both_recognised(tmp_path: Path) -> None:
    weights = [1, 1, 2, 8, 1, 1, 0, 1, 1, 1]
    draws = partial(older_random_id_generator, weights=weights, rng=random.Random(1))
    order = list(islice(older(range(10), 4, id_generator=draws), 4_000))

    declared = {"weights": weights, "replacement": True, "shuffle": True}
    run = write_run(
        tmp_path / "run", {"record": order}, declared | {"source_size": 10, "workers": 4}
    )
    result = check(run)

    (parts,) = findings_of(result, RULE)
    (ignored,) = findings_of(result, "ignored-weights")
    assert evidence_of(parts)["dropped"] == [8, 9]
    assert evidence_of(ignored)["zero_weight_drawn"] == [6]


def test_o_7_shuffles_stay_within_a_part_and_build_on_each_other() -> None:
    shuffled = partial(uniform_id_generator, repeat=False, rng=random.Random(5))
    ids = list(range(12))
    loader = older(ids, 3, id_generator=shuffled)
    parts = [set(part) for part in loader.parts]

    orders = [list(loader) for _ in range(3)]

    assert len({tuple(order) for order in orders}) == 3
    assert [set(part) for part in loader.parts] == parts
    for number, part in enumerate(parts):
        # The stored part is now as the last pass left it.
        assert loader.parts[number] == [one for one in orders[-1] if one in part]
    assert ids == list(range(12))


@pytest.mark.parametrize(("ids", "workers"), [([], 4), ([1, 2], 0), ([1, 2], -1)])
def test_o_8_what_it_failed_on_late_is_refused_at_once(ids: list[int], workers: int) -> None:
    with pytest.raises(UsageError):
        older(ids, workers)
    if ids:
        with pytest.raises(UsageError, match="num_workers"):
            stream(ids, num_workers=workers)
    assert as_list(stream([], preprocess=None)) == []


@given(size=st.integers(1, 9), extra=st.integers(0, 9))
@FEW
def test_o_9_more_workers_than_ids_are_as_many_as_ids(size: int, extra: int) -> None:
    loader = older(range(size), size + extra)

    assert (loader.parts, loader.dropped) == ([[number] for number in range(size)], [])
    finite = stream(range(size), num_workers=size + extra, stream_mode="finite")
    assert as_list(finite) == list(range(size))
