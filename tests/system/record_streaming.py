"""Records MosaicML Streaming alone, inside a Torch loader and on two ranks; fails by assertion."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
from streaming import MDSWriter, StreamingDataset
from torch.utils.data import DataLoader

from detloader import audit, check, open_run, record
from detloader.findings import Verdict

RANKS = 2
EPOCHS = 2
SAMPLES = 20


def write() -> None:
    columns = {"number": "int", "x": "ndarray"}
    with MDSWriter(out="data", columns=columns, size_limit=512) as out:
        for number in range(SAMPLES):
            out.write({"number": number, "x": np.full(3, number, np.float32)})


def dataset() -> Any:
    return StreamingDataset(
        local="data", shuffle=True, shuffle_seed=7, batch_size=4, num_canonical_nodes=1
    )


def loader(workers: int) -> Any:
    return DataLoader(dataset(), batch_size=4, num_workers=workers)


def delivered(samples: Any) -> list[tuple[int, int]]:
    """Iterate, and return epoch and number of each sample."""
    return [
        (epoch, int(number))
        for epoch in range(EPOCHS)
        for sample in samples
        for number in np.atleast_1d(sample["number"])
    ]


def recorded(samples: Any, run: str) -> list[tuple[int, int]]:
    with record(samples, run) as twin:
        return delivered(twin)


def rows(run: str) -> list[tuple[Any, Any]]:
    table = open_run(run).streams["main"].table(["epoch", "record"])
    return [(row["epoch"], row["record"]) for row in table.to_pylist()]


def record_alone() -> None:
    wanted = delivered(dataset())
    assert sorted(wanted) == [(epoch, each) for epoch in range(EPOCHS) for each in range(SAMPLES)]

    assert recorded(dataset(), "alone") == rows("alone") == wanted
    declared = open_run("alone").streams["main"].declared
    assert (declared.seed, declared.shuffle, declared.source_size) == (7, True, SAMPLES)


def record_in_a_loader() -> None:
    for workers in (0, 2):
        run = f"workers-{workers}"
        assert recorded(loader(workers), run) == rows(run) == delivered(loader(workers))
    assert audit("workers-0", "workers-2").verdict is Verdict.IDENTICAL


def record_on_ranks() -> None:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
    subprocess.run([sys.executable, *launcher, __file__, "rank"], check=True, timeout=300)

    (stream,) = open_run("ranks").streams.values()
    assert [rank.header.rank for rank in stream.ranks] == [*range(RANKS)]
    assert sorted(rows("ranks")) == sorted(rows("alone"))
    assert check("ranks").verdict is Verdict.CLEAN


if __name__ == "__main__":
    if len(sys.argv) > 1:
        recorded(dataset(), "ranks")
    else:
        write()
        record_alone()
        record_in_a_loader()
        record_on_ranks()
