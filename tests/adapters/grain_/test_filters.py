"""Parts of a source that a Grain dataset leaves out because its user means it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grain
import pytest

from detloader import check, record
from tests.support.grain_pipelines import Even, Squares, is_even, source

PARTS: dict[str, Callable[[], Any]] = {
    "slice": lambda: source()[1:6:2],
    "slice of a shuffle": lambda: source().seed(1).shuffle()[:9],
    "filter": lambda: source().filter(Even()),
    "filter of a stream": lambda: source().to_iter_dataset().filter(Even()).batch(4),
    "limit": lambda: grain.experimental.LimitIterDataset(source().to_iter_dataset(), 12),
    "loader": lambda: grain.DataLoader(
        data_source=Squares(23),
        sampler=grain.samplers.SequentialSampler(23),
        operations=[Even(), grain.transforms.Batch(3)],
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_records_that_a_dataset_leaves_out_are_not_missed(name: str, tmp_path: Path) -> None:
    with record(PARTS[name](), tmp_path / "run") as dataset:
        for _ in range(2):
            list(dataset)

    assert "coverage-hole" not in [finding.rule for finding in check(tmp_path / "run").findings]


def test_records_that_a_transform_swallows_are_missed(tmp_path: Path) -> None:
    swallowing = source().map(lambda sample: sample if is_even(sample) else None)
    with record(swallowing, tmp_path / "run") as dataset:
        for _ in range(2):
            list(dataset)

    assert [finding.rule for finding in check(tmp_path / "run").findings] == ["coverage-hole"]
