"""Columns without a value in any row: two runs that hold nothing are not the same in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.audits import audit, check
from detloader.findings import DifferenceLevel, Verdict
from detloader.manifest.schema import BLOCK_ROWS, Level
from detloader.reports import render
from tests.support.results import lacking
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

    from detloader.findings import Result

ORDERS: dict[str, list[int]] = {"the same": [0, 1, 2, 3], "another order": [1, 0, 3, 2]}


def rows(order: list[int], **columns: Any) -> dict[str, Any]:
    return {"epoch": [0] * len(order), "record": order, **columns}


def pair(folder: Path, a: dict[str, Any], b: dict[str, Any], **how: Any) -> Result:
    return audit(write_run(folder / "a", a, **how), write_run(folder / "b", b, **how))


@pytest.mark.parametrize("seal", [True, False], ids=["sealed", "open"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["content", "raw", "split", "padding"])
def test_a_column_that_is_null_in_every_row_of_both_is_not_compared(
    name: str, order: str, seal: bool, tmp_path: Path
) -> None:
    types: dict[str, Any] = {"split": pa.int64(), "padding": pa.bool_()}
    nothing = pa.array([None] * 4, types.get(name, pa.uint64()))
    runs = [rows(each, **{name: nothing}) for each in (ORDERS["the same"], ORDERS[order])]
    result = pair(tmp_path, *runs, seal=seal)

    assert result.verdict == ("identical" if order == "the same" else "reordered")
    assert result.not_compared == [name]
    assert name not in (result.streams[0].compared or [])
    assert not {DifferenceLevel.CONTENT, DifferenceLevel.RAW} & {*(result.first_differences or {})}
    for format_ in ("text", "markdown", "html"):
        assert name in render(format_, result).split("ot compared")[1]


@pytest.mark.parametrize("name", ["draws", "draws_torch"])
def test_where_nobody_drew_draws_are_the_same(name: str, tmp_path: Path) -> None:
    result = pair(tmp_path, *[rows([0, 1], **{name: [None, None]})] * 2)

    assert result.verdict is Verdict.IDENTICAL
    assert result.not_compared == []


def test_content_of_one_run_alone_differs(tmp_path: Path) -> None:
    result = pair(tmp_path, rows([0, 1], content=[None, None]), rows([0, 1], content=[7, 8]))

    assert result.verdict is Verdict.CHANGED
    assert result.not_compared == []


@given(
    known=st.lists(st.booleans(), min_size=1, max_size=12),
    ranks=st.integers(1, 3),
    level=st.sampled_from([Level.FULL, Level.DIGEST]),
)
@settings(max_examples=40, deadline=None)
def test_one_value_in_one_rank_is_enough_to_be_compared(
    known: list[bool], ranks: int, level: Level, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = [number if is_known else None for number, is_known in enumerate(known)]
    columns = rows(
        [*range(len(known))], content=content, rank=[n % ranks for n in range(len(known))]
    )
    result = pair(tmp_path_factory.mktemp("runs"), columns, columns, level=level)

    assert result.verdict is Verdict.IDENTICAL
    assert result.not_compared == ([] if any(known) else ["content"])


@given(
    count=st.integers(1, 40) | st.sampled_from([BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 9]),
    kind=st.sampled_from(["int64", "string", "bool", "uint64"]),
    known=st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_the_last_row_counts_wherever_a_block_ends(
    count: int, kind: str, known: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name, value, type_ = {
        "int64": ("split", 0, pa.int64()),
        "string": ("content", "", pa.string()),
        "bool": ("padding", False, pa.bool_()),
        "uint64": ("raw", 0, pa.uint64()),
    }[kind]
    values: Any = pa.array([*[None] * (count - 1), value if known else None], type_)
    columns = rows([*range(count)], **{name: values})
    result = pair(tmp_path_factory.mktemp("runs"), columns, columns)

    assert result.not_compared == ([] if known else [name])


def test_content_that_nobody_saw_cannot_be_checked_for_drift(tmp_path: Path) -> None:
    columns = rows([0, 1, 0, 1], content=[None] * 4) | {"epoch": [0, 0, 1, 1]}
    result = check(write_run(tmp_path / "run", columns))

    assert lacking(result, "content-drift") == ["raw or content"]
