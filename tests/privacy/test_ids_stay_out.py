"""With a key, no ID of a record stands in a run's folder, in whatever column it came."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
import torch

from detloader import open_run, record, to_grain
from detloader.importers import import_log
from detloader.manifest.keyed import IdHash

PATIENTS = [f"Müller^Anna-{number:03d}" for number in range(40)]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "ids.key"
    path.write_text("7e5b0d3c" * 8 + "\n")
    return path


def of_an_iterable(run: Path, key: Path) -> None:
    with record(PATIENTS, run, ids=str, id_hash=key) as patients:
        for _ in patients:
            pass


def of_a_stream(run: Path, key: Path) -> None:
    weights = dict.fromkeys(PATIENTS, 1.0)
    stream = to_grain([np.float32(1)] * 40, seed=0, shuffle=True, batch_size=8, num_epochs=2)
    with record(stream, run, ids=PATIENTS, id_hash=key, declared={"weights": weights}) as batches:
        for _ in batches:
            pass


def of_a_torch_loader(run: Path, key: Path) -> None:
    loader: Any = torch.utils.data.DataLoader([*range(40)], batch_size=8, shuffle=True)  # type: ignore[arg-type]  # any sequence will do
    with record(loader, run, ids=PATIENTS, id_hash=key) as batches:
        for _ in batches:
            pass


def of_a_log(run: Path, key: Path) -> None:
    log = run.parent / "log.jsonl"
    rows = [
        {"record": patient, "asked": patient, "shard": f"{patient}.tar", "who": patient}
        | {"label": patient, "epoch": 0, "split": "train"}
        for patient in PATIENTS
    ]
    log.write_text("\n".join(map(json.dumps, rows)))
    meta = run.parent / "meta.json"
    meta.write_text(json.dumps({"weights": dict.fromkeys(PATIENTS, 2.0)}))
    import_log(log, run, meta=meta, id_hash=key)


RECORDINGS = [of_an_iterable, of_a_stream, of_a_torch_loader, of_a_log]


def all_texts(folder: Path) -> Iterator[str]:
    """Yield all that the files of a folder say, packed or not, and what they are called."""
    for path in folder.rglob("*"):
        yield str(path.relative_to(folder))
        if path.is_file():
            yield path.read_bytes().decode("utf-8", "replace")
        if path.suffix == ".parquet":
            yield from texts_of(pa.parquet.read_table(path))


def texts_of(rows: pa.Table) -> Iterator[str]:
    yield str(rows.schema.to_string(show_schema_metadata=True))
    yield from (str(value) for column in rows.columns for value in column.to_pylist())


@pytest.mark.parametrize("recording", RECORDINGS)
def test_no_id_stands_anywhere_in_the_folder(
    recording: Callable[[Path, Path], None], tmp_path: Path, key: Path
) -> None:
    recording(tmp_path / "run", key)

    said = "\n".join(all_texts(tmp_path / "run"))
    digest = IdHash.of(key).digest(PATIENTS[3])

    assert digest in said
    for patient in PATIENTS:
        assert patient not in said
        assert json.dumps(patient)[1:-1] not in said


def test_no_id_stands_in_the_journal_of_an_open_run(tmp_path: Path, key: Path) -> None:
    with record(PATIENTS, tmp_path / "run", ids=str, id_hash=key) as patients:
        for _ in patients:
            pass
        recorder: Any = patients._recorder
        while open_run(tmp_path / "run").rows < len(PATIENTS):
            recorder.flush()  # which leaves it to the thread that writes, if that is at it
        (journal,) = (tmp_path / "run").rglob("journal.arrows")
        rows = open_run(tmp_path / "run").streams["main"].table()
        said = journal.read_bytes() + "\n".join(texts_of(rows)).encode()

    assert len(rows) == 40
    assert not any(patient.encode() in said for patient in PATIENTS)


def test_numbers_that_are_ids_are_digests_too(tmp_path: Path, key: Path) -> None:
    numbers = [98_765_432_100 + number for number in range(20)]
    with record(numbers, tmp_path / "run", ids=int, id_hash=key) as patients:
        for _ in patients:
            pass

    run = open_run(tmp_path / "run")
    said = "\n".join(all_texts(tmp_path / "run"))

    assert run.streams["main"].columns["record"] == "string"
    assert not any(str(number) in said for number in numbers)


def test_the_arguments_of_a_factory_are_not_kept(tmp_path: Path, key: Path) -> None:
    from detloader.manifest.schema import Recipe

    recipe = Recipe(factory="train:make", arguments={"patients": [*PATIENTS]})
    with record(PATIENTS, tmp_path / "run", ids=str, id_hash=key, recipe=recipe) as patients:
        for _ in patients:
            pass

    said = "\n".join(all_texts(tmp_path / "run"))

    assert not any(json.dumps(patient)[1:-1] in said for patient in PATIENTS)
