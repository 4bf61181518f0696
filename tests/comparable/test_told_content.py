"""Content of samples that hold their own ID: digested with the ID as it is told."""

from __future__ import annotations

import operator
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import grain
import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from detloader import audit, open_run, record
from detloader.findings import Verdict
from detloader.manifest.content import sample_digest
from detloader.manifest.keyed import IdHash
from detloader.manifest.relative import IdRoot
from tests.support.torch_datasets import torch_loader

Samples = list[dict[str, Any]]


def samples(root: str) -> Samples:
    return [{"path": f"{root}/train/{i}.png", "label": i, "folder": "/here"} for i in range(6)]


def batches(of: Samples) -> Samples:
    return [
        {name: [sample[name] for sample in of[first : first + 4]] for name in of[0]}
        for first in (0, 4)
    ]


def table(of: Samples) -> Any:
    types = [("path", "U60"), ("label", "i8"), ("folder", "U5")]
    return np.array([tuple(sample.values()) for sample in of], types)


def tensors(of: Samples) -> Any:
    return tf.data.Dataset.from_tensor_slices(
        {name: [sample[name] for sample in of] for name in of[0]}
    )


KINDS: dict[str, tuple[Callable[[Samples], Any], dict[str, Any]]] = {
    "samples": (list, {}),
    "batches": (batches, {"batched": True}),
    "structured arrays": (table, {}),
    "torch": (lambda of: torch_loader(of, batch_size=4), {}),
    "torch, collated otherwise": (lambda of: torch_loader(of, batch_size=4, collate_fn=list), {}),
    "torch, in workers": (lambda of: torch_loader(of, batch_size=4, num_workers=1), {}),
    "hugging face": (datasets.Dataset.from_list, {}),
    "grain": (grain.MapDataset.source, {}),
    "tensorflow": (lambda of: tensors(of).batch(4), {}),
}


@pytest.fixture
def key(tmp_path: Path) -> str:
    path = tmp_path / "ids.key"
    path.write_text(secrets.token_hex())
    return str(path)


def content(run: Path) -> list[Any]:
    return open_run(run).streams["main"].table()["content"].to_pylist()


@pytest.mark.parametrize("hashed", [False, True], ids=["told", "hashed"])
@pytest.mark.parametrize("kind", KINDS)
def test_where_the_files_lie_is_no_part_of_their_content(
    kind: str, hashed: bool, key: str, tmp_path: Path
) -> None:
    make, options = KINDS[kind]
    options = options | ({"id_hash": key} if hashed else {})
    for run, root in (("a", "/home/me/data"), ("b", "/mnt")):
        loader = make(samples(root))
        with record(loader, tmp_path / run, ids="path", id_root=root, **options) as twin:
            list(twin)
    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.verdict is Verdict.IDENTICAL
    assert "content" not in (result.not_compared or [])


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"tensorflow"}))
def test_the_content_is_that_of_a_sample_with_the_told_id(
    kind: str, key: str, tmp_path: Path
) -> None:
    make, options = KINDS[kind]
    for run, id_hash in (("told", None), ("hashed", key)):
        loader = make(samples("/data"))
        options = options | {"id_hash": id_hash}
        with record(loader, tmp_path / run, ids="path", id_root="/data", **options) as twin:
            list(twin)
    told = [sample | {"path": sample["path"][6:]} for sample in samples("/data")]
    digest = IdHash.of(key).digest
    hashed = [sample | {"path": digest(sample["path"])} for sample in told]

    assert content(tmp_path / "told") == [sample_digest(sample) for sample in told]
    assert content(tmp_path / "hashed") == [sample_digest(sample) for sample in hashed]


def test_numbers_are_no_part_of_content_where_ids_are_hashed(key: str, tmp_path: Path) -> None:
    patients = [{"patient": np.int32(i), "x": i} for i in range(3)]
    for run, id_hash in (("plain", None), ("hashed", key)):
        with record(patients, tmp_path / run, ids="patient", id_hash=id_hash) as twin:
            list(twin)
    hashed = [{"patient": IdHash.of(key).digest(i), "x": i} for i in range(3)]

    assert content(tmp_path / "plain") == [sample_digest(sample) for sample in patients]
    assert content(tmp_path / "hashed") == [sample_digest(sample) for sample in hashed]


@pytest.mark.parametrize("ids", [operator.itemgetter("path"), "label"], ids=["function", "other"])
def test_all_but_the_key_of_the_id_stays_as_it_is(ids: Any, tmp_path: Path) -> None:
    with record(samples("/data"), tmp_path / "run", ids=ids, id_root="/data") as twin:
        list(twin)

    assert content(tmp_path / "run") == [sample_digest(sample) for sample in samples("/data")]


def test_bytes_stay_bytes(tmp_path: Path) -> None:
    of = [{"path": b"/data/1.png"}, {"path": b"/elsewhere/2.png"}]
    ways = {"samples": (of, False), "batches": ([{"path": [s["path"] for s in of]}], True)}
    for run, (loader, batched) in ways.items():
        with record(loader, tmp_path / run, ids="path", id_root="/data", batched=batched) as twin:
            list(twin)

        expected = [{"path": b"1.png"}, {"path": b"/elsewhere/2.png"}]
        assert content(tmp_path / run) == [sample_digest(sample) for sample in expected]


@given(
    root=st.sampled_from(["/data", "/", "data", "s3://bucket/data", "D:\\data"]),
    name=st.lists(
        st.sampled_from(["/", "data", "..", ".", "a\n", "1.png", "\\", "D:", "s3:", "bucket", "é"])
    ).map("".join),
)
def test_one_id_is_told_as_many_are(root: str, name: str) -> None:
    folder = IdRoot(root)
    ids = [name, f"{root}/{name}", f"./{root}//{name}"]

    together = folder.relative(pa.chunked_array([pa.array(ids, pa.string())])).to_pylist()

    assert [folder.tell(id_) for id_ in ids] == together
