from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.errors import LogError
from detloader.importers.columns import type_columns
from detloader.importers.format import LogFormat

TEXT = LogFormat(
    suffixes=(".csv",), read=lambda _: pa.table({}), is_text=True, row_name="row", first_row=2
)
TYPED = LogFormat(
    suffixes=(".parquet",), read=lambda _: pa.table({}), is_text=False, row_name="row", first_row=1
)

uint64 = st.integers(0, 2**64 - 1)


def text(**columns: list[Any]) -> pa.Table:
    """Type columns of text, as a CSV has them."""
    length = len(next(iter(columns.values())))
    filled = {"record": [str(i) for i in range(length)], **columns}
    return type_columns(
        pa.table({name: pa.array(values, pa.string()) for name, values in filled.items()}), TEXT
    )


def refusal(**columns: list[Any]) -> str:
    with pytest.raises(LogError) as caught:
        text(**columns)
    return str(caught.value)


@given(digests=st.lists(st.none() | uint64, min_size=1))
def test_a_column_of_decimals_is_uint64_and_exact(digests: list[int | None]) -> None:
    column = text(draws=[None if d is None else str(d) for d in digests])["draws"]

    assert column.type == pa.uint64()
    assert column.to_pylist() == digests


@pytest.mark.parametrize("odd", ["ab12", "18446744073709551616", "-1", "007", "1.0", "1e3", " 1"])
@given(digests=st.lists(uint64.map(str)))
def test_one_digest_that_is_no_decimal_makes_the_column_text(odd: str, digests: list[str]) -> None:
    for name in ("draws", "content", "raw", "draws_image"):
        column = text(**{name: [*digests, odd]})[name]

        assert column.to_pylist() == [*digests, odd]


def test_digests_of_type_float_are_refused_for_they_have_lost_digits() -> None:
    raw = pa.table({"record": [1], "draws": [1.0]})

    with pytest.raises(LogError, match="lose digits"):
        type_columns(raw, TYPED)


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (["0", "-5", "9223372036854775807"], pa.int64()),
        (["0", "a"], pa.string()),
        (["1", "01"], pa.string()),
        (["9223372036854775808"], pa.string()),
        (["1.0"], pa.string()),
        (["-0"], pa.string()),
    ],
)
def test_ids_are_integers_where_every_one_is_a_canonical_decimal(
    ids: list[str | None], kind: pa.DataType
) -> None:
    column = text(record=ids)["record"]

    assert column.type == kind
    assert [str(id_) for id_ in column.to_pylist()] == ids


def test_an_empty_id_is_an_error_that_names_the_row() -> None:
    assert "row 3: record is empty" in refusal(record=["1", None])


def test_ids_of_json_lines_that_change_their_type_are_an_error() -> None:
    with pytest.raises(LogError, match="or as text"):
        type_columns(pa.table({"record": pa.array([2**63], pa.uint64())}), TYPED)
    with pytest.raises(LogError, match="or as text"):
        type_columns(pa.table({"record": [True]}), TYPED)


@pytest.mark.parametrize("name", ["epoch", "batch", "rank", "worker", "worker_epoch", "index"])
@pytest.mark.parametrize("value", ["1.5", "nan", "x", "9223372036854775808"])
def test_counters_are_whole_numbers(name: str, value: str) -> None:
    assert f"row 3: {name} is '{value}'" in refusal(**{name: ["0", value]})


@pytest.mark.parametrize("name", ["epoch", "batch", "rank"])
def test_what_decides_the_order_is_never_empty(name: str) -> None:
    assert f"row 2: {name} is empty" in refusal(**{name: [None, "1"]})


def test_a_float_epoch_without_fractions_is_taken_and_nan_is_not() -> None:
    whole = pa.table({"record": [1, 2], "epoch": [0.0, 1.0]})
    torn = pa.table({"record": [1, 2], "epoch": [0.0, float("nan")]})

    assert type_columns(whole, TYPED)["epoch"].to_pylist() == [0, 1]
    with pytest.raises(LogError, match="row 2: epoch is empty"):
        type_columns(torn, TYPED)


def test_ranks_count_from_zero() -> None:
    assert "rank is below zero" in refusal(rank=["0", "-1"])


def test_padding_is_a_flag() -> None:
    column = text(padding=["0", "1", "true", "False", None])["padding"]

    assert column.to_pylist() == [False, True, True, False, None]
    assert "row 2: padding is 'maybe'" in refusal(padding=["maybe"])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", None, "-3"], pa.int64()),
        (["1", "0.5", "1e-3"], pa.float64()),
        (["true", "False", None], pa.bool_()),
        (["1", "x"], pa.string()),
        (["007"], pa.string()),
        (["9223372036854775808"], pa.string()),
        (["9007199254740993", "0.5"], pa.string()),
        (["nan"], pa.string()),
        ([None], pa.string()),
    ],
)
def test_any_other_column_of_text_has_the_type_of_all_its_values(
    values: list[str | None], kind: pa.DataType
) -> None:
    column = text(label=values)["label"]

    assert column.type == kind
    assert column.null_count == values.count(None)


def test_what_was_asked_for_has_the_type_of_what_came() -> None:
    assert text(record=["a", "2"], asked=["1", "2"])["asked"].to_pylist() == ["1", "2"]
    assert text(record=["1", "2"], asked=["1", "2"])["asked"].to_pylist() == [1, 2]


def test_a_log_without_rows_has_columns_all_the_same() -> None:
    table = text(record=[], draws=[], epoch=[])

    assert [str(field.type) for field in table.schema] == ["int64", "uint64", "int64"]
