"""Columns become NumPy arrays and come back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.manifest.arrays import from_numpy, to_numpy
from tests.support.tables import tables


@settings(deadline=None)
@given(rows=tables(), cut=st.tuples(st.integers(0, 12), st.integers(0, 12)))
def test_values_and_nulls_are_those_of_arrow(rows: pa.Table, cut: tuple[int, int]) -> None:
    for column in rows.slice(*cut).columns:
        array = column.combine_chunks()
        if array.type == pa.string():
            continue
        values, nulls = to_numpy(array)
        expected = array.to_pylist()

        assert (nulls is not None) == (None in expected)
        found = [
            None if nulls is not None and nulls[at] else value
            for at, value in enumerate(values.tolist())
        ]
        assert repr(found) == repr(expected)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64])
def test_an_array_comes_back(dtype: type[np.generic]) -> None:
    values = np.arange(10).astype(dtype)[::2]

    array = from_numpy(values)

    assert array.to_pylist() == values.tolist()
    assert to_numpy(array)[0].dtype == dtype
