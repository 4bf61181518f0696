"""Weights of any size and kind are declared, and cost no minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from detloader import open_run, record
from detloader.adapters.weights import MOST_WEIGHTS
from detloader.manifest.schema import Declared


def declared(run: Path, **fields: Any) -> Declared:
    record([1, 2, 3], run, declared=fields).close()
    return open_run(run).streams["main"].declared


@pytest.mark.parametrize(
    "weights", [[0.5, 1, 2], np.array([0.5, 1, 2]), torch.tensor([0.5, 1, 2])], ids=type
)
def test_weights_may_be_a_list_an_array_or_a_tensor(weights: Any, tmp_path: Path) -> None:
    assert declared(tmp_path / "run", weights=weights).weights == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("kind", [np.ones, lambda count: dict.fromkeys(map(str, range(count)), 1)])
def test_more_than_a_header_holds_are_told_by_a_digest(kind: Any, tmp_path: Path) -> None:
    weights, others = kind(MOST_WEIGHTS + 1), kind(MOST_WEIGHTS + 1)
    others["7" if isinstance(others, dict) else 7] = 2
    found: list[Any] = [
        declared(tmp_path / f"{number}", weights=given, config={"a": 1}).config
        for number, given in enumerate((weights, weights.copy(), others))
    ]

    assert found[0] == found[1] != found[2]
    assert found[0]["a"] == 1
    assert str(found[0]["weights"]).startswith(f"{MOST_WEIGHTS + 1} weights, digest ")
