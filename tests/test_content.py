from __future__ import annotations

from collections import OrderedDict, UserDict
from typing import Any, NamedTuple

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from detloader.manifest.content import UndigestibleError, batch_digests, sample_digest
from detloader.manifest.packed import BatchDigester


class Pair(NamedTuple):
    x: Any
    y: Any


# Written down once: runs on disk hold such digests for ever.
GOLDEN: dict[str, tuple[Any, int]] = {
    "integer": (7, 0x9D21E951075B074F),
    "float": (0.5, 0x1A7D2B90F4F14EAE),
    "boolean": (True, 0x7C8AF9A0AFAA9662),
    "text": ("détloader", 0x6FF8400257D7DFAB),
    "empty text": ("", 0x821EA6DDD52B17E8),
    "bytes": (b"\x00\xff\x00", 0x28AC75BBEF52FD8E),
    "none": (None, 0x4E66A4696F9A620C),
    "array": (np.arange(6, dtype=np.float32).reshape(2, 3), 0xCD7D3ED2B34FF8AA),
    "big-endian array": (np.arange(6, dtype=">i8"), 0xE1A0A4BC00007DE7),
    "array of text": (np.array(["a", "bcd"]), 0x93682475A42F0F16),
    "dates": (np.array(["2020-01-01"], "datetime64[D]"), 0x74C5258162B2A7CD),
    "no elements": (np.zeros((0, 3), np.int16), 0xB8348023B30B5D4B),
    "dict": ({"x": np.ones(4, np.uint8), "y": 3}, 0xBE0EF6CFC1A977EC),
    "nested": ({"a": [1, (2.0, "b")], "c": {"d": np.zeros(2)}}, 0x11AB913D3A5ECE98),
    "structured": (np.array((1, 2.5), [("a", "i2"), ("b", "f8")]), 0x8517ECF41EEF3A94),
}

DTYPES = ["?", "i1", "<i2", ">i4", "<i8", "u1", ">u2", "<u4", ">u8", "<f2", ">f4", "<f8", "<c8"]
DTYPES += [">c16", "<M8[ns]", ">m8[s]", "<U3", ">U2", "S4"]


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_digests_hold(name: str) -> None:
    sample, digest = GOLDEN[name]

    assert sample_digest(sample) == digest


def test_the_schema_s_digest_seeds_that_of_the_bytes() -> None:
    schema = b'[[["t"],"text",[]],[["x",0],"<i2",[2]]]'
    data = b"\x02" + bytes(7) + b"ab" + b"\x01\x00\x02\x00"

    expected = xxhash.xxh3_64_intdigest(data, xxhash.xxh3_64_intdigest(schema))

    assert sample_digest({"x": [np.array([1, 2], ">i2")], "t": "ab"}) == expected


@given(
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: arrays.arrays(dtype, arrays.array_shapes(max_dims=4, max_side=5, min_side=1))
    )
)
def test_a_row_of_an_array_has_the_digest_of_the_sample(batch: np.ndarray) -> None:
    assert batch_digests(batch).tolist() == [sample_digest(row) for row in batch]
    assert batch_digests({"x": batch}).tolist() == [sample_digest({"x": row}) for row in batch]


@given(
    st.lists(
        st.sampled_from(DTYPES).flatmap(
            lambda dtype: arrays.arrays(dtype, st.tuples(st.just(3), st.integers(0, 4)))
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_row_of_several_leaves_has_the_digest_of_the_sample(leaves: list[np.ndarray]) -> None:
    batch = {
        "z": leaves[0],
        "a": [*leaves],
        "m": {"inner": (leaves[-1], Pair(leaves[0], leaves[-1]))},
    }

    def row(tree: Any, number: int) -> Any:
        if isinstance(tree, dict):
            return {key: row(child, number) for key, child in tree.items()}
        if isinstance(tree, list | tuple):
            return [row(child, number) for child in tree]
        return tree[number]

    assert batch_digests(batch).tolist() == [sample_digest(row(batch, n)) for n in range(3)]


@pytest.mark.parametrize("width", [1, 100, 4096, 4097, 100_000])
def test_rows_of_every_width_have_the_digest_of_the_sample(width: int) -> None:
    image = np.random.default_rng(0).integers(0, 255, (5, width), np.uint8)
    batch = {"image": image, "label": np.arange(5)}

    expected = [sample_digest({"image": image[n], "label": n}) for n in range(5)]

    assert batch_digests(batch).tolist() == expected


@given(
    st.one_of(
        st.lists(st.text(), min_size=1, max_size=5),
        st.lists(st.binary(), min_size=1, max_size=5),
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5),
        st.lists(st.one_of(st.floats(), st.booleans(), st.text(), st.integers(0, 9)), min_size=1),
    )
)
def test_a_list_of_plain_values_is_a_column_of_samples(column: list[Any]) -> None:
    # Also where text ends with zeros, or the values are of several types.
    assert batch_digests({"v": column}).tolist() == [sample_digest({"v": v}) for v in column]


@given(
    st.integers(0, 7),
    st.integers(0, 11),
    st.sampled_from(["<f4", "<i2", "u1", "<U3", "S3", "?", "<c8"]),
)
def test_any_changed_bit_changes_the_digest(bit: int, place: int, dtype: str) -> None:
    values = np.random.default_rng(0).integers(1, 100, 12)
    array = (values % 2 if dtype == "?" else values).astype(dtype)
    changed = array.copy()
    raw = changed.view(np.uint8) if array.dtype.kind not in "U?" else None
    if raw is None:
        changed[place] = not changed[place] if dtype == "?" else "Z"
    else:
        raw[place * array.dtype.itemsize] ^= 1 << bit

    for wrap in (lambda a: a, lambda a: {"x": a, "y": 1}, lambda a: [1, [a]]):
        assert sample_digest(wrap(array)) != sample_digest(wrap(changed))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros(4, np.int32), np.zeros(4, np.uint32)),
        (np.zeros(4, np.int32), np.zeros(2, np.int64)),
        (np.zeros(4), np.zeros((2, 2))),
        (np.zeros(0), np.zeros((0, 2))),
        (np.zeros(1), np.zeros(())),
        (1, 1.0),
        (1, True),
        ("a", b"a"),
        ("1", 1),
        (None, np.zeros(0)),
        (np.datetime64("2020-01-01"), np.datetime64("2020-01-01", "s")),
        ({"x": 1}, {"y": 1}),
        ({"x": 1, "y": 2}, {"x": 2, "y": 1}),
        ({"a": {"b": 1}}, {"a/b": 1}),
        ({"0": 1}, [1]),
        ([1, 2], [2, 1]),
        ([[1], 2], [1, [2]]),
        (["ab", "c"], ["a", "bc"]),
        ("a", "a\0"),
        (b"a", b"a\0"),
        (1, [1]),
    ],
)
def test_another_type_shape_key_or_place_is_another_digest(one: Any, other: Any) -> None:
    assert sample_digest(one) != sample_digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (5, np.int64(5)),
        (5, np.array(5)),
        (0.5, np.float64(0.5)),
        (True, np.bool_(True)),
        ("a", np.str_("a")),
        (b"a", np.bytes_(b"a")),
        (np.arange(4, dtype=">i4"), np.arange(4, dtype="<i4")),
        (np.array(["ab"], ">U2"), np.array(["ab"], "<U9")),
        (np.arange(8)[::2], np.array([0, 2, 4, 6])),
        (np.arange(6).reshape(2, 3).T, np.array([[0, 3], [1, 4], [2, 5]])),
        ((1, 2), [1, 2]),
        (Pair(1, 2), [1, 2]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (OrderedDict(b=2, a=1), UserDict(a=1, b=2)),
        (np.array((1, 2.5), [("a", "i2"), ("b", "f8")]), {"b": 2.5, "a": np.int16(1)}),
    ],
)
def test_equal_samples_have_equal_digests_whatever_carries_them(one: Any, other: Any) -> None:
    assert sample_digest(one) == sample_digest(other)


def test_what_lies_between_aligned_fields_is_not_digested() -> None:
    dtype = np.dtype([("a", "i1"), ("b", "f8")], align=True)
    one, other = np.zeros(3, dtype), np.zeros(3, dtype)
    other.view(np.uint8).reshape(3, -1)[:, 1:8] = 99

    assert batch_digests(one).tolist() == batch_digests(other).tolist()
    assert sample_digest(one) == sample_digest(other)


def test_text_that_is_no_unicode_has_a_digest() -> None:
    name = b"caf\xe9.png".decode("utf-8", "surrogateescape")

    assert batch_digests({"name": [name]}).tolist() == [sample_digest({"name": name})]


@pytest.mark.parametrize(
    "sample",
    [
        object(),
        {"x": {1, 2}},
        [lambda: None],
        np.array([object()]),
        2**70,
        np.longdouble(1),
        {"ragged": np.array([[1], [1, 2]], object)},
    ],
)
def test_what_has_no_bytes_of_its_own_has_no_digest(sample: Any) -> None:
    with pytest.raises(UndigestibleError):
        sample_digest(sample)
    with pytest.raises(UndigestibleError):
        batch_digests({"x": np.zeros(1), "y": sample})


@pytest.mark.parametrize(
    "batch",
    [
        {},
        [],
        3,
        {"x": np.zeros(2), "y": np.zeros(3)},
        {"x": np.zeros(2), "y": np.array(1)},
        {"x": np.array(1), "y": np.array(1)},
        {"x": [1, 2], "y": np.zeros(3)},
    ],
)
def test_a_batch_without_one_number_of_rows_has_no_digests(batch: Any) -> None:
    with pytest.raises(UndigestibleError, match="rows"):
        batch_digests(batch)


def test_a_batch_without_rows_has_no_row_s_digest() -> None:
    assert batch_digests({"x": np.zeros((0, 3)), "y": np.zeros(0)}).tolist() == []


def test_digesting_reads_and_does_not_write() -> None:
    batch = {"x": np.arange(6.0).reshape(3, 2), "y": np.arange(3, dtype=">i2")}
    for leaf in batch.values():
        leaf.flags.writeable = False

    assert len(batch_digests(batch)) == 3
    assert batch["y"].dtype == np.dtype(">i2")


@given(
    rows=st.integers(0, 5),
    shapes=st.lists(st.sampled_from([(), (3,), (2, 2), (0,), (700,)]), min_size=1, max_size=3),
    codes=st.lists(st.sampled_from("?bBHiqefdF"), min_size=3, max_size=3),
    kind=st.sampled_from(["dict", "list", "tuple"]),
    layout=st.sampled_from(["plain", "swapped", "strided"]),
)
def test_a_digester_kept_over_batches_gives_what_each_batch_alone_gives(
    rows: int,
    shapes: list[tuple[int, ...]],
    codes: list[str],
    kind: str,
    layout: str,
) -> None:
    digest = BatchDigester()
    rng = np.random.default_rng(rows)
    for size in (rows, rows, rows + 1):
        leaves = {
            name: np.frombuffer(
                rng.bytes(np.dtype(code).itemsize * size * int(np.prod(shape))), code
            )
            .astype(np.dtype(code).newbyteorder(">" if layout == "swapped" else "<"))
            .reshape(size, *shape)[:: -1 if layout == "strided" else 1]
            for name, shape, code in zip("zab", shapes, codes, strict=False)
        }
        batch: Any = leaves
        if kind != "dict":
            batch = list(leaves.values()) if kind == "list" else tuple(leaves.values())
        others = [{**leaves, "text": ["é"] * size}, {"z": leaves["z"]}, [leaves["z"]], leaves["z"]]
        for some in (batch, *others, batch):
            if size or some is not others[0]:
                assert digest(some).tolist() == batch_digests(some).tolist()


@pytest.mark.parametrize(
    "batch", [[np.zeros(2), np.zeros(3)], {"x": np.zeros(2), 3: np.zeros(2)}, (np.array(1),), []]
)
def test_a_digester_kept_over_batches_says_what_each_batch_alone_says(batch: Any) -> None:
    told = []
    for digest in (batch_digests, BatchDigester()):
        try:
            told.append(str(digest(batch).tolist()))
        except UndigestibleError as error:
            told.append(str(error))

    assert told[0] == told[1]


def test_what_a_mask_hides_is_no_content() -> None:
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    for digest in (sample_digest, batch_digests):
        with pytest.raises(UndigestibleError, match="fill them"):
            digest({"x": masked})
