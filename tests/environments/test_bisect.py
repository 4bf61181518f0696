"""Bisecting names the release that changed what is delivered, in few environments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.audits.bisect import bisect
from detloader.audits.bisect.search import find_boundary
from detloader.audits.environments import environment, recorded
from detloader.audits.frozen import freeze, save
from detloader.cli import commands
from detloader.cli.status import guarded
from detloader.errors import NoIndexError, NoVersionError, UsageError
from detloader.findings import Result, Verdict
from detloader.manifest.schema import Recipe
from tests.support.toy_index import RELEASES, TOY

# Packages are downloaded, at whatever speed that takes.
pytestmark = pytest.mark.timeout(900)

FACTORIES = "tests.support.version_factories"


@given(st.integers(1, 40), st.data())
def test_a_search_finds_the_one_boundary_in_as_many_trials_as_the_places_have_bits(
    count: int, data: st.DataObject
) -> None:
    boundary = data.draw(st.integers(1, count))
    tried: list[int] = []

    def differs(place: int) -> bool:
        tried.append(place)
        return place >= boundary

    found = find_boundary(range(count), differs)

    assert found.same == boundary - 1
    assert found.different == (boundary if boundary < count else None)
    assert len(tried) <= count.bit_length()
    assert 0 not in tried


@given(st.integers(1, 40), st.data())
def test_what_cannot_be_tried_lies_between_the_two_that_are_found(
    count: int, data: st.DataObject
) -> None:
    boundary = data.draw(st.integers(1, count))
    broken = data.draw(st.sets(st.integers(1, count)))

    found = find_boundary(
        range(count), lambda place: None if place in broken else place >= boundary
    )

    end = count if found.different is None else found.different
    assert found.same < boundary <= end
    assert set(range(found.same + 1, end)) <= broken


def frozen(folder: Path, factory: str, versions: dict[str, str]) -> Path:
    """Freeze what a factory delivers with these versions."""
    recipe = Recipe(factory=f"{FACTORIES}:{factory}", packages=versions, ids="id")
    run, file = folder / "run", folder / "experiment.json"
    recorded(environment(versions), recipe, run, seconds=120)
    save(freeze(run), file)
    return file


def said(result: Result) -> dict[str, object]:
    assert result.findings[0].rule == "bisect"
    return {name: result.findings[0].evidence[name] for name in ("last_same", "first_different")}


@pytest.mark.parametrize(
    ("factory", "first", "last"),
    [
        ("shards", "0.2.12", "0.2.13"),
        ("shards", "0.2.13", "0.2.12"),
        ("sliced", "0.2.12", "0.2.13"),
    ],
)
def test_grain_0_2_13_is_named_for_lost_remainders_and_for_slices_that_keep_the_epoch(
    factory: str, first: str, last: str, numpy_here: dict[str, str], tmp_path: Path
) -> None:
    file = frozen(tmp_path, factory, {"grain": first, **numpy_here})

    result = bisect(file, "grain", last=last)

    assert said(result) == {"last_same": first, "first_different": last}
    assert result.findings[0].message.startswith("grain 0.2.13 does not deliver what 0.2.12 does")
    rows = [run.rows for run in result.runs]
    assert sorted(rows) == ([100, 103] if factory == "shards" else [104, 104])
    assert result.differences
    if factory == "shards":
        assert result.differences.missing + result.differences.extra == 3


def test_ten_releases_take_five_environments(
    toy_index: Path, numpy_here: dict[str, str], tmp_path: Path
) -> None:
    file = frozen(tmp_path, "toys", {TOY: "1.0", **numpy_here})
    told: list[str] = []

    result = bisect(file, TOY, tell=told.append)

    assert said(result) == {"last_same": "1.4", "first_different": "1.6"}
    assert result.verdict is Verdict.REORDERED
    assert result.reason is not None
    assert f"passed over: {TOY} 1.5 (there is no detloader-toy-that-is-not-there" in result.reason
    assert len(result.axes) == 4
    assert len({line for line in told if line.startswith("making an environment")}) <= 5


def test_going_back_names_the_same_release(
    toy_index: Path,
    numpy_here: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = frozen(tmp_path, "toys", {TOY: "1.7", **numpy_here})
    capsys.readouterr()

    status = guarded(
        commands(), ["bisect", str(file), "--package", TOY, "--to", "1.4", "--json", "-"]
    )

    answer = json.loads(capsys.readouterr().out)
    assert status == 1
    assert answer["decision"].startswith(f"{TOY} 1.6 changed what is delivered")
    assert answer["findings"][0]["evidence"]["last_same"] == "1.6"
    assert [one["settings"] for one in answer["axes"]]


@pytest.mark.parametrize("to", ["1.1", "1.3"])
def test_releases_that_deliver_the_same_give_status_0(
    to: str,
    toy_index: Path,
    numpy_here: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = frozen(tmp_path, "toys", {TOY: "1.2", **numpy_here})

    status = guarded(commands(), ["bisect", str(file), "--package", TOY, "--to", to])

    ends = sorted(["1.2", to])
    assert status == 0
    said = f"no release of {TOY} from {ends[0]} to {ends[1]} changes what is delivered"
    assert said in " ".join(capsys.readouterr().out.split())


def test_releases_of_which_none_can_be_had_give_status_2(
    toy_index: Path, numpy_here: dict[str, str], tmp_path: Path
) -> None:
    file = frozen(tmp_path, "toys", {TOY: "1.0", **numpy_here})

    arguments = ["bisect", str(file), "--package", TOY, "--from", "1.5", "--to", "1.5"]
    assert guarded(commands(), arguments) == 2


def test_a_factory_that_fails_with_a_release_is_reported_as_that(
    toy_index: Path, numpy_here: dict[str, str], tmp_path: Path
) -> None:
    file = frozen(tmp_path, "toy_without_1_1", {TOY: "1.0", **numpy_here})

    result = bisect(file, TOY, last="1.1")

    assert result.verdict is Verdict.INCONCLUSIVE
    assert "toy_without_1_1 failed: RuntimeError: not with 1.1" in str(result.reason)


def test_questions_that_make_no_sense_are_refused(
    toy_index: Path, numpy_here: dict[str, str], tmp_path: Path
) -> None:
    file = frozen(tmp_path, "toys", {TOY: "1.0", **numpy_here})

    with pytest.raises(UsageError, match=f"was not made with grain: .*{TOY}, numpy"):
        bisect(file, "grain")
    with pytest.raises(NoVersionError, match=f"no release 1.55 of {TOY}"):
        bisect(file, TOY, last="1.55")
    with pytest.raises(UsageError, match="exchange them"):
        bisect(file, TOY, first=RELEASES[3], last=RELEASES[2])
    with pytest.raises(UsageError, match="but the frozen one"):
        bisect(file, TOY, last="1.0")


def test_without_an_index_nothing_is_tried(
    toy_index: Path,
    numpy_here: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = frozen(tmp_path, "toys", {TOY: "1.0", **numpy_here})
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "http://127.0.0.1:9/simple")

    with pytest.raises(NoIndexError):
        bisect(file, TOY)
