"""Keras looks at batches before it trains: these are no part of what is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from detloader import check, open_run
from tests.support.programs import record_program, write_program

TEXT = """
    import grain, keras, numpy as np, torch
    from torch.utils.data import DataLoader, TensorDataset
    from detloader import name

    x = torch.arange(40, dtype=torch.float32).reshape(20, 2) / 40
    data = TensorDataset(x, x[:, :1])

    if __name__ == "__main__":
        keras.utils.set_random_seed(1)
        torch.manual_seed(1)
        train = name(DataLoader(data, batch_size=5, shuffle=True), "train")
        kept = DataLoader(data, batch_size=5, num_workers=1, persistent_workers=True)
        pairs = grain.MapDataset.range(20).map(lambda i: (np.full(2, i / 20, np.float32), i / 20))
        rows = pairs.batch(5)
        losses = []
        for _ in range(2):
            model = keras.Sequential([keras.layers.Dense(1)])
            model.compile(optimizer="sgd", loss="mse")
            for data in (train, name(kept, "kept"), name(rows, "rows")):
                losses += model.fit(data, epochs=2, verbose=0).history["loss"]
        print(keras.backend.backend(), losses, torch.rand(1), np.random.rand())
"""


@pytest.mark.parametrize("backend", ["tensorflow", "torch"])
def test_what_keras_looks_at_is_no_epoch(backend: str, tmp_path: Path) -> None:
    program = write_program(tmp_path, TEXT, head="")
    environment = os.environ | {"KERAS_BACKEND": backend}
    bare = subprocess.run(
        [sys.executable, program],
        capture_output=True,
        text=True,
        check=True,
        timeout=250,
        env=environment,
    )
    recorded = record_program(tmp_path, sys.executable, program, env=environment)
    streams = open_run(tmp_path / "run").streams

    assert recorded.stdout == bare.stdout
    assert recorded.stdout.startswith(backend)
    for stream in ("train", "kept"):
        epochs = streams[stream].table(["epoch"])["epoch"].to_pylist()
        assert epochs == [epoch for epoch in range(4) for _ in range(20)]
    assert all(stream.rows % 20 == 0 for stream in streams.values())
    assert not check(tmp_path / "run").findings
