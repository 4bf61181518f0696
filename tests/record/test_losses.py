"""What cannot be recorded is counted; the loop goes on, and what is kept is an exact prefix."""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import open_run, record
from detloader.manifest.verify import verify_run

CHILD = Path(__file__).parents[1] / "support" / "recording.py"


class Opaque:
    """A sample that has no bytes of its own."""


def recorded(elements: list[Any], run: Path, **options: Any) -> tuple[list[Any], int, bool]:
    """Record, and return the IDs that were kept, the count of the lost, and completeness."""
    with record(elements, run, **options) as twin:
        assert all(a is b for a, b in zip(twin, elements, strict=True))
    stream = verify_run(run).streams["main"]
    (rank,) = stream.ranks
    kept = stream.table(["record"])["record"].to_pylist() if rank.rows else []
    return kept, rank.header.seen.lost, stream.complete


BAD_IDS: dict[str, tuple[list[Any], Callable[[Any], Any] | str]] = {
    "a missing key": ([{"id": 1}, {"id": 2}, {}, {"id": 4}], "id"),
    "a function that fails": ([1, 2, 0, 4], lambda element: element // bool(element)),
    "text after numbers": ([1, 2, "a", 4], lambda element: element),
    "a number after text": (["1", "2", 3, "4"], lambda element: element),
    "a float": ([1, 2, 3.0, 4], lambda element: element),
    "a bool": ([1, 2, True, 4], lambda element: element),
    "nothing": ([1, 2, None, 4], lambda element: element),
    "too large a number": ([1, 2, 2**63, 4], lambda element: element),
    "text without UTF-8": (["1", "2", "\udcff", "4"], lambda element: element),
    "bytes without UTF-8": ([b"1", b"2", b"\xff", b"4"], lambda element: element),
}


@pytest.mark.parametrize("name", BAD_IDS)
def test_an_element_without_a_fit_id_ends_the_rows_but_not_the_loop(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    elements, ids = BAD_IDS[name]
    with caplog.at_level(logging.WARNING, "detloader"):
        kept, lost, complete = recorded(elements, tmp_path / "run", ids=ids)

    assert [int(id_) for id_ in kept] == [1, 2]
    assert (lost, complete) == (2, False)
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        f"{tmp_path / 'run'}/main/rank-00000 records no further rows"
    ]


BAD_BATCHES: dict[str, Any] = {
    "mixed types": [3, "a"],
    "one value": 3,
    "one text": "ab",
    "too few": [3],
    "too many": np.array([3, 4, 5]),
    "pairs": np.array([[3, 4], [5, 6]]),
    "too large": [3, 2**64],
}


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_a_batch_without_fit_ids_ends_the_rows_but_not_the_loop(tmp_path: Path, name: str) -> None:
    x = np.zeros((2, 3))
    ids = iter([[1, 2], BAD_BATCHES[name], [7, 8]])

    kept, lost, complete = recorded(
        [{"x": x}, {"x": x}, {"x": x}], tmp_path / "run", ids=lambda _: next(ids), batched=True
    )

    assert kept == [1, 2]
    assert lost >= 2
    assert not complete


@settings(deadline=None)
@given(good=st.integers(0, 5), bad=st.integers(1, 5))
def test_rows_before_the_first_loss_are_kept_and_the_others_are_counted(
    good: int, bad: int
) -> None:
    elements: list[Any] = [*range(good), None, *range(bad - 1)]
    with tempfile.TemporaryDirectory() as folder:
        kept, lost, complete = recorded(elements, Path(folder) / "run", ids=lambda element: element)

    assert (kept, lost, complete) == (list(range(good)), bad, False)


def test_samples_without_bytes_and_without_ids_cannot_be_recorded(tmp_path: Path) -> None:
    assert recorded([Opaque(), Opaque()], tmp_path / "run") == ([], 2, False)


def test_samples_without_bytes_have_ids_and_no_content(tmp_path: Path) -> None:
    ids = iter(range(3))
    elements: list[Any] = [Opaque(), np.zeros(3), Opaque()]

    kept = recorded(elements, tmp_path / "run", ids=lambda _: next(ids))

    assert kept == ([0, 1, 2], 0, True)
    assert list(open_run(tmp_path / "run").streams["main"].columns) == ["record", "epoch"]


def test_a_sample_without_bytes_among_others_has_an_empty_content(tmp_path: Path) -> None:
    ids = iter(range(3))
    elements: list[Any] = [np.zeros(3), Opaque(), np.zeros(3)]
    recorded(elements, tmp_path / "run", ids=lambda _: next(ids))

    content = open_run(tmp_path / "run").streams["main"].table(["content"])["content"].to_pylist()
    assert content[0] == content[2]
    assert content[1] is None


def test_ids_of_every_array_library_are_taken(tmp_path: Path) -> None:
    elements = [1, np.int64(2), np.array(3), np.uint8(4)]

    assert recorded(elements, tmp_path / "run", ids=lambda e: e)[0] == [1, 2, 3, 4]
    texts = ["a", np.str_("b"), b"c", np.bytes_(b"d"), np.array("e"), "f\0"]
    assert recorded(texts, tmp_path / "text", ids=lambda e: e)[0] == [
        "a",
        "b",
        "c",
        "d",
        "e",
        "f\0",
    ]


def said(*arguments: object) -> str:
    found = subprocess.run(
        [sys.executable, str(CHILD), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=250,
    )
    return found.stdout.strip()


@pytest.mark.parametrize("limit", [4000, 6000, 20_000])
def test_a_disk_that_fills_costs_rows_and_nothing_else(tmp_path: Path, limit: int) -> None:
    assert said("starving", tmp_path / "run", limit, 20_000) == "True"

    run = verify_run(tmp_path / "run")
    found = run.streams["main"].table(["record"])["record"].to_pylist() if run.rows else []
    lost = run.streams["main"].ranks[0].header.seen.lost
    assert found == list(range(run.rows))
    assert not run.complete
    assert not lost or run.rows + lost == 20_000


def test_nothing_is_appended_behind_a_torn_batch(tmp_path: Path) -> None:
    rows = int(said("starving_writer", tmp_path / "run", 20_000))

    table = open_run(tmp_path / "run").streams["main"].table(["record"])
    assert rows > 0
    assert table["record"].to_pylist() == list(range(rows))


def test_a_full_disk_at_the_start_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    assert said("starving", tmp_path / "run", 100, 10).startswith("RunError ")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_an_error_at_the_start() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        answer = said("without_permission", folder)

        assert answer.startswith("RunError ")
        assert "cannot be written: Permission denied" in answer
        assert not list(Path(folder).iterdir())
