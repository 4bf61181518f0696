from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grain
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from detloader import audit, open_run, record, to_grain
from detloader.errors import UsageError
from detloader.manifest.content import sample_digest
from detloader.manifest.packed import BatchDigester
from detloader.manifest.rounding import Digester, Rounding
from detloader.manifest.schema import Declared, Environment, Level
from detloader.manifest.writer import RankWriter

NAMES = ["float16", "float32", "decimals:0", "decimals:3", "decimals:15"]
FLOATS = st.one_of(
    *(hnp.arrays(np.dtype(kind), hnp.array_shapes(max_dims=2)) for kind in ("<f2", ">f4", "<f8"))
)
EXACT = np.array([0.1, 0.25, -1.5, 3.0, 1e-9, 70000.0], np.float32)
NEAR = np.nextafter(EXACT, np.float32(np.inf))


@pytest.mark.parametrize("name", NAMES)
@given(values=FLOATS)
def test_rounding_twice_is_rounding_once(name: str, values: np.ndarray) -> None:
    once = Rounding(name)(values)

    np.testing.assert_array_equal(Rounding(name)(once), once)


@pytest.mark.parametrize("name", NAMES)
@given(values=FLOATS)
def test_a_row_of_a_batch_has_the_digest_of_its_sample(name: str, values: np.ndarray) -> None:
    batch = {"x": values, "label": np.arange(len(values)), "plain": [0.123456789] * len(values)}
    samples = [{"x": row, "label": label, "plain": 0.123456789} for label, row in enumerate(values)]
    digester = copy.deepcopy(Digester(Rounding(name)))

    each = [digester.sample(sample) for sample in samples]

    assert digester.batch(batch).tolist() == each


@given(values=hnp.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 4))))
def test_packed_rows_are_rounded_alike(values: np.ndarray) -> None:
    digester = Digester(Rounding("float16"))
    packed = BatchDigester(digester)
    batch = {"x": values}

    assert packed(batch).tolist() == packed(batch).tolist() == digester.batch(batch).tolist()


@pytest.mark.parametrize("name", ["float16", "decimals:3"])
def test_values_that_differ_in_the_last_bit_have_one_digest(name: str) -> None:
    digester = Digester(Rounding(name))

    assert sample_digest(EXACT) != sample_digest(NEAR)
    assert digester.sample(EXACT[:5]) == digester.sample(NEAR[:5])
    assert digester.sample(EXACT[:5]) == digester.sample(EXACT[:5].astype(np.float64))


def test_values_too_large_for_the_type_keep_its_precision() -> None:
    digester = Digester(Rounding("float16"))

    assert digester.sample(EXACT) == digester.sample(NEAR)
    assert digester.sample(np.float32(70000)) != digester.sample(np.float32(80000))


@pytest.mark.parametrize("name", NAMES)
def test_zeros_and_nans_have_one_digest(name: str) -> None:
    digester = Digester(Rounding(name))
    strange = np.array([0x7FF8_0000_0000_0001, 0xFFF0_0000_0000_0007], np.uint64).view(np.float64)

    assert digester.sample(-0.0) == digester.sample(0.0) == digester.sample(np.float32(-0.0))
    assert digester.sample(strange) == digester.sample(np.array([np.nan, np.nan], np.float16))
    assert digester.sample(np.inf) != digester.sample(-np.inf)


@given(
    values=st.one_of(
        st.integers(-(2**63), 2**63 - 1), st.text(), st.binary(), st.none(), st.booleans()
    )
)
def test_what_is_no_float_stays_as_it_is(values: object) -> None:
    assert Digester(Rounding("float16")).sample([values]) == sample_digest([values])


def test_a_border_is_still_a_border() -> None:
    digester = Digester(Rounding("decimals:1"))

    assert digester.sample(0.149999) != digester.sample(0.150001)


def test_structured_and_complex_values_are_rounded() -> None:
    digester = Digester(Rounding("decimals:2"))
    fields = [("x", "f4"), ("n", "i8")]

    one = np.array([(0.1, 1), (0.2, 2)], fields)
    other = np.array([(0.1001, 1), (0.2001, 2)], fields)

    assert digester.batch(one).tolist() == [digester.sample(row) for row in one]
    assert digester.sample(one) == digester.sample(other)
    assert digester.sample(1 + 0.1j) == digester.sample(np.complex64(1.001 + 0.1001j))
    assert digester.sample(1 + 0.1j) != digester.sample(1 - 0.1j)


def augment(sample: Any) -> Any:
    return {"x": sample["x"] * np.float32(1.0000001), "record": sample["record"]}


SAMPLES = [{"x": np.full(4, 0.1 * (i + 1), np.float32), "record": i} for i in range(6)]


def iterable(samples: list[Any], _: Path) -> Any:
    return samples


def grain_dataset(samples: list[Any], _: Path) -> Any:
    return grain.MapDataset.source(samples).batch(2)


def our_stream(samples: list[Any], _: Path) -> Any:
    return to_grain(samples, shuffle=False, batch_size=2)


LOADERS = [iterable, grain_dataset, our_stream]


@pytest.mark.parametrize("make", LOADERS)
def test_each_loader_is_recorded_rounded(make: Callable[..., Any], tmp_path: Path) -> None:
    nearly = [augment(sample) for sample in SAMPLES]
    ids = "record" if make is iterable else None

    def verdict(name: str, **options: Any) -> str:
        runs = [tmp_path / f"{name}-{half}" for half in "ab"]
        for run, samples in zip(runs, (SAMPLES, nearly), strict=True):
            with record(make(samples, tmp_path), run, ids=ids, **options) as recorded:
                for element in recorded:
                    assert np.asarray(element["x"]).dtype == np.float32
        return audit(*runs).verdict

    assert verdict("exact") == "changed"
    assert verdict("half", content="float16") == "identical"
    assert verdict("decimals", decimals=3) == "identical"


def recorded_run(run: Path, **options: Any) -> Path:
    with record(SAMPLES, run, ids="record", **options) as recorded:
        for _ in recorded:
            pass
    return run


@pytest.mark.parametrize("level", [Level.FULL, Level.DIGEST, Level.ORDER])
def test_unlike_roundings_are_not_compared_and_rules_say_so(tmp_path: Path, level: Level) -> None:
    exact = recorded_run(tmp_path / "a", level=level)
    rounded = recorded_run(tmp_path / "b", content="float16", level=level)

    result = audit(exact, rounded)

    assert result.verdict == "identical"
    assert "content" in (result.not_compared or []) or level is Level.ORDER
    assert "content" not in (result.streams[0].compared or [])


def test_renamed_and_open_runs_are_not_compared_in_content_either(tmp_path: Path) -> None:
    exact = recorded_run(tmp_path / "a")
    names = {number: f"n{number}" for number in range(6)}
    writer = RankWriter(
        tmp_path / "b",
        declared=Declared(),
        environment=Environment(),
        rounding=Rounding("decimals:2"),
    )
    content = pa.array([7] * 6, pa.uint64())
    writer.append(pa.table({"record": list(names.values()), "epoch": [0] * 6, "content": content}))

    result = audit(exact, tmp_path / "b", id_map=names)

    assert result.verdict == "identical"
    assert "content" in (result.not_compared or [])


def test_a_rule_that_needs_content_says_that_it_lacks_it(tmp_path: Path) -> None:
    exact = recorded_run(tmp_path / "a")
    with record(SAMPLES[::-1], tmp_path / "b", ids="record", decimals=2) as recorded:
        list(recorded)

    result = audit(exact, tmp_path / "b")

    assert result.verdict == "reordered"
    missing = {skipped.rule: skipped.missing for skipped in result.not_checked}
    assert missing["content-drift"] == ["raw or content"]


def test_the_manifest_says_what_was_done(tmp_path: Path) -> None:
    run = open_run(recorded_run(tmp_path / "a", decimals=3))

    assert run.streams["main"].ranks[0].header.rounding == "decimals:3"
    assert open_run(recorded_run(tmp_path / "b")).streams["main"].roundings == {None}


def test_ids_that_are_digests_cannot_be_compared_across_roundings(tmp_path: Path) -> None:
    for name, decimals in (("a", None), ("b", 3)):
        with record(SAMPLES, tmp_path / name, decimals=decimals) as recorded:
            list(recorded)

    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.verdict == "inconclusive"
    assert result.reason is not None
    assert result.reason.startswith("record IDs are digests of content")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"content": "float8"}, "there are float16 and float32, and decimals=N"),
        ({"content": "decimals:3"}, "cannot be rounded to 'decimals:3'"),
        ({"decimals": -1}, "from 0 to 15, not -1"),
        ({"decimals": 16}, "from 0 to 15, not 16"),
        ({"decimals": True}, "not True"),
        ({"decimals": 1.5}, "not 1.5"),
        ({"content": "float16", "decimals": 3}, "two roundings: choose one"),
    ],
)
def test_a_rounding_that_makes_no_sense_is_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        record([1.0], tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()
