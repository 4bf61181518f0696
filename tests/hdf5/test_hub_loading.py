"""A loader of `hf://` paths: from a commit, which its manifest says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from detloader import open_run
from tests.support.hdf5_files import numbered, write_file
from tests.support.hub_stand_in import Hub, serving

# huggingface_hub reads its settings when it is imported, so it needs a process of its own.
LOAD = """
import sys
from detloader import record
from detloader.hdf5.loader import Dataloader
loader = Dataloader("hf://org/frames/train", shuffle=False, convert_to_tensor=False)
with record(loader, sys.argv[1]) as twin:
    print([float(image.flat[0]) for batch in twin for image in batch])
"""


def test_frames_come_from_the_commit_that_the_manifest_names(tmp_path: Path) -> None:
    files = {
        f"{folder}/f_{number}.hdf5": write_file(
            tmp_path / folder / f"f_{number}.hdf5", numbered(2, 10 * number)
        ).read_bytes()
        for folder, number in (("train", 10), ("train", 9), ("test", 1))
    }
    with serving(Hub()) as hub:
        commit = hub.create("org/frames").commit("main", files)
        variables = {
            "HF_ENDPOINT": hub.endpoint,
            "HF_HOME": str(tmp_path / "cache"),
            "NO_PROXY": "127.0.0.1",
            "HF_HUB_OFFLINE": "0",
        }
        done = subprocess.run(
            [sys.executable, "-c", LOAD, str(tmp_path / "run")],
            env=os.environ | variables,
            capture_output=True,
            check=True,
        )

    assert done.stdout.strip() == b"[90.0, 91.0, 100.0, 101.0]"
    stream = open_run(tmp_path / "run").streams["main"]
    assert isinstance(stream.declared.config, dict)
    assert stream.declared.config["commits"] == {"org/frames": commit}
    assert stream.table(["record"])["record"].to_pylist()[0] == "f_9.hdf5#0:1"
