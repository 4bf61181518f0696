"""The seed that Keras's `fit` shuffles the batches of a `PyDataset` by."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import keras
import msgspec
import numpy as np
import pytest

from detloader import audit, open_run
from detloader.findings import Result
from detloader.keras import RecordFit
from detloader.manifest.schema import Declared

ROWS = 96


class Batches(keras.utils.PyDataset):  # type: ignore[misc]  # Keras has no types
    """Numbers, in batches of a given size."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def __len__(self) -> int:
        return ROWS // self.size

    def __getitem__(self, index: int) -> Any:
        numbers = np.arange(self.size * index, self.size * (index + 1), dtype=np.float32)
        return numbers[:, None], numbers


def fit(run: Path, seed: int, *, size: int = 8, before: int = 0, again: int | None = None) -> Path:
    """Train after a seed, and after some draws that the program takes of it."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    if again is not None:
        random.seed(again)
    for _ in range(before):
        random.random()
    model.fit(Batches(size), epochs=3, verbose=0, callbacks=[RecordFit(run)])
    return run


def declared_of(run: Path) -> Declared:
    return open_run(run).streams["main"].declared


def rules_of(result: Result) -> list[str]:
    return [finding.rule for finding in result.findings]


def test_the_seed_of_shuffled_batches_is_declared_and_named(tmp_path: Path) -> None:
    runs = [fit(tmp_path / str(seed), seed) for seed in (1, 2)]

    assert [declared_of(run).seed for run in runs] == [1, 2]
    assert rules_of(audit(*runs))[0] == "seed-handling"


@pytest.mark.parametrize("before", [1, 2 * 624, 3 * 624 + 1])
def test_draws_that_the_program_took_before_are_named(before: int, tmp_path: Path) -> None:
    a, b = fit(tmp_path / "a", 1), fit(tmp_path / "b", 1, before=before)
    result = audit(a, b)

    assert declared_of(b).seed == 1
    assert result.reason is not None
    assert "draws_before_fit" in result.reason


@pytest.mark.parametrize(("again", "before"), [(7, 0), (1, 100 * 624)])
def test_a_generator_that_is_no_longer_the_seeds_has_none(
    again: int, before: int, tmp_path: Path
) -> None:
    declared = declared_of(fit(tmp_path / "run", 1, again=again, before=before))

    assert declared.seed is msgspec.UNSET
    assert declared.config == {"shuffled_elements": 12}


def test_seeds_have_no_effect_on_a_shuffle_of_one_batch(tmp_path: Path) -> None:
    a, b = (fit(tmp_path / str(seed), seed, size=ROWS) for seed in (1, 2))

    assert rules_of(audit(a, b)) == []


def test_looking_at_the_generator_does_not_move_it(tmp_path: Path) -> None:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    states = []
    for callbacks in ([], [RecordFit(tmp_path / "run")]):
        keras.utils.set_random_seed(1)
        model.fit(Batches(8), epochs=2, verbose=0, callbacks=callbacks)
        states.append(random.getstate())

    assert states[0] == states[1]
