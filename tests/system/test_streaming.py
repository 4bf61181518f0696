from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.system.conftest import install, make_environment

STREAMING = "mosaicml-streaming==0.13.0"
# What it imports, but for clients of five clouds, and for torchvision: of that the index has no
# build that loads beside Torch's build for CPUs. Its data sets of images alone are derived from it.
IMPORTED = [
    "brotli",
    "catalogue<3",
    "numpy<2.2",
    "python-snappy<1",
    "torch==2.13.0",
    "tqdm",
    "transformers<5",
    "zstd<2",
]
TORCHVISION = {
    "__init__.py": "",
    "datasets.py": "class VisionDataset: ...\n",
    "transforms/__init__.py": "",
    "transforms/functional.py": "def to_tensor(image): ...\n",
}


def write_stand_in(folder: Path) -> None:
    for name, text in TORCHVISION.items():
        path = folder / "torchvision" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.timeout(900)
def test_mosaicml_streaming_is_recorded_in_an_environment_of_its_own(
    wheel: Path, tmp_path: Path
) -> None:
    programs = make_environment(tmp_path)
    install(programs, wheel, *IMPORTED)
    install(programs, "--no-deps", STREAMING)

    write_stand_in(tmp_path / "stand_in")
    program = Path(__file__).with_name("record_streaming.py")
    done = subprocess.run(
        [programs / "python", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "stand_in")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
