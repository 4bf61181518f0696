"""Content digested by SHA-256: whoever delivers a sample, it has one digest, in any process."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

from detloader import audit, open_run, record, to_grain
from detloader.audits.replay.spot_check import spot_check
from detloader.errors import UsageError
from detloader.findings import Verdict
from detloader.manifest.rounding import Digester, digest_values
from detloader.manifest.verify import verify_run

RECORDS = np.arange(12, dtype=np.float32)


def expected(value: np.float32) -> str:
    schema = json.dumps([[[], "<f4", []]], separators=(",", ":")).encode()
    return hashlib.sha256(struct.pack("<Q", len(schema)) + schema + value.tobytes()).hexdigest()


def recorded(loader: Any, run: Path, **options: Any) -> list[str]:
    with record(loader, run, digest="sha256", **options) as rows:
        for _ in rows:
            pass
    stream = verify_run(run).streams["main"]
    assert stream.ranks[0].header.digest == "sha256"
    content: list[Any] = stream.table(["content"])["content"].to_pylist()
    return content


LOADERS: dict[str, Any] = {
    "list": lambda: [*RECORDS],
    "to_grain": lambda: to_grain(RECORDS, batch_size=4),
    "to_grain, unbatched": lambda: to_grain(RECORDS),
    "tensorflow": lambda: tf.data.Dataset.from_tensor_slices(RECORDS).batch(4),
}


@pytest.mark.parametrize("name", LOADERS)
def test_a_sample_has_one_digest_whoever_delivers_it(name: str, tmp_path: Path) -> None:
    assert recorded(LOADERS[name](), tmp_path / "run") == [*map(expected, RECORDS)]


@pytest.mark.parametrize("batch_size", [None, 4])
def test_torch_digests_samples_alike(tmp_path: Path, batch_size: int | None) -> None:
    dataset: Any = torch.from_numpy(RECORDS)
    loader = torch.utils.data.DataLoader(dataset, batch_size=batch_size)

    assert recorded(loader, tmp_path / "run") == [*map(expected, RECORDS)]


def test_rounding_comes_before_the_digest(tmp_path: Path) -> None:
    near = np.nextafter(RECORDS, np.float32(99))
    exact = recorded([*RECORDS], tmp_path / "a", decimals=3)

    assert recorded([*near], tmp_path / "b", decimals=3) == exact
    assert open_run(tmp_path / "a").streams["main"].roundings == {"sha256+decimals:3"}


def test_runs_of_unlike_digests_are_not_compared_in_content(tmp_path: Path) -> None:
    recorded(to_grain(RECORDS, batch_size=4), tmp_path / "a")
    with record(to_grain(RECORDS, batch_size=4), tmp_path / "b") as rows:
        for _ in rows:
            pass

    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.verdict is Verdict.IDENTICAL
    assert "content" in (result.not_compared or [])


def test_where_content_stands_for_ids_unlike_digests_are_no_comparison(tmp_path: Path) -> None:
    recorded([*RECORDS], tmp_path / "a")
    with record([*RECORDS], tmp_path / "b") as rows:
        for _ in rows:
            pass

    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.verdict is Verdict.INCONCLUSIVE
    assert "digested otherwise" in (result.reason or "")


def test_content_that_differs_is_found(tmp_path: Path) -> None:
    other = RECORDS.copy()
    other[7] = 99
    recorded([*RECORDS], tmp_path / "a", ids=lambda value: int(value) % 99)
    recorded([*other], tmp_path / "b", ids=lambda value: 7 if value == 99 else int(value))

    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.verdict is Verdict.CHANGED
    assert result.differences
    assert result.differences.content == 1


def test_records_are_made_again_by_the_same_digest(tmp_path: Path) -> None:
    stream = to_grain(RECORDS, batch_size=4)
    recorded(stream, tmp_path / "run")

    assert spot_check(stream, open_run(tmp_path / "run"), 1.0) == (12, [])


def test_a_run_whose_samples_have_no_bytes_has_no_content(tmp_path: Path) -> None:
    elements = [{"id": number, "x": object()} for number in range(3)]
    with record(elements, tmp_path / "run", ids="id", digest="sha256") as rows:
        for _ in rows:
            pass

    assert "content" not in verify_run(tmp_path / "run").streams["main"].columns


@pytest.mark.parametrize("name", [None, "float16", "sha256", "sha256+decimals:2"])
def test_a_digester_is_named_by_what_it_does(name: str | None) -> None:
    digester = Digester.named(name)
    batch = {"x": np.linspace(0, 1, 6).reshape(3, 2)}
    samples = [{"x": row} for row in batch["x"]]

    assert digest_values(digester.batch(batch)) == [*map(digester.sample, samples)]
    assert Digester.named(name) == digester


def test_an_unknown_digest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no digest 'md5'"):
        record([1], tmp_path / "run", digest="md5")
