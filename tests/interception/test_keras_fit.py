"""Keras's `fit` in a block that records, and in a recorded program: as its callback does it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from torch.utils.data import DataLoader, TensorDataset

from detloader import audit, check, open_run, record_all
from detloader.findings import Verdict
from detloader.keras import RecordFit

X = np.arange(400, dtype=np.float32).reshape(200, 2) / 400
Y = np.arange(200, dtype=np.float32) / 200


def model() -> Any:
    built = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    built.compile(optimizer="sgd", loss="mse")
    return built


def rows(run: Path, stream: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = (
        open_run(run).streams[stream].table(["record", "epoch", "batch"]).to_pydict()
    )
    return found


def fit_line(run: Path) -> str:
    """Return the one stream that was recorded."""
    (stream,) = open_run(run).streams
    return stream


def shuffled() -> tf.data.Dataset:
    """Return a dataset with an order that depends on the seed of the program, too."""
    return tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(200, seed=1).batch(32)


def trained(run: Path | None, callbacks: list[Any], make: Any = None) -> list[Any]:
    """Train, and return what came of it."""
    keras.utils.set_random_seed(1)
    fitted = model()
    given = (X, Y) if make is None else (make(),)
    options = {"epochs": 3, "verbose": 0, "callbacks": callbacks, "shuffle": make is None}
    if run is None:
        history = fitted.fit(*given, **options)
    else:
        with record_all(run):
            history = fitted.fit(*given, **options)
    weights = [value.tolist() for value in fitted.get_weights()]
    return [history.history["loss"], weights, np.random.rand(), float(tf.random.uniform([]))]  # noqa: NPY002 - the global one is meant


def test_fit_is_recorded_as_its_callback_records_it(tmp_path: Path) -> None:
    seen = trained(None, [])
    assert trained(tmp_path / "all", []) == seen
    assert trained(None, [RecordFit(tmp_path / "callback")]) == seen
    stream = fit_line(tmp_path / "all")

    assert stream.startswith("test_keras_fit.py:")
    assert rows(tmp_path / "all", stream) == rows(tmp_path / "callback", "main")
    for run, name in (("all", stream), ("callback", "main")):
        declared = open_run(tmp_path / run).streams[name].declared
        assert (declared.shuffle, declared.batch_size, declared.num_epochs) == (True, 32, 3)
        assert check(tmp_path / run).findings[0].rule == "epoch-order-repeat"


def test_datasets_of_tensorflow_are_batches_of_fit(tmp_path: Path) -> None:
    assert trained(tmp_path / "run", [], shuffled) == trained(None, [], shuffled)
    assert open_run(tmp_path / "run").rows == 600
    assert check(tmp_path / "run").verdict is Verdict.CLEAN


def test_what_the_callback_of_the_program_records_is_not_recorded_twice(tmp_path: Path) -> None:
    trained(tmp_path / "all", [RecordFit(tmp_path / "own")])

    assert open_run(tmp_path / "own").rows == 600
    assert not (tmp_path / "all").exists()


def test_a_loader_of_torch_that_fit_is_given_tells_its_records_too(tmp_path: Path) -> None:
    data = TensorDataset(torch.tensor(X[:8]), torch.tensor(Y[:8]))
    with record_all(tmp_path / "run"):
        loader = DataLoader(data, batch_size=4)
        model().fit(loader, epochs=1, verbose=0, shuffle=False)
    streams = open_run(tmp_path / "run").streams

    found = [rows(tmp_path / "run", stream)["record"] for stream in streams]
    (indices,) = [records for records in found if isinstance(records[0], int)]
    (contents,) = [records for records in found if records is not indices]

    assert len(contents) == 8
    assert {*indices} == {*range(8)}


def test_a_fit_that_raises_leaves_a_part_and_no_trace(tmp_path: Path) -> None:
    class Stop(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"), record_all(tmp_path / "run"):
        model().fit(X, Y, epochs=2, verbose=0, callbacks=[Stop()])

    assert open_run(tmp_path / "run").rows == 200
    assert len(model().fit(X, Y, epochs=1, verbose=0).history["loss"]) == 1


def test_a_fit_that_raised_looks_away_from_itself_alone(tmp_path: Path) -> None:
    class Keep(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            raise RuntimeError("mine")

    class Forget(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            first.clear()
            gc.collect()

    first = [RecordFit(tmp_path / "first")]
    with pytest.raises(RuntimeError, match="mine") as raised:
        model().fit(X, Y, epochs=2, verbose=0, callbacks=[*first, Keep()])
    del raised
    model().fit(X, Y, epochs=3, verbose=0, callbacks=[RecordFit(tmp_path / "second"), Forget()])

    assert open_run(tmp_path / "second").rows == 600
    assert len(model().fit(X, Y, epochs=1, verbose=0).history["loss"]) == 1


TWICE = """
import keras, numpy as np, tensorflow as tf
from detloader import record_all
from detloader.keras import RecordFit
x = np.arange(40, dtype=np.float32).reshape(20, 2)
dataset = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(5)
given = {"arrays": dict(x=x, y=x[:, :1], batch_size=5), "dataset": dict(x=dataset)}
for name, data in given.items():
    for callbacks in ([], [RecordFit(f"own-{name}")]):
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        validation = (x[:10], x[:10, :1]) if name == "arrays" else dataset.take(2)
        with record_all(f"{name}-{len(callbacks)}"):
            model.fit(**data, epochs=2, verbose=0, validation_data=validation, callbacks=callbacks)
"""


@pytest.mark.parametrize("backend", ["tensorflow", "torch"])
def test_what_fit_is_given_is_one_stream_on_each_backend(backend: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWICE)
    environment = os.environ | {"KERAS_BACKEND": backend}
    subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, env=environment, check=True, timeout=250
    )
    found = {
        run.name: sorted(stream.rows for stream in open_run(run).streams.values())
        for run in tmp_path.iterdir()
        if run.is_dir()
    }

    assert found == {
        "arrays-0": [20, 40],
        "arrays-1": [20],
        "own-arrays": [40],
        "dataset-0": [20, 40],
        "dataset-1": [20],
        "own-dataset": [40],
    }


FITTING = """
import keras, numpy as np
keras.utils.set_random_seed(1)
x = np.arange(400, dtype=np.float32).reshape(200, 2)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
history = model.fit(x, x[:, :1], epochs=2, verbose=0, validation_split=0.2)
print(keras.backend.backend(), history.history, np.random.rand())
"""


VALIDATING = """
import keras, numpy as np
keras.utils.set_random_seed(1)

class Batches(keras.utils.PyDataset):
    def __init__(self, size, first):
        super().__init__()
        self.size, self.first = size, first

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        x = np.arange(8, dtype=np.float32).reshape(4, 2) / 100 + index + self.first
        return x, x[:, :1]

model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
validation = dict(validation_data=Batches(2, 10), validation_freq=2)
history = model.fit(Batches(5, 0), epochs=4, verbose=0, **validation)
scores = model.evaluate(Batches(3, 10), verbose=0), model.predict(np.ones((6, 2)), verbose=0).sum()
print(history.history, scores)
"""


class Printed(NamedTuple):
    """What a program prints by itself, what while it is recorded, and where its run is."""

    backend: str
    bare: str
    recorded: str
    run: Path


@pytest.fixture(scope="module", params=["tensorflow", "torch"])
def printed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Printed:
    """Both programs as one: importing Keras and its backend is what takes long."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "train.py").write_text(FITTING + VALIDATING)
    record = [sys.executable, "-m", "detloader", "record", "-o", "run", "--"]
    bare, recorded = (
        subprocess.run(
            [*command, sys.executable, "train.py"],
            cwd=folder,
            env=os.environ | {"KERAS_BACKEND": request.param},
            capture_output=True,
            text=True,
            timeout=250,
            check=True,
        ).stdout
        for command in ([], record)
    )
    return Printed(request.param, bare, recorded, folder / "run")


def test_fit_of_a_program_is_the_stream_of_its_line(printed: Printed) -> None:
    found = rows(printed.run, "train.py:7")

    assert printed.bare == printed.recorded
    assert printed.bare.startswith(printed.backend)
    assert found["epoch"] == [0] * 160 + [1] * 160
    assert found["batch"] == [place // 32 for place in range(160)] * 2
    assert found["record"][:160] != found["record"][160:] or printed.backend == "tensorflow"


def test_validation_is_one_stream_and_so_is_each_evaluation(printed: Printed) -> None:
    streams = open_run(printed.run).streams
    validation = rows(printed.run, "train.py:28-2")

    assert {name: (stream.rows, stream.declared.purpose) for name, stream in streams.items()} == {
        "train.py:7": (320, "train"),
        "train.py:7-2": (80, "eval"),
        "train.py:28": (80, "train"),
        "train.py:28-2": (16, "eval"),
        "train.py:29": (12, "eval"),
        "train.py:29-2": (6, "eval"),
    }
    assert validation["epoch"] == [0] * 8 + [1] * 8
    assert validation["batch"] == [0, 0, 0, 0, 1, 1, 1, 1] * 2
    assert validation["record"][:8] == validation["record"][8:]


def test_a_fit_that_raised_and_is_forgotten_later_leaves_the_next_one_alone(tmp_path: Path) -> None:
    class Stop(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            raise RuntimeError("mine")

    class Forget(keras.callbacks.Callback):  # type: ignore[misc]  # as above
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            broken.clear()
            gc.collect()

    broken = [RecordFit(tmp_path / "broken")]
    with pytest.raises(RuntimeError, match="mine"):
        model().fit(X, Y, verbose=0, callbacks=[*broken, Stop()])
    model().fit(X, Y, epochs=3, verbose=0, callbacks=[RecordFit(tmp_path / "next"), Forget()])

    assert open_run(tmp_path / "next").rows == 600


@pytest.mark.parametrize("moment", ["on_train_begin", "on_epoch_begin", "on_epoch_end"])
def test_a_callback_that_evaluates_is_no_part_of_the_training(moment: str, tmp_path: Path) -> None:
    class Evaluate(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        def evaluate(self, *_: Any, **__: Any) -> None:
            self.model.evaluate(X[:8], Y[:8], verbose=0)

    evaluate = Evaluate()
    setattr(evaluate, moment, evaluate.evaluate)
    for run, callbacks in (("all", []), ("own", [RecordFit(tmp_path / "callback")])):
        with record_all(tmp_path / run):
            model().fit(X, Y, epochs=2, verbose=0, callbacks=[*callbacks, evaluate])

    found = [
        sorted(stream.rows for stream in open_run(tmp_path / run).streams.values())
        for run in ("callback", "own", "all")
    ]
    evaluations = [8] if moment == "on_train_begin" else [8, 8]
    assert found == [[400], evaluations, [*evaluations, 400]]


def test_two_recordings_of_fit_are_identical(tmp_path: Path) -> None:
    for run in ("a", "b"):
        trained(tmp_path / run, [])

    assert audit(tmp_path / "a", tmp_path / "b").verdict is Verdict.IDENTICAL
