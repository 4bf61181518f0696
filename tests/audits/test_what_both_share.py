"""What both runs share explains no difference: it is a note, behind all that may."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader.audits import audit
from detloader.findings import Result, Severity
from tests.support.runs import write_run

SIZE = 48
EPOCHS = 3

Rows = dict[str, list[Any]]


def deliver(orders: list[list[int]]) -> Rows:
    """Deliver the records of each epoch in batches of four."""
    rows: Rows = {
        "epoch": [epoch for epoch, order in enumerate(orders) for _ in order],
        "batch": [place // 4 for order in orders for place in range(len(order))],
        "record": [record for order in orders for record in order],
    }
    rows["content"] = [random.Random(f"{record}").getrandbits(63) for record in rows["record"]]
    return rows


def shuffled(seed: int, epochs: int = EPOCHS) -> list[list[int]]:
    return [random.Random(f"{seed} {epoch}").sample(range(SIZE), SIZE) for epoch in range(epochs)]


def with_split(rows: Rows) -> Rows:
    """Split each epoch by position, which leaks."""
    return rows | {"split": (["train"] * 36 + ["val"] * 12) * EPOCHS}


def with_other_content(rows: Rows) -> Rows:
    content = zip(rows["record"], rows["content"], strict=True)
    return rows | {"content": [value + (record == 7) for record, value in content]}


def declare(**declared: Any) -> dict[str, Any]:
    plain = {"purpose": "train", "shuffle": True, "source_size": SIZE, "num_epochs": EPOCHS}
    return plain | {"batch_size": 4, "drop_remainder": False, "seed": 5} | declared


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    repeats=st.booleans(),
    leaks=st.booleans(),
    derived=st.booleans(),
    streams=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.booleans(), min_size=1),
)
def test_a_fault_that_both_runs_share_is_a_note_behind_what_differs(
    repeats: bool, leaks: bool, derived: bool, streams: dict[str, bool]
) -> None:
    """Of each stream, the content of one record may differ; all faults are those of both runs.

    A split by position leaks where epochs have other orders.
    """
    rows = deliver(shuffled(1, epochs=1) * EPOCHS if repeats else shuffled(1))
    rows = with_split(rows) if leaks else rows
    declared = declare(seed_used=90210) if derived else declare()
    with tempfile.TemporaryDirectory() as folder:
        a, b = Path(folder) / "a", Path(folder) / "b"
        for stream, drifts in streams.items():
            write_run(a, rows, declared, stream=stream)
            write_run(b, with_other_content(rows) if drifts else rows, declared, stream=stream)
        result = audit(a, b)

    differing = sum(streams.values())
    shared = {
        "epoch-order-repeat": repeats,
        "split-leak": leaks and not repeats,
        "seed-handling": derived,
    }
    behind = result.findings[differing:]
    assert {finding.rule for finding in result.findings[:differing]} <= {"content-drift"}
    assert {finding.severity for finding in behind} <= {Severity.NOTE}
    if differing:
        assert {finding.rule for finding in behind} == {rule for rule in shared if shared[rule]}


def with_and_without_shuffle(
    folder: Path, shuffled: list[list[int]], plain: list[list[int]], *, first: str
) -> Result:
    """Audit a run that is shuffled and one that is not, one of them as the baseline."""
    runs = {
        "shuffled": write_run(folder / "shuffled", deliver(shuffled), declare()),
        "plain": write_run(folder / "plain", deliver(plain), declare(shuffle=False)),
    }
    return audit(runs.pop(first), *runs.values())


@pytest.mark.parametrize(("first", "run"), [("shuffled", "a"), ("plain", "b")])
def test_a_repeat_does_not_explain_that_one_run_alone_is_shuffled(
    first: str, run: str, tmp_path: Path
) -> None:
    result = with_and_without_shuffle(
        tmp_path, shuffled(1, epochs=1) * EPOCHS, [[*range(SIZE)]] * EPOCHS, first=first
    )
    (finding,) = result.findings

    assert (finding.rule, finding.severity) == ("epoch-order-repeat", Severity.NOTE)
    assert finding.run == run
    assert "does not explain the difference" in finding.message
    assert result.reason is not None
    assert "arguments that differ: shuffle" in result.reason


def test_a_repeat_explains_epochs_that_differ_behind_an_equal_one(tmp_path: Path) -> None:
    """What is declared of the shuffle is no reason where the first epochs are the same."""
    orders = shuffled(1)
    result = with_and_without_shuffle(tmp_path, orders[:1] * EPOCHS, orders, first="plain")

    assert (result.findings[0].rule, result.findings[0].severity) == (
        "epoch-order-repeat",
        Severity.FAIL,
    )
