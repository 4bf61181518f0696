"""Samples that nobody can digest: the run goes on without their content, and says so once."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from detloader import audit, record
from tests.support.torch_datasets import torch_loader

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Sample:
    x: Any


class Graph:
    """Looks like a sequence, whose parts have other shapes."""

    def __init__(self, x: Any) -> None:
        self.parts = [x, x[:2]]

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, place: int) -> Any:
        return self.parts[place]


def samples(kind: str, factor: int) -> list[Any]:
    values = [np.full(3, factor * number) for number in range(9)]
    kinds: dict[str, list[Any]] = {
        "dataclass": [Sample(value) for value in values],
        "graph": [Graph(value) for value in values],
        "large": [{"x": value, "hash": 2**70} for value in values],
        "set": [{"x": value, "deep": [{"tags": {"a"}}]} for value in values],
        "array": [{"x": value} for value in values],
    }
    return kinds[kind]


SAID = {
    "dataclass": "a sample of type Sample (object) has no bytes of its own",
    "graph": "a sample of type Graph is no array: "
    "let the data set give what it holds as a dict or a tuple",
    "large": "the leaf 'hash' of type int (object) has no bytes of its own",
    "set": "the leaf 'deep.0.tags' of type set (object) has no bytes of its own",
}


def said(caplog: Any) -> list[str]:
    return [entry.getMessage() for entry in caplog.records if entry.levelno >= logging.WARNING]


def run_of(run: Path, loader: Any, **how: Any) -> Path:
    with record(loader, run, **how) as twin:
        for _ in range(2):
            for _ in twin:
                pass
    return run


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", SAID)
def test_content_that_torch_delivers_unseen_is_told_once_and_not_compared(
    kind: str, workers: int, tmp_path: Path, caplog: Any
) -> None:
    runs = [
        run_of(
            tmp_path / str(factor),
            torch_loader(samples(kind, factor), batch_size=4, collate_fn=list, num_workers=workers),
        )
        for factor in (1, 2)
    ]
    result = audit(*runs)

    assert result.verdict == "identical"
    assert "content" in (result.not_compared or [])
    first, second = said(caplog)
    assert first.endswith(
        f"content of samples is not seen, and no audit can compare it: {SAID[kind]}"
    )
    assert "rank-00000: " in first
    assert str(runs[1]) in second


@pytest.mark.parametrize("kind", SAID)
def test_content_of_any_iterable_is_told_alike(kind: str, tmp_path: Path, caplog: Any) -> None:
    run_of(tmp_path / "run", samples(kind, 1), ids=lambda _: 7)

    (line,) = said(caplog)
    assert line.endswith(SAID[kind])


@pytest.mark.parametrize(
    ("kind", "how"),
    [("array", {}), ("dataclass", {"level": "order"})],
    ids=["seen", "not to be seen"],
)
def test_nothing_is_said_where_nothing_is_lacking(
    kind: str, how: Any, tmp_path: Path, caplog: Any
) -> None:
    run_of(tmp_path / "run", torch_loader(samples(kind, 1), collate_fn=list), **how)
    run_of(tmp_path / "other", samples(kind, 1), ids=lambda _: 7, **how)

    assert said(caplog) == []


def test_where_content_should_stand_for_ids_the_loss_says_why_it_cannot(
    tmp_path: Path, caplog: Any
) -> None:
    run_of(tmp_path / "run", samples("large", 1))

    (line,) = said(caplog)
    assert "records no further rows" in line
    assert SAID["large"] in line
