"""Audits and checks as a whole: streams, empty and open runs, levels, many runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from detloader import record
from detloader.audits import audit, check
from detloader.errors import DamageError, RunNotFoundError
from detloader.findings import Counts, Result, Verdict
from detloader.manifest.schema import Level
from tests.support.results import counts_of, first_of
from tests.support.runs import write_run

ROWS = {"epoch": [0, 0, 0, 1, 1, 1], "record": [2, 0, 1, 1, 2, 0]}
OTHER = ROWS | {"record": [2, 0, 1, 1, 0, 2]}


def empty(path: Path, **options: Any) -> Path:
    return write_run(path, {"record": []}, **options)


def test_equal_runs_are_told_equal_without_reading_a_row(tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a", ROWS), write_run(tmp_path / "b", ROWS)
    for part in b.rglob("*.parquet"):
        part.write_bytes(bytes(part.stat().st_size))
    result = audit(a, b)

    assert result.verdict is Verdict.IDENTICAL
    assert result.verified is False
    assert result.differences == Counts()
    with pytest.raises(DamageError):
        audit(a, b, verify=True)


def test_equal_runs_load_no_library_for_rows(tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a", ROWS), write_run(tmp_path / "b", ROWS)
    program = (
        "import sys\n"
        "from detloader.audits import audit\n"
        f"print(audit({str(a)!r}, {str(b)!r}).verdict)\n"
        "print(*sorted({'numpy', 'pyarrow.parquet', 'scipy', 'grain', 'pandas', 'torch',"
        " 'tensorflow'} & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout

    assert output.split() == ["identical"]


@pytest.mark.parametrize("as_id", [int, str])
def test_audit_and_check_load_neither_pandas_nor_a_training_framework(
    tmp_path: Path, as_id: Callable[[int], int | str]
) -> None:
    """Every rule is asked: there are ranks, epochs, batches, draws, content, and marks."""
    rng = np.random.default_rng(0)
    rows: dict[str, list[Any]] = {
        "epoch": [0] * 32 + [1] * 32,
        "batch": [place // 8 for place in range(32)] * 2,
        "rank": [0, 1] * 32,
        "record": [as_id(number) for _ in range(2) for number in rng.permutation(32).tolist()],
        "draws": [None, *rng.integers(0, 2**63, 63).tolist()],
        "content": rng.integers(0, 2**63, 64).tolist(),
        "raw": [f"{number:x}" for number in rng.integers(0, 2**63, 64).tolist()],
        "split": ["train"] * 60 + ["test"] * 4,
        "worker": [0, 0, 1, 1] * 16,
        "label_used": [0.5, None] * 32,
        "padding": [False] * 64,
    }
    rows["asked"] = rows["record"]
    declared = {"shuffle": True, "source_size": 33, "workers": 2, "weights": [1.0] * 33}
    a = write_run(tmp_path / "a", rows, declared)
    b = write_run(tmp_path / "b", rows | {"record": rows["record"][::-1]}, declared)
    program = (
        "import sys\n"
        "from detloader.audits import audit, check\n"
        f"print(audit({str(a)!r}, {str(b)!r}).verdict, check({str(a)!r}).command)\n"
        "print(*sorted({'grain', 'pandas', 'torch', 'tensorflow'} & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout

    assert output.split() == ["changed", "check"]


def test_a_result_survives_the_way_through_json(tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a", ROWS), write_run(tmp_path / "b", OTHER)

    for result in (audit(a, b), check(a), audit(a, b, a)):
        assert msgspec.json.decode(msgspec.json.encode(result), type=Result) == result


def test_proved_runs_are_verified(tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a", ROWS), write_run(tmp_path / "b", OTHER)

    assert audit(a, b, verify=True).verified is True


def test_two_runs_without_a_row_are_inconclusive(tmp_path: Path) -> None:
    result = audit(empty(tmp_path / "a"), empty(tmp_path / "b"))

    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason is not None
    assert "neither run has a row" in result.reason


def test_a_run_without_rows_lacks_all_of_the_baseline(tmp_path: Path) -> None:
    full, none = write_run(tmp_path / "full", ROWS), empty(tmp_path / "none")
    lost, gained = audit(full, none), audit(none, full)

    assert lost.verdict is gained.verdict is Verdict.CHANGED
    assert counts_of(lost) == Counts(missing=6)
    assert counts_of(gained) == Counts(extra=6)
    assert first_of(lost).a == 2
    assert first_of(lost).b is None


def test_an_open_run_without_rows_is_inconclusive(tmp_path: Path) -> None:
    full, none = write_run(tmp_path / "full", ROWS), empty(tmp_path / "none", seal=False)
    result = audit(full, none)

    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason is not None
    assert "before a row reached the disk" in result.reason


def test_a_check_without_rows_is_inconclusive(tmp_path: Path) -> None:
    assert check(empty(tmp_path / "none")).verdict is Verdict.INCONCLUSIVE


def test_a_part_of_a_run_is_compared_as_far_as_it_goes(tmp_path: Path) -> None:
    full = write_run(tmp_path / "full", ROWS)
    part = {name: values[:3] for name, values in ROWS.items()}
    result = audit(full, write_run(tmp_path / "part", part, {"complete": False}))

    assert result.verdict is Verdict.IDENTICAL
    assert result.coverage == 0.5


def test_ranks_of_an_open_run_are_compared_one_by_one(tmp_path: Path) -> None:
    rows = {"batch": [0, 0, 1, 1, 2, 2] * 2, "rank": [0] * 6 + [1] * 6, "record": [*range(12)]}
    full = write_run(tmp_path / "full", rows)
    keep = [0, 1, 2, 3, 4, 5, 6, 7]
    begun = {name: [values[row] for row in keep] for name, values in rows.items()}
    result = audit(full, write_run(tmp_path / "begun", begun, seal=False))

    assert result.verdict is Verdict.IDENTICAL
    assert result.coverage == pytest.approx(8 / 12)


def test_ids_of_two_types_are_inconclusive(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": [1, 2]})
    result = audit(a, write_run(tmp_path / "b", {"record": ["1", "2"]}))

    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason is not None
    assert "int64" in result.reason
    assert "string" in result.reason


def test_digests_alone_tell_that_runs_differ_but_not_where(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", ROWS, level=Level.DIGEST)
    b = write_run(tmp_path / "b", OTHER, level=Level.DIGEST)
    same = write_run(tmp_path / "same", ROWS)

    changed = audit(a, b)
    assert changed.verdict is Verdict.CHANGED
    assert changed.reason is not None
    assert "rows were not kept" in changed.reason
    assert audit(a, same).verdict is Verdict.IDENTICAL
    assert check(a).verdict is Verdict.INCONCLUSIVE


def test_draws_whose_digests_differ_are_a_change_at_level_order(tmp_path: Path) -> None:
    rows = ROWS | {"draws": [1, 2, 3, 4, 5, 6]}
    a = write_run(tmp_path / "a", rows, level=Level.ORDER)
    redrawn = rows | {"draws": [1, 2, 3, 4, 5, 7]}
    result = audit(a, write_run(tmp_path / "b", redrawn, level=Level.ORDER))

    assert result.verdict is Verdict.CHANGED
    assert result.reason is not None
    assert "draws" in result.reason
    assert result.not_compared == ["draws"]


def test_streams_are_paired_by_name_and_the_worst_stands_on_top(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for run, train in ((a, ROWS), (b, OTHER)):
        write_run(run, train, stream="train")
        write_run(run, ROWS, stream="val")
    result = audit(a, b)

    assert result.verdict is Verdict.REORDERED
    assert {stream.name: stream.verdict for stream in result.streams} == {
        "train": Verdict.REORDERED,
        "val": Verdict.IDENTICAL,
    }


def test_a_stream_of_one_run_alone_is_a_change(tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a", ROWS), write_run(tmp_path / "b", ROWS)
    write_run(a, ROWS, stream="val")
    result = audit(a, b)

    assert result.verdict is Verdict.CHANGED
    assert result.reason == f"{b} has no stream 'val'"
    assert counts_of(result) == Counts(missing=6)


def test_each_further_run_is_compared_with_the_first(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, rows)
        for name, rows in (("a", ROWS), ("same", ROWS), ("other", OTHER))
    ]
    result = audit(*runs)

    assert result.verdict is Verdict.REORDERED
    assert isinstance(result.comparisons, list)
    assert [one.verdict for one in result.comparisons] == [Verdict.IDENTICAL, Verdict.REORDERED]
    assert [run.path for run in result.runs] == [str(run) for run in runs]


def test_a_run_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunNotFoundError):
        audit(write_run(tmp_path / "a", ROWS), tmp_path / "none")
    with pytest.raises(RunNotFoundError):
        check(tmp_path / "none")


def test_epochs_of_one_run_alone_are_not_compared(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", ROWS)
    result = audit(a, write_run(tmp_path / "b", {"record": ROWS["record"]}))

    assert result.verdict is Verdict.IDENTICAL
    assert result.not_compared == ["epoch"]


def test_batches_of_one_run_alone_do_not_change_the_order_of_ranks(tmp_path: Path) -> None:
    rows = {"rank": [0] * 4 + [1] * 4, "record": [*range(8)]}
    a = write_run(tmp_path / "a", rows)
    b = write_run(tmp_path / "b", rows | {"batch": [0, 0, 1, 1] * 2})

    assert audit(a, b).verdict is Verdict.IDENTICAL


def test_a_mark_that_differs_is_a_change(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": [1, 2], "split": ["train", "val"]})
    b = write_run(tmp_path / "b", {"record": [1, 2], "split": ["train", "train"]})
    result = audit(a, b)

    assert result.verdict is Verdict.CHANGED
    assert (first_of(result).column, first_of(result).b) == ("split", "train")


def test_digests_of_two_types_are_compared_as_text(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"record": [1, 2], "content": [17, 18]})
    b = write_run(tmp_path / "b", {"record": [1, 2], "content": ["17", "x18"]})
    result = audit(a, b)

    assert counts_of(result) == Counts(content=1)
    assert (first_of(result).a, first_of(result).b) == ("18", "x18")


def test_rows_that_were_lost_lower_the_coverage(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with record([1, 2, object(), 4], tmp_path / name) as loader:
            list(loader)

    result = audit(tmp_path / "a", tmp_path / "b")

    assert (result.verdict, result.coverage) == ("identical", 0.5)
