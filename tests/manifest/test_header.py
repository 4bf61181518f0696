"""`manifest.json`: every value comes back, every other byte is refused."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

import msgspec
import numpy as np
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.errors import DamageError
from detloader.manifest.canonical import decode_header, encode_header
from detloader.manifest.schema import Declared, Environment, Header, Level, Recipe, Seen

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
NUMBERS = st.integers() | st.integers(2**53 - 2, 2**65) | st.floats()
KEYS = TEXT | st.sampled_from(["$int", "$float", "$floats", "$object", "sha256"])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def header(**fields: Any) -> Header:
    given_fields = {
        "run_id": "a-run",
        "stream": "main",
        "rank": 0,
        "level": Level.FULL,
        "state": "open",
        "declared": Declared(),
        "environment": Environment(),
        "seen": Seen(),
    }
    return Header(**{**given_fields, **fields})


@settings(deadline=None)
@given(
    config=st.dictionaries(KEYS, VALUES, max_size=3),
    seed=NUMBERS | TEXT | st.none(),
    weights=st.lists(st.floats(), max_size=3) | st.dictionaries(TEXT, st.floats(), max_size=3),
    seeds=st.lists(st.integers(-(2**70), 2**70), max_size=3),
    run_id=TEXT,
)
def test_every_header_comes_back(
    config: dict[str, Any], seed: Any, weights: Any, seeds: list[int], run_id: str
) -> None:
    written = header(
        run_id=run_id,
        declared=Declared(config=config, seed=seed, weights=weights),
        recipe=Recipe(factory="m:f", arguments=config),
        seen=Seen(seeds=seeds),
    )

    read = decode_header(encode_header(written), "manifest.json")

    assert as_text(read) == as_text(written)


def as_text(value: Header) -> str:
    """Give a header as text: NaN is not itself, and JSON has one zero and one 1."""
    return _text(msgspec.to_builtins(value))


def _text(value: Any) -> str:
    match value:
        case dict():
            return "{" + ",".join(f"{key!r}:{_text(value[key])}" for key in sorted(value)) + "}"
        case list():
            return "[" + ",".join(map(_text, value)) + "]"
        case float() if value.is_integer():
            return repr(int(value))
    return repr(value)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32), st.lists(st.floats(), min_size=1, max_size=8), st.integers(998, 1003))
def test_many_floats_come_back_bit_by_bit(seed: int, odd: list[float], count: int) -> None:
    numbers = [*odd, *np.random.default_rng(seed).normal(size=count - len(odd)).tolist()]
    read = decode_header(encode_header(header(declared=Declared(weights=numbers))), "manifest.json")

    assert read.declared.weights is not None
    if count >= 1000:
        assert np.array(read.declared.weights).tobytes() == np.array(numbers).tobytes()
    else:
        np.testing.assert_array_equal(read.declared.weights, numbers)


def test_a_million_weights_are_no_matter_of_minutes() -> None:
    weights = [0.25] * 10**6
    data = encode_header(header(declared=Declared(weights=weights)))

    # As text of 18 digits each, as most weights are, they would be twice as long.
    assert len(data) < 11 * 10**6
    assert decode_header(data, "manifest.json").declared.weights == weights


@pytest.mark.parametrize("key", ["$int", "$float", "$floats", "$object"])
def test_a_users_own_mapping_is_no_number(key: str) -> None:
    config: dict[str, Any] = {"a": {key: "5"}, "b": [{key: {key: "nan"}}]}
    written = header(declared=Declared(config=config))

    assert decode_header(encode_header(written), "manifest.json").declared.config == config


def test_an_undeclared_field_stays_unknown_and_a_null_stays_null() -> None:
    read = decode_header(encode_header(header(declared=Declared(seed=None))), "manifest.json")

    assert read.declared.seed is None
    assert read.declared.seed_used is msgspec.UNSET


def sealed(fields: dict[str, Any]) -> bytes:
    """Give fields a digest that fits, as somebody would who means harm."""
    digest = hashlib.sha256(rfc8785.dumps(fields)).hexdigest()
    return rfc8785.dumps({**fields, "sha256": digest})


def fields_of(**changed: Any) -> dict[str, Any]:
    fields = json.loads(encode_header(header()))
    del fields["sha256"]
    return {**fields, **changed}


def test_a_newer_form_is_refused_by_its_number() -> None:
    with pytest.raises(DamageError, match="schema version 2: upgrade detloader"):
        decode_header(sealed(fields_of(schema_version=2, novelty=[])), "manifest.json")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"sha256":1}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a":1e999}',
        b'{"a":' + b"9" * 1_000_000 + b"}",
        json.dumps(json.loads(encode_header(header())), indent=1).encode(),
        encode_header(header()) + b"\n",
        sealed(fields_of(novelty=1)),
        sealed(fields_of(rank=-1)),
        sealed(fields_of(rank="0")),
        sealed(fields_of(rank={"$int": "9" * 100_000})),
        sealed(fields_of(rank={"$int": "x"})),
        sealed(fields_of(declared={"seed": {"$float": "x"}, "config": {}})),
        sealed(fields_of(declared={"weights": {"$floats": "AAAA"}})),
        sealed(fields_of(declared={"weights": {"$floats": "AAA"}})),
        sealed(fields_of(declared={"batch": 1})),
        sealed(fields_of(declared={"config": {"a": json.loads("[" * 400 + "]" * 400)}, "b": 1})),
        sealed(fields_of(seen={"rows": -1})),
        sealed(fields_of(seen={"rows": 1.5})),
        sealed(fields_of(schema_version="1")),
        sealed(fields_of(level="all")),
        sealed(fields_of(files=[{"path": "x", "size": 1, "rows": 1, "sha256": "no"}])),
        sealed(fields_of(fingerprint="0" * 63 + "G")),
    ],
    ids=range(28),
)
def test_a_hostile_header_is_one_line_of_damage_in_bounded_time(data: bytes) -> None:
    began = time.thread_time()
    with pytest.raises(DamageError, match=r"^runs/a/manifest\.json is damaged") as caught:
        decode_header(data, "runs/a/manifest.json")

    assert "\n" not in str(caught.value)
    assert time.thread_time() - began < 5
