"""Runs of each released schema version are read for ever, and their signatures hold."""

from __future__ import annotations

from pathlib import Path

from detloader.manifest.keyed import IdHash
from detloader.manifest.schema import Sampling
from detloader.manifest.verify import verify_run
from detloader.signing import verify_signature
from tests.support.run_v1_kept import KEYS, RECORDS

RUN = Path(__file__).parents[1] / "fixtures" / "run-v1-kept"


def test_a_run_of_schema_version_1_keeps_saying_how_its_rows_were_kept() -> None:
    stream = verify_run(RUN).streams["main"]
    (header,) = [rank.header for rank in stream.ranks]
    keyed = IdHash.of(KEYS / "ids.key")
    rows = stream.table()

    assert header.sampling == Sampling(epochs=[0, 2], every=2, then="order")
    assert (header.seen.rows, header.seen.skipped) == (10, 20)
    assert header.digesting == "sha256+decimals:3"
    assert header.id_hash == keyed.name
    assert rows["record"].to_pylist() == [keyed.digest(str(one["id"])) for one in RECORDS[::2]] * 2
    assert [content is None for content in rows["content"].to_pylist()] == [False] * 5 + [True] * 5


def test_a_signature_of_schema_version_1_keeps_proving_its_run() -> None:
    key_id = "f5e6ba164d9b48d3aa43b898a90c66db2245ad5c214966064823f2b90b9d1b6b"

    assert verify_signature(verify_run(RUN), KEYS / "openssl.pub") == key_id
