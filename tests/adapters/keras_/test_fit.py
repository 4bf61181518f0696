"""What Keras's `fit` really trains on; real models, on the TensorFlow backend and on Torch's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf

from detloader import audit, check, open_run, record
from detloader.errors import RunExistsError, UsageError
from detloader.findings import Verdict
from detloader.keras import RecordFit

X = np.arange(24, dtype=np.float32).reshape(12, 2)
Y = np.arange(12, dtype=np.float32)


def model() -> Any:
    built = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    built.compile(optimizer="sgd", loss="mse")
    return built


def column(run: Path, name: str) -> list[Any]:
    return open_run(run).streams["main"].table([name])[name].to_pylist()


def ids_of(batch: Any) -> list[int]:
    return [int(value) for value in np.asarray(batch[0])[:, 0] // 2]


def test_training_is_the_same_with_and_without_recording(tmp_path: Path) -> None:
    losses, weights = [], []
    for callbacks in ([], [RecordFit(tmp_path / "run")]):
        keras.utils.set_random_seed(1)
        fitted = model()
        history = fitted.fit(X, Y, epochs=3, batch_size=5, verbose=0, callbacks=callbacks)
        losses.append(history.history["loss"])
        weights.append([value.tolist() for value in fitted.get_weights()])

    assert losses[0] == losses[1]
    assert weights[0] == weights[1]
    assert open_run(tmp_path / "run").rows == 36


def test_numpy_arrays_after_a_seed_come_in_one_order_for_all_epochs(tmp_path: Path) -> None:
    x = np.arange(400, dtype=np.float32).reshape(200, 2)
    y = np.arange(200, dtype=np.float32)
    keras.utils.set_random_seed(1)
    model().fit(x, y, epochs=3, verbose=0, callbacks=[RecordFit(tmp_path / "arrays")])
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(200, seed=1).batch(32)
    callback = RecordFit(tmp_path / "dataset")
    model().fit(data, epochs=3, shuffle=False, verbose=0, callbacks=[callback])
    faulty = check(tmp_path / "arrays")
    mended = check(tmp_path / "dataset")

    assert faulty.findings[0].rule == "epoch-order-repeat"
    assert mended.verdict is Verdict.CLEAN


def test_epochs_batches_and_ids_are_those_of_fit(tmp_path: Path) -> None:
    callback = RecordFit(tmp_path / "run", ids=ids_of)
    model().fit(X, Y, epochs=2, batch_size=5, shuffle=False, verbose=0, callbacks=[callback])
    declared = open_run(tmp_path / "run").streams["main"].declared

    assert column(tmp_path / "run", "record") == [*range(12), *range(12)]
    assert column(tmp_path / "run", "epoch") == [0] * 12 + [1] * 12
    assert column(tmp_path / "run", "batch") == ([0] * 5 + [1] * 5 + [2] * 2) * 2
    assert (declared.shuffle, declared.batch_size, declared.num_epochs) == (False, 5, 2)
    assert declared.source_size == 12


def test_validation_is_no_part_of_the_run(tmp_path: Path) -> None:
    callback = RecordFit(tmp_path / "run", ids=ids_of)
    model().fit(X, Y, epochs=2, validation_split=0.25, verbose=0, callbacks=[callback])

    assert set(column(tmp_path / "run", "record")) == set(range(9))
    assert open_run(tmp_path / "run").rows == 18


class Batches(keras.utils.PyDataset):  # type: ignore[misc]  # Keras has no types
    """The arrays, a batch for each index."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        rows = slice(4 * index, 4 * index + 4)
        return X[rows], Y[rows]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_py_dataset_is_recorded_in_the_order_that_fit_takes(workers: int, tmp_path: Path) -> None:
    callback = RecordFit(tmp_path / "run", ids=ids_of)
    data = Batches(workers=workers)
    model().fit(data, epochs=2, shuffle=False, verbose=0, callbacks=[callback])

    assert column(tmp_path / "run", "record") == [*range(12), *range(12)]


def test_a_fit_that_raises_leaves_a_part_and_no_trace(tmp_path: Path) -> None:
    class Stop(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            raise RuntimeError("mine")

    callbacks = [RecordFit(tmp_path / "run"), Stop()]
    with pytest.raises(RuntimeError, match="mine"):
        model().fit(X, Y, epochs=2, verbose=0, callbacks=callbacks)
    del callbacks
    history = model().fit(X, Y, epochs=1, verbose=0)

    assert len(history.history["loss"]) == 1
    assert open_run(tmp_path / "run").rows == 12


class Stop(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Ends `fit` by an error, after its first epoch."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        raise RuntimeError("mine")


def test_a_fit_after_one_that_raised_is_a_stream_of_its_own(tmp_path: Path) -> None:
    kept = RecordFit(tmp_path / "run")
    with pytest.raises(RuntimeError, match="mine"):
        model().fit(X, Y, epochs=2, verbose=0, callbacks=[kept, Stop()])
    model().fit(X, Y, epochs=2, verbose=0, callbacks=[kept])
    streams = open_run(tmp_path / "run").streams

    assert {name: stream.rows for name, stream in streams.items()} == {"main": 12, "main-2": 24}
    assert streams["main"].declared.complete is False
    assert streams["main-2"].complete


def two_phases(*callbacks: Any) -> tuple[list[Any], list[Any]]:
    """Train frozen, then fine-tune; return losses and weights."""
    keras.utils.set_random_seed(1)
    fitted = model()
    phases = [fitted.fit(X, Y, epochs=n, verbose=0, callbacks=[*callbacks]) for n in (1, 2)]
    losses = [phase.history["loss"] for phase in phases]
    return losses, [value.tolist() for value in fitted.get_weights()]


def test_each_fit_of_one_callback_is_a_stream_and_trains_as_without(tmp_path: Path) -> None:
    bare = two_phases()
    recorded = [two_phases(RecordFit(tmp_path / run, stream="train")) for run in ("a", "b")]
    result = audit(tmp_path / "a", tmp_path / "b")

    assert recorded == [bare, bare]
    assert {stream.name: stream.verdict for stream in result.streams} == dict.fromkeys(
        ["train", "train-2"], Verdict.IDENTICAL
    )
    assert [stream.rows for stream in open_run(tmp_path / "a").streams.values()] == [12, 24]


def test_a_further_fit_that_cannot_be_recorded_trains_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bare = two_phases()
    record([1], tmp_path / "run", stream="main-2").close()
    recorded = two_phases(RecordFit(tmp_path / "run"))
    streams = open_run(tmp_path / "run").streams

    assert recorded == bare
    assert "fit is not recorded: " in caplog.text
    assert "main-2" in caplog.text
    assert (streams["main"].rows, streams["main-2"].rows) == (12, 0)


def test_a_run_that_is_there_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    model().fit(X, Y, epochs=1, verbose=0, callbacks=[RecordFit(tmp_path / "run")])
    fitted = model()
    before = [value.tolist() for value in fitted.get_weights()]
    again = RecordFit(tmp_path / "run")
    for _ in range(2):
        with pytest.raises(RunExistsError):
            fitted.fit(X, Y, epochs=1, verbose=0, callbacks=[again])

    assert [value.tolist() for value in fitted.get_weights()] == before


PROGRAM = """
import keras, numpy as np
from detloader.keras import RecordFit
x = np.arange(24, dtype=np.float32).reshape(12, 2)

class Stop(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        raise RuntimeError("mine")

def fit(*callbacks, **options):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(x, x[:, 0], epochs=2, verbose=0, callbacks=[*callbacks], **options)

whole = RecordFit("whole", ids=lambda batch: [int(v) for v in batch[0][:, 0]])
fit(whole, batch_size=5, shuffle=False, validation_data=(x[:3], x[:3, 0]))
print(keras.backend.backend())
kept = RecordFit("kept")
try:
    fit(kept, Stop())
except RuntimeError:
    print("raised")
"""


class Ended(NamedTuple):
    """A program that recorded with a backend, and where its runs are."""

    backend: str
    folder: Path
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module", params=["tensorflow", "torch"])
def ended(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder = tmp_path_factory.mktemp(request.param)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env=os.environ | {"KERAS_BACKEND": request.param},
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
    )
    return Ended(request.param, folder, done)


def test_a_program_that_keeps_the_callback_of_a_fit_that_raised_ends_quietly(ended: Ended) -> None:
    run = open_run(ended.folder / "kept")

    assert ended.done.stdout == f"{ended.backend}\nraised\n"
    assert "ignored" not in ended.done.stderr
    assert run.rows == 12
    assert run.streams["main"].declared.complete is False


def test_either_backend_is_recorded(ended: Ended) -> None:
    assert column(ended.folder / "whole", "record") == [*range(0, 24, 2), *range(0, 24, 2)]
    assert column(ended.folder / "whole", "epoch") == [0] * 12 + [1] * 12


@pytest.mark.parametrize("workers", [1, 2])
def test_the_twin_of_a_py_dataset_is_for_a_loop_and_fit_names_the_callback(
    workers: int, tmp_path: Path
) -> None:
    twin = record(Batches(workers=workers), tmp_path / "run", ids=ids_of, batched=True)
    assert isinstance(twin, Batches)
    assert len(list(twin)) == twin.num_batches == 3
    for use in (model().fit, model().evaluate, model().predict):
        with pytest.raises(UsageError, match="RecordFit"):
            use(twin, verbose=0)
    twin.close()

    assert column(tmp_path / "run", "record") == [*range(12)]
    assert open_run(tmp_path / "run").complete


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"run": 3}, "a run is the name of a folder, not 3"),
        ({"run": "a\0b"}, "a run is the name of a folder"),
        ({"stream": "a/b"}, "cannot name a folder"),
        ({"declared": 3}, "declared is a mapping of fields, such as .*, not 3"),
        ({"declared": 0}, "declared is a mapping of fields, such as .*, not 0"),
        ({"declared": {"bogus": 1}}, "unknown field `bogus`"),
    ],
)
def test_what_makes_no_sense_is_refused_before_fit(options: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        RecordFit(**{"run": "run"} | options)


def test_fit_is_recorded_again_by_another_callback(tmp_path: Path) -> None:
    fitted = model()
    for run in ("a", "b"):
        fitted.fit(X, Y, epochs=1, shuffle=False, verbose=0, callbacks=[RecordFit(tmp_path / run)])

    assert audit(tmp_path / "a", tmp_path / "b").verdict is Verdict.IDENTICAL


@pytest.mark.parametrize(
    ("seeds", "kind"), [((None, None), "unseeded"), ((1, 2), "different")], ids=str
)
def test_the_seed_of_a_shuffle_of_arrays_is_named(
    seeds: tuple[int | None, int | None], kind: str, tmp_path: Path
) -> None:
    values = np.arange(400, dtype=np.float32).reshape(200, 2)
    try:
        for run, seed in zip("ab", seeds, strict=True):
            tf.random.set_seed(seed)
            recording = RecordFit(str(tmp_path / run), ids=ids_of)
            model().fit(values, values[:, 0], epochs=1, verbose=0, callbacks=[recording])
    finally:
        tf.random.set_seed(None)
    finding = audit(tmp_path / "a", tmp_path / "b").findings[0]

    assert finding.rule == "seed-handling"
    assert (finding.evidence["kind"], finding.evidence["given"]) == (kind, [*seeds])
