"""Loaders of the grammar that run, and are recorded while they do: the planted rule is named.

Here `record` makes the manifest of what it sees; workers, draws and raw digests stay unknown.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from detloader import record
from detloader.audits import audit, check
from tests.study.judging import loud
from tests.study.planting import plant
from tests.study.sound import draw_loader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

    from tests.study.loaders import Log, Rows

SEEDS = st.integers(0, 2**32)
SEARCH = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TOLD_WITHOUT_WORKERS = (
    "repeated order",
    "ignored weights",
    "overlapping ranks",
    "weak mixing",
    "dropped tail",
    "padded tail",
)


class Batches:
    """The batches of one rank: each `iter()` gives the next epoch."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._epochs = iter(np.unique(rows["epoch"]).tolist())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        mine = self._rows["epoch"] == next(self._epochs)
        batches = self._rows["batch"][mine]
        for batch in np.unique(batches):
            chosen = np.flatnonzero(mine)[batches == batch]
            content = self._rows["content"][chosen].view(np.int64)
            yield {"id": self._rows["record"][chosen].tolist(), "image": content}


def run_and_record(log: Log, run: Path) -> Path:
    """Run the loader of each rank to its end, as a training loop would."""
    ranks = log.columns.get("rank", np.zeros_like(log.columns["epoch"]))
    for rank in np.unique(ranks).tolist():
        rows = {name: of[ranks == rank] for name, of in log.columns.items()}
        loader = Batches(rows)
        declared = {name: value for name, value in log.declared.items() if name != "workers"}
        with record(loader, run, ids="id", batched=True, rank=rank, declared=declared) as twin:
            for _ in np.unique(rows["epoch"]):
                for _ in twin:
                    pass
    return run


def is_recordable(log: Log) -> bool:
    """Tell whether rows have the columns that a running loader shows in its elements."""
    return {"epoch", "batch", "content"} <= log.columns.keys() and len(log.columns["record"]) > 0


@given(seed=SEEDS, kind=st.sampled_from(TOLD_WITHOUT_WORKERS))
@SEARCH
def test_a_fault_of_a_running_loader_is_named_first(
    seed: int, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    planted = plant(random.Random(seed), kind)
    told = {"split-leak", "alignment", "content-drift", "worker-rng-clone", "epoch-draw-repeat"}
    assume(not told & {*planted.rules} and is_recordable(planted.log))
    folder = tmp_path_factory.mktemp("runs")
    result = check(run_and_record(planted.log, folder / "run"))

    assert loud(result)[0].rule == planted.rules[0]


@given(seed=SEEDS)
@SEARCH
def test_a_sound_loader_that_runs_is_clean(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    loader = draw_loader(random.Random(seed), padding="uneven", split=False)
    log = loader.deliver()
    assume(is_recordable(log))
    folder = tmp_path_factory.mktemp("runs")
    runs = [run_and_record(log, folder / name) for name in "ab"]

    assert loud(check(runs[0])) == []
    assert audit(*runs).verdict == "identical"
