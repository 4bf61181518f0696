from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import jax
import numpy as np
from absl import flags

from detloader import to_grain


def add_noise(record, rng):
    return {"y": record, "x": rng.normal(size=3), "pair": (record, [float(record)])}


def elements(workers):
    made = to_grain(
        range(11), seed=3, shuffle=True, transform=add_noise, batch_size=4, workers=workers
    )
    return [jax.tree.map(np.ndarray.tolist, batch) for batch in made]


if __name__ == "__main__":
    alone = elements(workers=0)
    assert sorted(sum((batch["y"] for batch in alone), [])) == list(range(11))
    assert elements(workers=2) == alone
    assert not flags.FLAGS.is_parsed()
    print("equal with jax", jax.__version__)
"""


def test_s_08_workers_run_where_jax_is_installed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)

    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("equal with jax")
