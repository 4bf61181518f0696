"""Runs in remote stores: written, read and proved as those on a disk are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pytest

from detloader import audit, check, open_run, record
from detloader.errors import DamageError, RunError, RunExistsError, RunNotFoundError
from detloader.findings import Verdict
from detloader.importers import import_log
from detloader.manifest.beside import write_beside
from detloader.manifest.schema import Level
from detloader.manifest.verify import verify_run
from detloader.manifest.writer import PART_ROWS
from detloader.signing import SIGNATURE, sign_run, verify_signature
from tests.support.stores import s3_server
from tests.support.tables import rank_writer, write_rows

ROOT = Path(__file__).parents[2]
KEYS = ROOT / "tests" / "fixtures" / "keys"
PART = "main/rank-00000/order/part-000000.parquet"


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    with s3_server() as address:
        told = {
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": address,
        }
        with pytest.MonkeyPatch.context() as patch:
            for name, value in told.items():
                patch.setenv(name, value)
            fsspec.filesystem("s3").mkdir("runs")
            yield told


@pytest.fixture(params=["memory", "s3"])
def store(request: pytest.FixtureRequest) -> str:
    """Give an address below which nothing lies yet."""
    if request.param == "s3":
        request.getfixturevalue("server")
    return f"{request.param}://runs/{uuid.uuid4().hex}"


def recorded(records: range, run: str | Path, **options: Any) -> str | Path:
    with record(records, run, ids=int, **options) as numbers:
        assert list(numbers) == list(records)
    return run


def test_a_run_is_recorded_read_proved_and_compared(store: str, tmp_path: Path) -> None:
    a, b = recorded(range(9), f"{store}/a"), recorded(range(1, 9), f"{store}/b")
    local = recorded(range(9), tmp_path / "a")

    run = verify_run(a)
    assert run.complete
    assert run.streams["main"].table(["record"])["record"].to_pylist() == list(range(9))
    assert run.fingerprint == open_run(local).fingerprint
    assert check(a).verdict is Verdict.CLEAN
    assert audit(local, a, verify=True).verdict is Verdict.IDENTICAL
    assert audit(a, b).verdict is Verdict.CHANGED


def test_a_long_run_has_its_parts_there_before_it_ends(store: str) -> None:
    rows = pa.table({"record": range(PART_ROWS + 5)})
    writer = rank_writer(store)
    writer.append(rows)
    cut = open_run(store)

    assert cut.rows == PART_ROWS
    assert not cut.complete
    assert cut.streams["main"].table(["record"])["record"].to_pylist() == list(range(PART_ROWS))
    writer.close()
    assert verify_run(store).rows == PART_ROWS + 5


def test_a_signature_lies_beside_a_run_wherever_it_is(store: str, tmp_path: Path) -> None:
    run, other = recorded(range(9), f"{store}/a"), recorded(range(8), f"{store}/b")
    with pytest.raises(RunError, match="is not signed"):
        verify_signature(verify_run(run), KEYS / "openssl.pub")
    signers = [sign_run(verify_run(run), KEYS / f"{kind}.key") for kind in ("openssl", "ssh")]

    for kind, signer in zip(("openssl", "ssh"), signers, strict=True):
        assert verify_signature(verify_run(run), KEYS / f"{kind}.pub") == signer
    assert audit(run, recorded(range(9), tmp_path / "a"), verify=True).verdict is Verdict.IDENTICAL
    files = fsspec.filesystem(store.partition(":")[0])
    files.copy(f"{run}/{SIGNATURE}", f"{other}/{SIGNATURE}")
    with pytest.raises(DamageError, match="is not the run that was signed"):
        verify_signature(verify_run(other), KEYS / "openssl.pub")


def test_a_store_that_takes_no_signature_is_one_line(server: dict[str, str]) -> None:
    with pytest.raises(RunError, match="cannot be written: The specified bucket does not exist"):
        write_beside("s3://no-such-bucket/run", SIGNATURE, b"")


def test_what_is_there_is_not_written_over(store: str) -> None:
    recorded(range(3), store)

    with pytest.raises(RunExistsError, match="holds a run already"):
        recorded(range(4), store)
    assert verify_run(store).rows == 3


def test_a_program_that_just_ends_has_sealed_its_run(
    server: dict[str, str], tmp_path: Path
) -> None:
    run = f"s3://runs/{uuid.uuid4().hex}"
    code = f"from detloader import record\nfor _ in record(range(5), {run!r}, ids=int): pass"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **server}, check=True)

    assert verify_run(run).rows == 5
    assert open_run(run).complete


def test_a_program_is_recorded_into_a_store(server: dict[str, str], tmp_path: Path) -> None:
    run = f"s3://runs/{uuid.uuid4().hex}"
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "data = DataLoader(TensorDataset(torch.arange(10)), batch_size=4, num_workers=1)\n"
        "print(sum(len(x) for (x,) in data))\n"
    )
    command = [sys.executable, "-m", "detloader", "record", "-o", run, "--"]
    told = subprocess.run(
        [*command, sys.executable, "train.py"],
        cwd=tmp_path, env={**os.environ, **server}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (told.returncode, told.stdout) == (0, "10\n"), told.stderr
    recorded = verify_run(run)
    assert recorded.complete
    assert list(recorded.streams) == ["train.py:3"]
    assert recorded.rows == 10
    again = subprocess.run(
        [*command, sys.executable, "train.py"],
        cwd=tmp_path, env={**os.environ, **server}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert again.returncode == 2
    assert "exists: record into another folder" in again.stderr


def test_a_bucket_that_is_not_there_is_one_line(server: dict[str, str]) -> None:
    with pytest.raises(RunNotFoundError, match="does not exist"):
        open_run("s3://no-such-bucket/run")
    with pytest.raises(RunError, match="cannot be written: The specified bucket does not exist"):
        record([1], "s3://no-such-bucket/run")


def test_ten_thousand_short_epochs_are_few_parts(store: str) -> None:
    epochs = np.repeat(np.arange(10_000), 100)
    records = np.tile(np.arange(100), 10_000)
    with rank_writer(store, level=Level.ORDER) as writer:
        for start in range(0, len(epochs), 20_000):
            rows = slice(start, start + 20_000)
            writer.append(pa.table({"record": records[rows], "epoch": epochs[rows]}))

    (rank,) = verify_run(store).streams["main"].ranks
    assert rank.header.seen.epochs == 10_000
    assert [file.rows for file in rank.header.files] == [*[PART_ROWS] * 3, 10**6 - 3 * PART_ROWS]


def test_a_discarded_run_leaves_nothing(store: str) -> None:
    writer = rank_writer(store)
    writer.append(pa.table({"record": [1]}))
    writer.discard()

    with pytest.raises(RunNotFoundError):
        open_run(store)


def test_a_log_is_imported(store: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("record,rank\n5,0\n6,1\n7,0\n")
    import_log(tmp_path / "log.csv", store)

    assert verify_run(store).rows == 3
    with pytest.raises(RunExistsError, match="exists: import into another folder"):
        import_log(tmp_path / "log.csv", store)


def test_damage_is_found(store: str) -> None:
    write_rows(store, pa.table({"record": [1, 2, 3]}))
    files, path = fsspec.core.url_to_fs(f"{store}/{PART}")
    data = bytearray(files.cat_file(path))
    data[60] ^= 1
    files.pipe_file(path, bytes(data))

    with pytest.raises(DamageError, match="SHA-256 does not fit"):
        verify_run(store)
    files.pipe_file(path, bytes(data[:-1]))
    with pytest.raises(DamageError, match="bytes, not"):
        open_run(store)
    files.rm(path)
    with pytest.raises(DamageError, match="is missing"):
        open_run(store)


def test_a_file_more_is_found(store: str) -> None:
    write_rows(store, pa.table({"record": [1]}))
    files, path = fsspec.core.url_to_fs(f"{store}/main/rank-00000/notes.txt")
    files.pipe_file(path, b"note")

    with pytest.raises(DamageError, match="no part of the run"):
        verify_run(store)


def test_ranks_side_by_side_are_one_run_and_one_that_lacks_is_said(store: str) -> None:
    for rank in range(3):
        write_rows(store, pa.table({"record": [rank], "epoch": [0]}), rank=rank, ranks=3)
    assert [*map(int, verify_run(store).streams["main"].table()["record"].to_numpy())] == [0, 1, 2]
    files, path = fsspec.core.url_to_fs(f"{store}/main/rank-00001")
    files.rm(path, recursive=True)

    assert not open_run(store).complete
    with pytest.raises(DamageError, match="lacks 1 of the ranks"):
        verify_run(store)


def test_processes_that_write_ranks_side_by_side_make_one_run(
    server: dict[str, str], tmp_path: Path
) -> None:
    run = f"s3://runs/{uuid.uuid4().hex}"
    surroundings = {**os.environ, **server, "DETLOADER_RUN_ID": "one", "WORLD_SIZE": "2"}
    command = [sys.executable, "-m", "detloader", "record", "tests.support.numbered:Records"]
    ranks = [
        subprocess.Popen(
            [*command, "-o", run, "--batches", "5"],
            env={**surroundings, "RANK": str(rank)},
            cwd=ROOT,
        )
        for rank in range(2)
    ]
    assert [rank.wait() for rank in ranks] == [0, 0]

    told = subprocess.run(
        [sys.executable, "-m", "detloader", "verify", run],
        env=surroundings, capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert told.stdout.startswith(f"{run} is whole: 10 rows in 2 ranks")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://nowhere/at/all", "does not exist"),
        ("nosuch://bucket/run", "cannot be reached: Protocol not known: nosuch"),
    ],
)
def test_an_address_that_leads_nowhere_is_one_line(address: str, message: str) -> None:
    with pytest.raises(RunError, match=message) as caught:
        open_run(address)
    assert "\n" not in str(caught.value)


def test_a_store_that_does_not_answer_costs_rows_and_not_the_training(tmp_path: Path) -> None:
    code = (
        "import json\n"
        "from tests.support.stores import s3_server\n"
        "import fsspec, os\n"
        "from detloader import record\n"
        "with s3_server() as address:\n"
        "    os.environ['AWS_ENDPOINT_URL'] = address\n"
        "    fsspec.filesystem('s3').mkdir('runs')\n"
        "    fsspec.filesystem('s3').retries = 1\n"
        "    numbers = record(range(100), 's3://runs/a', ids=int)\n"
        "delivered = list(numbers)\n"
        "numbers.close()\n"
        "print(json.dumps(delivered == list(range(100))))\n"
    )
    surroundings = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_MAX_ATTEMPTS": "1",
    }
    told = subprocess.run(
        [sys.executable, "-c", code], env=surroundings, capture_output=True, text=True, check=True,
        cwd=ROOT,
    )  # fmt: skip
    assert json.loads(told.stdout)
    assert "stays open, it could not be sealed: s3://runs/a/main/rank-00000/order" in told.stderr
    assert "cannot be reached" in told.stderr


def test_runs_on_a_disk_need_no_library_for_stores(tmp_path: Path) -> None:
    run = recorded(range(3), tmp_path / "run")
    code = (
        "import sys; from detloader import audit; "
        f"audit({str(run)!r}, {str(run)!r}); print('fsspec' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout == "False\n"
