"""Each axis: what follows it is caught and named, and its mended twin passes."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from detloader.audits.replay import replay
from detloader.audits.replay.axis import all_axes
from detloader.findings import AxisOutcome, Result, Verdict
from tests.support.axes_factories import FOLLOWS
from tests.support.replaying import write

VARIED = {
    "batch_size": "6",
    "cpu_count": "61",
    "cwd": "elsewhere",
    "deterministic": "false",
    "file_order": "1",
    "hash_seed": "1",
    "locale": "C",
    "prefetch": "4",
    "resume_at": "5",
    "seed": "1",
    "start_method": "spawn",
    "stream_mode": "finite",
    "threads": "4",
    "timezone": "GMT-14",
    "workers": "2",
    "world_size": "2",
}


APART = {"batch_size", "resume_at", "seed", "stream_mode", "world_size"}
"""Axes of which a mended twin is a loader of another kind."""


def vary(run: Path, axis: str) -> Result:
    # No more replays than it takes: nobody needs the smallest case, and nothing is left to chance.
    return replay(run, vary=[f"{axis}={VARIED[axis]}"], budget=2, repeats=1)


def results(folder: Path, axes: Iterable[str], **arguments: Any) -> dict[str, Result]:
    """Replay what follows each axis, two at a time."""
    runs = {
        axis: write(folder, FOLLOWS[axis], batched=axis == "batch_size" or None, **arguments)
        for axis in axes
    }
    with ThreadPoolExecutor(2) as executor:
        return dict(zip(runs, executor.map(vary, runs.values(), runs), strict=True))


@pytest.fixture(scope="module")
def faulty(furnished: Path) -> dict[str, Result]:
    return results(furnished, FOLLOWS)


@pytest.fixture(scope="module")
def mended(furnished: Path) -> dict[str, Result]:
    return results(furnished, APART, mended=True)


def outcomes(result: Result) -> set[AxisOutcome]:
    return {one.outcome for one in result.axes}


def test_every_axis_has_its_factory_and_its_page() -> None:
    # Those of versions take environments: tests/environments has them.
    assert {axis.name for axis in all_axes()} - {"package", "python"} == {*FOLLOWS} == {*VARIED}
    assert all(axis.page.partition("\n")[0].endswith(".") for axis in all_axes())


@pytest.mark.parametrize("axis", sorted(FOLLOWS))
def test_what_follows_one_axis_is_caught_and_named(axis: str, faulty: dict[str, Result]) -> None:
    assert outcomes(faulty[axis]) == {AxisOutcome.BROKEN}, faulty[axis]
    assert faulty[axis].findings[0].rule == axis


@pytest.mark.parametrize("axis", sorted(APART))
def test_the_mended_twin_passes(axis: str, mended: dict[str, Result]) -> None:
    assert outcomes(mended[axis]) == {AxisOutcome.HOLDS}, mended[axis]
    assert (mended[axis].verdict, mended[axis].findings) == (Verdict.IDENTICAL, [])


def test_a_loader_that_follows_none_of_the_other_conditions_passes_alone_and_together(
    furnished: Path,
) -> None:
    """It reads all that the others follow, and is the mended twin of each of them."""
    words = [f"{axis}={VARIED[axis]}" for axis in sorted({*FOLLOWS} - APART)]
    with ThreadPoolExecutor(2) as executor:
        result = replay(write(furnished, "sound"), vary=words, executor=executor)

    assert outcomes(result) == {AxisOutcome.HOLDS}, result
    assert result.findings == []
    assert {name for one in result.axes for name in one.settings} == {*FOLLOWS} - APART
