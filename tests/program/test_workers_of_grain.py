"""Grain's worker processes and threads iterate what their parent records, and say nothing of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from detloader.manifest.verify import verify_run
from tests.support.programs import record_program, write_program


@pytest.mark.parametrize(
    "loader",
    [
        "range(10).shuffle(seed=1).to_iter_dataset().mp_prefetch(options)",
        "range(10).batch(2).to_iter_dataset().filter(np.any).mp_prefetch(options)",
        "range(10).map(str).to_iter_dataset().mp_prefetch(options).map(int)",
    ],
)
def test_workers_of_grain_say_nothing_of_what_their_parent_records(
    loader: str, tmp_path: Path
) -> None:
    program = write_program(
        tmp_path,
        f"""
        import grain, numpy as np
        options = grain.MultiprocessingOptions(num_workers=2)
        loader = grain.MapDataset.{loader}
        if __name__ == "__main__":
            print(len([*loader]))
        """,
        head="",
    )
    done = record_program(tmp_path, sys.executable, program)
    run = verify_run(tmp_path / "run")

    assert (run.rows, run.complete, [*run.streams]) == (10, True, ["train.py:4"])
    assert "not recorded" not in done.stderr


def test_workers_of_a_loader_of_grain_say_nothing_either(tmp_path: Path) -> None:
    program = write_program(
        tmp_path,
        """
        import grain
        sampler = grain.samplers.IndexSampler(10, shuffle=True, seed=4, num_epochs=1)
        loader = grain.DataLoader(
            data_source=range(10),
            sampler=sampler,
            operations=[grain.transforms.Batch(3)],
            worker_count=2,
        )
        if __name__ == "__main__":
            print(sum(len(batch) for batch in loader))
        """,
        head="",
    )
    done = record_program(tmp_path, sys.executable, program)
    run = verify_run(tmp_path / "run")

    assert (done.stdout, run.rows, run.complete) == ("10\n", 10, True)
    assert len(run.streams) == 1
    assert "not recorded" not in done.stderr
