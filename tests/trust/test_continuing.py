"""A run that ended, or was cut off, goes on in a child that names it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import audit, check, open_run, record
from detloader.errors import RunNotFoundError
from detloader.findings import Verdict
from detloader.manifest.prefix import fingerprint_so_far
from detloader.manifest.schema import Level
from detloader.manifest.writer import PART_ROWS
from tests.support.tables import cuts, rank_writer, tables, write_rows

ROOT = Path(__file__).parents[2]


def recorded(records: Sequence[int], run: Path, **options: Any) -> Path:
    with record(records, run, ids=int, **options) as numbers:
        assert list(numbers) == list(records)
    return run


def parent_of(run: Path) -> object:
    return open_run(run).streams["main"].declared.parent


def test_a_child_names_the_fingerprint_of_a_sealed_parent(tmp_path: Path) -> None:
    parent = recorded(range(5), tmp_path / "a")
    child = recorded(range(5, 9), tmp_path / "b", parent=parent)

    assert parent_of(child) == open_run(parent).fingerprint


def test_a_child_names_what_a_killed_parent_had_on_disk(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys, pyarrow as pa; from tests.support.tables import rank_writer; "
        "rank_writer(sys.argv[1]).append(pa.table({'record': [4, 6, 2]})); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    # A program of its own: a fork of this process may find locks of libraries held for ever.
    subprocess.run([sys.executable, "-c", program, tmp_path / "cut"], cwd=ROOT, check=False)
    whole = write_rows(tmp_path / "whole", pa.table({"record": [4, 6, 2]}))

    child = recorded(range(3), tmp_path / "child", parent=tmp_path / "cut")

    assert parent_of(child) == open_run(whole).fingerprint
    assert open_run(tmp_path / "cut").fingerprint is None


@settings(max_examples=30)
@given(rows=tables(min_rows=1), level=st.sampled_from(Level), data=st.data())
def test_the_fingerprint_so_far_is_that_of_the_run_sealed_there(
    rows: pa.Table, level: Level, data: st.DataObject
) -> None:
    if "record" not in rows.column_names:
        rows = rows.append_column("record", pa.array(range(len(rows)), pa.int64()))
    kept = data.draw(st.integers(1, len(rows)))
    cut_at = [cut for cut in data.draw(cuts(len(rows))) if cut <= kept]
    with tempfile.TemporaryDirectory() as folder:
        run, sealed = Path(folder, "run"), Path(folder, "sealed")
        writer = rank_writer(run, level=level)
        for start, stop in zip([0, *cut_at], [*cut_at, kept], strict=True):
            writer.append(rows.slice(start, stop - start))
        so_far = fingerprint_so_far(open_run(run))
        writer.append(rows.slice(kept))
        writer.close()

        write_rows(sealed, rows.slice(0, kept), level=level)
        assert so_far == open_run(sealed).fingerprint
        assert fingerprint_so_far(open_run(run)) == open_run(run).fingerprint


def test_the_fingerprint_so_far_counts_sealed_parts_and_all_ranks(tmp_path: Path) -> None:
    rows = pa.table({"record": range(PART_ROWS + 3)})
    write_rows(tmp_path / "sealed", rows, ranks=2)
    write_rows(tmp_path / "sealed", rows.slice(7), rank=1, ranks=2)
    write_rows(tmp_path / "run", rows.slice(7), rank=1, ranks=2)
    writer = rank_writer(tmp_path / "run", ranks=2)
    writer.append(rows)
    found = fingerprint_so_far(open_run(tmp_path / "run"))
    writer.discard()

    assert found == open_run(tmp_path / "sealed").fingerprint


def test_a_child_is_judged_by_where_it_went_on(tmp_path: Path) -> None:
    order = [4, 6, 2, 7, 3, 5, 0, 1]
    whole = recorded(order, tmp_path / "whole")
    first = recorded(order[:4], tmp_path / "first")
    resume = {"resume": {"position": 4, "unit": "records"}}
    right = recorded(order[4:], tmp_path / "right", parent=first, declared=resume)
    wrong = recorded(order[5:], tmp_path / "wrong", parent=first, declared=resume)

    assert "resume-drift" not in {finding.rule for finding in audit(whole, right).findings}
    assert "resume-drift" in {finding.rule for finding in audit(whole, wrong).findings}
    assert check(right).verdict is Verdict.CLEAN


def test_a_parent_that_is_not_there_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(RunNotFoundError, match="does not exist"):
        record(range(3), tmp_path / "run", parent=tmp_path / "nowhere")
    assert not list(tmp_path.iterdir())


def test_the_command_line_names_a_parent(tmp_path: Path) -> None:
    parent = recorded(range(5), tmp_path / "a")
    command = ["record", "tests.support.numbered:Records", "-o", str(tmp_path / "b")]

    subprocess.run(
        [sys.executable, "-m", "detloader", *command, "--parent", str(parent), "--batches", "3"],
        check=True,
        cwd=ROOT,
    )

    assert parent_of(tmp_path / "b") == open_run(parent).fingerprint
