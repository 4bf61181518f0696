"""Preflight in environments that are made: other versions, and those that were frozen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from detloader.audits.environments import environment, recorded
from detloader.audits.frozen import freeze, save
from detloader.audits.preflight import preflight
from detloader.audits.preflight.accepted import accepted
from detloader.findings import Severity, Verdict
from detloader.manifest.schema import Recipe
from tests.support.freezing import Experiment, source
from tests.support.toy_index import TOY, write_index

FACTORIES = "tests.support.version_factories"


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where environments are kept: of the tests' own, and shared by their processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "environments"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DETLOADER_CACHE_DIR", str(folder))
        yield


@pytest.fixture(autouse=True)
def toy_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of files, beside the one that is set up."""
    folder = write_index(tmp_path / "index")
    for variable in ("PIP_EXTRA_INDEX_URL", "UV_INDEX"):
        monkeypatch.setenv(variable, folder.as_uri())


def frozen(folder: Path, factory: str) -> Path:
    """Freeze what a factory delivers with the first release of the toy."""
    versions = {TOY: "1.0", "numpy": np.__version__}
    recipe = Recipe(factory=f"{FACTORIES}:{factory}", packages=versions, ids="id")
    recorded(environment(versions), recipe, folder / "run", seconds=120)
    save(freeze(folder / "run"), folder / "frozen.json")
    return folder / "frozen.json"


def test_a_version_that_delivers_the_same_is_kept(tmp_path: Path) -> None:
    result = preflight(frozen(tmp_path, "toys"), packages={TOY: "1.1"}).result

    assert result.decision == "keep"
    assert result.verdict is Verdict.IDENTICAL


def test_a_version_that_delivers_another_order_is_pinned_and_may_be_accepted(
    tmp_path: Path,
) -> None:
    found = preflight(frozen(tmp_path, "toys"), packages={TOY: "1.6"})
    child = accepted(found, "upstream reversed it")

    assert found.result.decision == "pin"
    assert found.result.verdict is Verdict.REORDERED
    assert str(found.result.reason).endswith(f"stay with {TOY}==1.0")
    assert child.streams["main"].packages == {TOY: "1.6", "numpy": np.__version__}
    assert child.migration is not None
    assert child.migration.order_policy == f"{TOY}==1.6"


def test_a_version_with_which_the_factory_fails_is_pinned(tmp_path: Path) -> None:
    result = preflight(frozen(tmp_path, "toy_without_1_1"), packages={TOY: "1.1"}).result

    assert result.decision == "pin"
    assert result.verdict is Verdict.CHANGED
    assert "RuntimeError: not with 1.1" in str(result.reason)


def test_a_version_that_cannot_be_had_decides_nothing(tmp_path: Path) -> None:
    result = preflight(frozen(tmp_path, "toys"), packages={TOY: "9.9"}).result

    assert result.decision is None
    assert result.verdict is Verdict.INCONCLUSIVE
    assert f"there is no {TOY} 9.9" in str(result.reason)


def test_where_the_frozen_versions_are_gone_digests_tell_and_the_recorded_rows_tell_more(
    experiment: Experiment,
) -> None:
    experiment.freeze(source("return Rows(range(n))"), packages={TOY: "9.9"})
    experiment.edit(source("return Rows(range(n)[::-1])"))
    alone = preflight(experiment.file).result
    beside = preflight(experiment.file, run=experiment.run).result

    assert alone.decision == beside.decision == "pin"
    assert alone.findings[0].rule == "frozen-digests"
    assert alone.not_checked
    assert beside.verdict is Verdict.REORDERED
    for result in (alone, beside):
        (told,) = (each for each in result.findings if each.rule == "control")
        assert told.severity is Severity.NOTE
        assert f"there is no {TOY} 9.9" in told.message
