"""Whatever happens to the files of a sealed run is found, and said in one line."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from detloader import open_run
from detloader.errors import DamageError, RunError, RunNotFoundError
from detloader.manifest.canonical import decode_header
from detloader.manifest.schema import FileEntry, Level
from detloader.manifest.verify import verify_run
from tests.support.damage import change_header
from tests.support.tables import rank_writer, write_rows

RANK = Path("main", "rank-00000")
HEADER = RANK / "manifest.json"
PART = RANK / "order" / "part-000000.parquet"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = pa.table({"record": ["a", "b"], "draws": pa.array([1, None], pa.uint64())})
    return write_rows(tmp_path / "run", rows, weights=[1e-7, 1e30], config={"€": "\x1f"})


@pytest.mark.parametrize("name", [HEADER, PART], ids=["header", "part"])
def test_every_truncation_is_found_without_reading_a_block(run: Path, name: Path) -> None:
    whole = (run / name).read_bytes()
    for length in range(len(whole)):
        (run / name).write_bytes(whole[:length])
        with pytest.raises(DamageError):
            open_run(run)
    (run / name).write_bytes(whole + b"\0")

    with pytest.raises(DamageError):
        open_run(run)


def swap(run: Path) -> None:
    """Put the part of another run of equal size in the place of this one's."""
    other = write_rows(run.parent / "other", pa.table({"record": ["b", "a"]}))
    shutil.copy(other / PART, run / PART)


def add(name: str) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        (run / RANK / name).parent.mkdir(exist_ok=True)
        (run / RANK / name).write_bytes(b"")

    return damage


def write_rows_of_another_run(run: Path) -> None:
    other = write_rows(run.parent / "other", pa.table({"record": [1]}), rank=1)
    change_header(other / "main" / "rank-00001" / "manifest.json", run_id="another-run")
    shutil.copytree(other / "main" / "rank-00001", run / "main" / "rank-00001")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no header": (lambda run: (run / HEADER).unlink(), "half-written"),
    "no part": (lambda run: (run / PART).unlink(), "is missing"),
    "no order": (lambda run: shutil.rmtree(run / RANK / "order"), "is missing"),
    "a further part": (add("order/part-000001.parquet"), "no part of the run"),
    "a lock": (add("lock"), "no part of the run"),
    "a journal": (add("journal.arrows"), "no part of the run"),
    "a folder": (add("more/file"), "no part of the run"),
    "a part of another run": (swap, "is damaged"),
    "another rank": (
        lambda run: (run / RANK).rename(run / "main" / "rank-00001"),
        "not where it was recorded",
    ),
    "another spelling of the rank": (
        lambda run: (run / RANK).rename(run / "main" / "rank-000000"),
        "not where it was recorded",
    ),
    "no rank": (
        lambda run: (run / RANK).rename(run / "main" / "rank-first"),
        "not where it was recorded",
    ),
    "another stream": (lambda run: (run / "main").rename(run / "side"), "not where it was"),
    "a rank of another run": (
        write_rows_of_another_run,
        "keep each run in a folder of its own",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_files_out_of_place_are_found_without_reading_a_block(run: Path, name: str) -> None:
    damage, message = DAMAGES[name]
    damage(run)

    with pytest.raises(DamageError, match=message) as caught:
        open_run(run)
    assert "\n" not in str(caught.value)


def test_swapped_parts_of_one_size_are_found_by_verify(tmp_path: Path) -> None:
    a = write_rows(tmp_path / "a", pa.table({"record": ["a", "b"]}))
    b = write_rows(tmp_path / "b", pa.table({"record": ["b", "a"]}))
    shutil.copy(b / PART, a / PART)

    assert open_run(a).rows == 2
    with pytest.raises(DamageError, match="SHA-256 does not fit"):
        verify_run(a)


@pytest.mark.parametrize(
    "path", ["../../../other", "/etc/passwd", "order/../../x", "order/part-0.parquet", "lock", ""]
)
def test_a_header_cannot_point_outside_its_folder(run: Path, path: str) -> None:
    change_header(run / HEADER, files=[FileEntry(path=path, size=0, rows=0, sha256="0" * 64)])

    with pytest.raises(DamageError, match="lists a file"):
        open_run(run)


def refitted(run: Path, rows: pa.Table) -> None:
    """Replace the part by another, and let the header's sizes and hashes fit it."""
    import pyarrow.parquet as pq

    pq.write_table(rows, run / PART)
    data = (run / PART).read_bytes()
    entry = FileEntry(
        path="order/part-000000.parquet",
        size=len(data),
        rows=len(rows),
        sha256=hashlib.sha256(data).hexdigest(),
    )
    change_header(run / HEADER, files=[entry])


DRAWS = pa.array([1, None], pa.uint64())
NO_TEXT = pa.StringArray.from_buffers(
    2, pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes()), pa.py_buffer(b"\xff\xfe")
)


@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"record": ["a", "c"], "draws": DRAWS}),
        pa.table({"record": ["a", "b"], "draws": pa.array([1, 0], pa.uint64())}),
        pa.table({"record": ["a", "b"], "draws": pa.array([1, None], pa.int64())}),
        pa.table({"record": ["a", "b"]}),
        pa.table({"record": ["a", "b"], "draws": DRAWS, "label": [1, 2]}),
        pa.table({"record": ["a"], "draws": DRAWS[:1]}),
        pa.table({"record": NO_TEXT, "draws": DRAWS}),
        pa.table({"record": pa.array(["a", "b"]).dictionary_encode(), "draws": DRAWS}),
        pa.table({"record": [["a"], ["b"]], "draws": DRAWS}),
    ],
    ids=range(9),
)
def test_rows_that_the_digests_do_not_prove_are_found_by_verify(run: Path, rows: pa.Table) -> None:
    refitted(run, rows)

    with pytest.raises(DamageError, match="is damaged"):
        verify_run(run)


def test_a_header_that_contradicts_itself_is_found_by_verify(run: Path) -> None:
    header = decode_header((run / HEADER).read_bytes(), "")
    column = header.columns[0]
    contradictions: dict[str, dict[str, object]] = {
        "add up": {"seen": msgspec.structs.replace(header.seen, rows=10**18)},
        "fingerprint": {"fingerprint": "0" * 64},
        "blocks": {
            "level": Level.DIGEST,
            "files": [],
            "seen": msgspec.structs.replace(header.seen, rows=10**18),
        },
        "digest of column": {
            "columns": [msgspec.structs.replace(column, digest="0" * 64), *header.columns[1:]]
        },
        "digest of column 'record'": {
            "columns": [msgspec.structs.replace(column, compared=False), *header.columns[1:]]
        },
    }
    whole = (run / HEADER).read_bytes()
    for message, changed in contradictions.items():
        change_header(run / HEADER, **changed)
        if "files" in changed:
            shutil.rmtree(run / RANK / "order")

        with pytest.raises(DamageError, match=message):
            verify_run(run)
        (run / HEADER).write_bytes(whole)
        if "files" in changed:
            rows = pa.table({"record": ["a", "b"], "draws": DRAWS})
            shutil.copytree(
                write_rows(run.parent / "again", rows) / RANK / "order", run / RANK / "order"
            )


def test_a_part_that_no_longer_fits_its_header_is_damage_when_it_is_read(run: Path) -> None:
    refitted(run, pa.table({"record": ["a", "b"]}))

    with pytest.raises(DamageError, match="files do not hold the columns"):
        open_run(run).streams["main"].table()


def test_a_missing_run_a_file_and_an_empty_folder_hold_no_run(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("record\n1\n")
    (tmp_path / "empty").mkdir()

    with pytest.raises(RunNotFoundError, match="does not exist"):
        open_run(tmp_path / "nowhere")
    for name in ("log.csv", "empty"):
        with pytest.raises(RunNotFoundError, match=f"{name} holds no run"):
            open_run(tmp_path / name)


def test_a_header_that_cannot_be_read_is_one_line(run: Path) -> None:
    (run / HEADER).unlink()
    (run / HEADER).mkdir()

    with pytest.raises(RunError, match="cannot be read"):
        open_run(run)


@pytest.mark.parametrize(
    "forged",
    [{"columns": []}, {"fingerprint": "0" * 64}, {"files": []}],
    ids=["no columns", "another fingerprint", "no files"],
)
def test_a_header_that_contradicts_itself_is_not_opened(
    run: Path, forged: dict[str, object]
) -> None:
    change_header(run / HEADER, **forged)
    for part in (run / RANK / "order").glob("*") if "files" in forged else ():
        part.unlink()

    with pytest.raises(DamageError, match="restore it from a copy"):
        open_run(run)


@pytest.mark.parametrize("missing", [0, 1])
def test_a_rank_that_is_gone_is_said(tmp_path: Path, missing: int) -> None:
    for rank in range(2):
        with rank_writer(tmp_path / "run", rank=rank, ranks=2) as writer:
            writer.append(pa.table({"record": [rank]}))
    assert verify_run(tmp_path / "run").complete
    shutil.rmtree(tmp_path / "run" / "main" / f"rank-0000{missing}")

    assert not open_run(tmp_path / "run").complete
    with pytest.raises(DamageError, match="lacks 1 of the ranks"):
        verify_run(tmp_path / "run")
