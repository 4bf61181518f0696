"""Draws that nobody seeded: no rule can name them, and the answer says what was ruled out."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from detloader.audits import audit
from detloader.findings import Result, Verdict
from tests.support.results import loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

DECLARED = {"shuffle": True, "seed": 3, "seed_used": 3, "workers": 2, "versions": {"numpy": "2"}}


def drawing(seed: int, epochs: int = 2) -> dict[str, list[Any]]:
    """Make epochs of one order, whose draws are of another seed."""
    orders = [random.Random(epoch).sample(range(40), 40) for epoch in range(epochs)]
    draws = random.Random(seed)
    return {
        "epoch": [epoch for epoch in range(epochs) for _ in range(40)],
        "record": [record for order in orders for record in order],
        "draws": [draws.getrandbits(60) for _ in range(40 * epochs)],
    }


def compare(folder: Path, **other: Any) -> Result:
    a = write_run(folder / "a", drawing(1), DECLARED)
    return audit(a, write_run(folder / "b", drawing(2), DECLARED | other))


def test_what_draws_do_not_follow_is_told_where_no_rule_names_a_cause(tmp_path: Path) -> None:
    result = compare(tmp_path)

    assert (result.verdict, result.findings) == (Verdict.CHANGED, [])
    assert result.reason == (
        "no rule names a cause: 80 rows have other draws, though seed, workers, versions, order "
        "are the same; a generator that nobody seeded is left"
    )


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 4, "seed_used": 4},
        {"seed": None, "seed_used": None},
        {"workers": 3},
        {"versions": {"numpy": "1"}},
        {"num_epochs": 2, "batch_size": 4, "resume": {"position": 4}},
    ],
    ids=["seed", "no seed", "workers", "versions", "restart"],
)
def test_nothing_is_ruled_out_where_something_differs(
    other: dict[str, Any], tmp_path: Path
) -> None:
    assert "nobody seeded" not in (compare(tmp_path, **other).reason or "")


def test_a_cause_that_is_named_is_told_alone(tmp_path: Path) -> None:
    result = compare(tmp_path, workers=3)

    assert loud_rules(result) == ["topology-dependence"]
    assert result.reason is None
