"""Epochs that one run left early, and no rule can blame: the reason says how long they are."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from detloader.audits import audit
from detloader.findings import Verdict
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

    from detloader.findings import Result

DECLARED = {"shuffle": True, "seed": 3, "source_size": 96, "batch_size": 8}


def epochs(*lengths: int, in_another_order: int = 9) -> dict[str, list[int]]:
    """Deliver the beginning of each epoch's order; from one epoch on of another one."""
    rows = [
        (epoch, place // 8, record)
        for epoch, length in enumerate(lengths)
        for place, record in enumerate(
            random.Random(f"{epoch} {epoch >= in_another_order}").sample(range(96), 96)[:length]
        )
    ]
    return {
        name: [*column]
        for name, column in zip(("epoch", "batch", "record"), zip(*rows, strict=True), strict=True)
    }


def compare(folder: Path, a: dict[str, list[int]], b: dict[str, list[int]]) -> Result:
    return audit(write_run(folder / "a", a, DECLARED), write_run(folder / "b", b, DECLARED))


@pytest.mark.parametrize("shorter", ["a", "b"])
def test_epochs_that_are_left_early_are_told_with_their_lengths(
    shorter: str, tmp_path: Path
) -> None:
    whole, left = epochs(96, 96, 96), epochs(56, 56, 56, in_another_order=1)
    a, b = (left, whole) if shorter == "a" else (whole, left)
    result = compare(tmp_path, a, b)
    of_b, of_a = (96, 56) if shorter == "a" else (56, 96)

    assert (result.verdict, result.findings) == (Verdict.CHANGED, [])
    assert result.reason == (
        f"no rule names a cause: each epoch of {tmp_path / 'b'} has {of_b} records, "
        f"of {tmp_path / 'a'} {of_a}; the order is the same until epoch 1: "
        "one that is left early may have drawn less from a generator that goes on"
    )


def test_lengths_that_are_not_alike_are_told_from_the_first_on(tmp_path: Path) -> None:
    a, b = epochs(96, 96, 96), epochs(96, 40, 56, in_another_order=0)
    reason = str(compare(tmp_path, a, b).reason)

    assert f"epoch 1 of {tmp_path / 'b'} has 40 records, of {tmp_path / 'a'} 96" in reason
    assert reason.endswith("and 1 further epoch has another length, too")


def test_epochs_of_one_length_are_not_told_of(tmp_path: Path) -> None:
    reason = compare(tmp_path, epochs(56, 56), epochs(56, 56, in_another_order=0)).reason

    assert "records, of" not in str(reason)
