"""Bytes that must hold for ever."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from detloader import open_run
from detloader.manifest.digests import block_digests
from detloader.manifest.schema import Level
from detloader.manifest.verify import verify_run
from tests.support.run_v1 import DECLARED, ROWS
from tests.support.tables import rank_writer

RUN_V1 = Path(__file__).parents[1] / "fixtures" / "run-v1"

FORMATS = {"int64": "<q", "uint64": "<Q", "float64": "<d", "bool": "<B"}
TYPES: dict[str, pa.DataType] = {
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
}
COLUMNS: dict[str, list[Any]] = {
    "int64": [0, -1, None, 2**63 - 1, -(2**63), None, 7, 8, 9],
    "uint64": [0, None, 2**64 - 1],
    "float64": [0.0, -0.0, None, 1.5, float("inf")],
    "bool": [True, False, None],
    "string": ["a", "", None, "ü€😀", "a\0b"],
}
DIGESTS = {
    "int64": "d7898ba5a17a40202350b9d098beba6adc1ed63122b13504f47db84427fe9297",
    "uint64": "76279eebfeba4c648b5660b19bea9ce3f481ad1ca5fd3e77415363255e7e3387",
    "float64": "5d0bde095d5c07939e65b3f91f1587dadca4921a341d08902c21501b1221d76b",
    "bool": "3c5ce683bb3af1ac04109c76e514e9cd2d65c8f4d14ae7f19d0845b13e1b1e19",
    "string": "cb4316bdc8520e0743e37711c17d4405af9c1b0caa0f96b4ef134d73331e6006",
}


def block_bytes(type_: str, values: list[Any]) -> bytes:
    """Write a block down value by value, as the documentation says it."""
    mask = bytearray(-(-len(values) // 8))
    for row, value in enumerate(values):
        if value is None:
            mask[row // 8] |= 1 << row % 8
    head = type_.encode("ascii") + b"\0" + struct.pack("<Q", len(values)) + bytes(mask)
    if type_ == "string":
        texts = [(value or "").encode("utf-8") for value in values]
        return head + b"".join(struct.pack("<Q", len(text)) for text in texts) + b"".join(texts)
    return head + b"".join(
        struct.pack(FORMATS[type_], 0 if value is None else value) for value in values
    )


@pytest.mark.parametrize("type_", sorted(COLUMNS))
def test_a_block_is_its_type_its_length_its_nulls_and_its_values(type_: str) -> None:
    column = pa.chunked_array([pa.array(COLUMNS[type_], TYPES[type_])])

    (digest,) = block_digests(column)

    assert digest == hashlib.sha256(block_bytes(type_, COLUMNS[type_])).hexdigest()
    assert digest == DIGESTS[type_]


def test_a_new_block_begins_every_65536_rows() -> None:
    values = np.arange(65_537)

    first, second = block_digests(pa.chunked_array([pa.array(values)]))

    assert first == hashlib.sha256(block_bytes("int64", values[:65_536].tolist())).hexdigest()
    assert second == hashlib.sha256(block_bytes("int64", [65_536])).hexdigest()


def test_a_column_digest_is_over_its_blocks_and_a_fingerprint_over_its_columns(
    tmp_path: Path,
) -> None:
    rows = pa.table({"record": np.arange(70_000), "worker": np.zeros(70_000, np.int64)})
    with rank_writer(tmp_path / "run") as writer:
        writer.append(rows)

    blocks = [
        hashlib.sha256(block_bytes("int64", part)).digest()
        for part in (list(range(65_536)), list(range(65_536, 70_000)))
    ]
    digest = hashlib.sha256(b"".join(blocks)).hexdigest()
    listed = json.dumps([["main", 0, "record", "int64", digest]], separators=(",", ":"))
    run = open_run(tmp_path / "run")
    digests = run.streams["main"].digests

    assert digests is not None
    assert digests["record"] == ((0, digest),)
    assert run.fingerprint == hashlib.sha256(listed.encode()).hexdigest()


def test_the_bytes_of_a_manifest_hold_for_ever(tmp_path: Path) -> None:
    with rank_writer(
        tmp_path / "run", level=Level.DIGEST, loader="to_grain", seed=2**60, weights=[1e-7, 2.0]
    ) as writer:
        writer.append(pa.table({"record": [3, 1, 2], "epoch": [0, 0, 0]}))

    manifest = (tmp_path / "run" / "main" / "rank-00000" / "manifest.json").read_bytes()

    assert manifest == MANIFEST


MANIFEST = b"""\
{"columns":[{"blocks":["f2d9b196e681aefef58bc147d5565d4f325f16ccf0b7c8f3f4d2f1219287cc3f"]\
,"compared":true,"digest":"1b2433decff18cb08390ce5691f121c038006defd2ed9fe5c65dc70f70079d5\
d","name":"record","type":"int64"},{"blocks":["4ad05f652203020ea4df9a86ca0d66fe0efe5ae83c3\
d7bf9b52a40daec129ca3"],"compared":true,"digest":"2a8e97116ed20badac01ee63242e7fa91be6ff10\
24b642810135894adf49b4d1","name":"epoch","type":"int64"}],"declared":{"loader":"to_grain",\
"seed":{"$int":"1152921504606846976"},"weights":[1e-7,2]},"environment":{"byteorder":null,\
"cpu_features":[],"env":{},"platform":null,"versions":{}},"files":[],"fingerprint":"72b75d\
1edc8b0f55d1560f2c4a512c4db88cb55cbcf58826e1633eddd244c7d3","level":"digest","rank":0,"ran\
ks":null,"recipe":null,"run_id":"a-run","schema_version":1,"seen":{"epochs":1,"lost":0,"ro\
ws":3,"seeds":[]},"sha256":"9d425ba44d52475710c02f710b040eea743f93deb5b8352b7135ff417716f0\
d4","state":"complete","stream":"main"}"""


def test_a_run_of_schema_version_1_keeps_opening() -> None:
    run = verify_run(RUN_V1)
    stream = run.streams["main"]

    assert run.fingerprint == FINGERPRINT_V1
    assert run.complete
    assert run.run_id == "run-v1"
    assert stream.declared == DECLARED
    for rank in stream.ranks:
        assert repr(rank.table().to_pylist()) == repr(ROWS[rank.header.rank].to_pylist())


FINGERPRINT_V1 = "85980770565c453a53fc10fffd8bf58f6e93583127b96edc1682e7a13148c66e"
