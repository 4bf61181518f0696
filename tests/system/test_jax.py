from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

NOT_SOURCE = (".*", "build", "dist", "*.egg-info", "__pycache__", "detloader-demo", "runs")

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


@pytest.mark.timeout(900)
def test_s_08_workers_run_where_jax_is_installed(tmp_path: Path) -> None:
    # Installed from a copy, so that the checkout stays as it is.
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=shutil.ignore_patterns(*NOT_SOURCE))
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", source, "jax"], check=True, cwd=tmp_path
    )
    (tmp_path / "program.py").write_text(PROGRAM)

    done = subprocess.run(
        [python, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("equal with jax")
