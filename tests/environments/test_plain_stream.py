"""What the small recorder sends has the digests of what it was given."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from detloader.audits.environments.plain import decode
from detloader.carried import recorder
from detloader.carried.recorder import encode
from detloader.manifest.content import UndigestibleError, batch_digests, sample_digest

texts = st.text() | st.text(st.characters(categories=["Cs"]), max_size=2)
types = st.one_of(
    of_numpy.boolean_dtypes(),
    of_numpy.integer_dtypes(endianness="?"),
    of_numpy.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    of_numpy.complex_number_dtypes(sizes=(64, 128)),
    of_numpy.unicode_string_dtypes(max_len=3),
    of_numpy.byte_string_dtypes(max_len=3),
    of_numpy.datetime64_dtypes(),
    of_numpy.array_dtypes(max_size=3),
)
shapes = of_numpy.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=3)
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.complex_numbers(),
    texts,
    st.binary(),
    of_numpy.arrays(types, shapes),
    of_numpy.arrays(np.float32, (3,)).map(lambda array: array[0]),
    of_numpy.arrays("<U3", (2,)).map(lambda array: array[0]),
)
samples = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    ),
    max_leaves=6,
)


def sent(element: object) -> Any:
    tree, pieces = encode(element)
    return decode(json.loads(json.dumps(tree)), b"".join(pieces))


@given(samples)
def test_a_sample_has_one_digest_before_and_after_it_was_sent(sample: object) -> None:
    assert sample_digest(sent(sample)) == sample_digest(sample)


@given(
    st.lists(st.one_of(st.integers(0, 9), st.floats(), st.text(), st.complex_numbers()), min_size=1)
)
def test_the_rows_of_a_batch_have_their_digests_before_and_after_it_was_sent(
    values: list[Any],
) -> None:
    batch = {
        "plain": values,
        "scalars": [*np.arange(len(values))],
        "array": np.ones((len(values), 2)),
    }

    assert batch_digests(sent(batch)).tolist() == batch_digests(batch).tolist()


@pytest.mark.parametrize("opaque", [object(), {1, 2}, np.array([object()]), 1 << 70])
def test_what_has_no_bytes_of_its_own_has_none_after_it_was_sent(opaque: object) -> None:
    with pytest.raises(UndigestibleError):
        sample_digest(sent({"it": opaque}))


def test_the_recorder_is_written_for_python_3_9_and_imports_nothing_but_numpy() -> None:
    source = Path(recorder.__file__).read_text(encoding="utf-8")

    statements = ast.walk(ast.parse(source, feature_version=(3, 9)))
    modules = {node.module for node in statements if isinstance(node, ast.ImportFrom)}
    statements = ast.walk(ast.parse(source))
    modules |= {a.name for node in statements if isinstance(node, ast.Import) for a in node.names}

    assert {str(module).partition(".")[0] for module in modules} <= {
        "numpy",
        *sys.stdlib_module_names,
    }
