"""Versions as axes of a replay: each in an environment of its own, and only where asked for."""

from __future__ import annotations

import platform
from pathlib import Path

import msgspec
import pytest

from detloader import record
from detloader.audits.environments.interpreter import installed
from detloader.audits.replay import replay
from detloader.audits.replay.axis import all_axes
from detloader.audits.replay.engine import plan
from detloader.errors import UsageError
from detloader.findings import AxisOutcome
from detloader.recipe import build_loader

# Packages are downloaded, at whatever speed that takes.
pytestmark = pytest.mark.timeout(900)

FACTORIES = "tests.support.version_factories"


PYTHON = ".".join(platform.python_version_tuple()[:2])


def written(folder: Path, factory: str, packages: list[str], ids: str | None = None) -> Path:
    """Record a factory's loader here, with a recipe that names packages."""
    loader, recipe = build_loader(f"{FACTORIES}:{factory}")
    versions = {name: str(installed(name)) for name in packages}
    recipe = msgspec.structs.replace(recipe, packages=versions)
    with record(loader, folder / "run", ids=ids, recipe=recipe) as recorded:
        list(recorded)
    return folder / "run"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of the shards of a Grain loader, recorded here."""
    return written(tmp_path, "shards", ["grain", "numpy"], ids="id")


def test_a_version_that_delivers_other_rows_breaks_a_run_and_others_do_not(run: Path) -> None:
    result = replay(run, vary=["grain=0.2.12,0.2.13,99", f"python={PYTHON}"])

    outcomes = {next(iter(one.settings.values())): one.outcome for one in result.axes}
    assert outcomes == {
        "0.2.12": AxisOutcome.BROKEN,
        "0.2.13": AxisOutcome.HOLDS,
        "99": AxisOutcome.DIED,
        PYTHON: AxisOutcome.HOLDS,
    }
    assert result.findings[0].rule == "grain"
    assert "With grain=0.2.12 instead of" in result.findings[0].message
    assert "3 records extra" in result.findings[0].message
    died = next(one for one in result.axes if one.outcome is AxisOutcome.DIED)
    assert died.reason is not None
    assert died.reason.startswith("there is no grain 99 for Python")


def test_a_factory_that_uses_detloader_finds_it_in_other_environments(tmp_path: Path) -> None:
    run = written(tmp_path, "own_stream", ["detloader", "grain", "numpy"])

    result = replay(run, vary=["grain=0.2.16"])

    assert [one.outcome for one in result.axes] == [AxisOutcome.HOLDS], result.axes


def test_what_follows_the_python_is_caught_and_named(tmp_path: Path) -> None:
    run = written(tmp_path, "interpreters", ["numpy"], ids="id")

    result = replay(run, vary=[f"python={PYTHON}"], budget=4)

    assert [one.outcome for one in result.axes] == [AxisOutcome.BROKEN]
    assert result.findings[0].rule == "python"
    assert "1 record with other content" in result.findings[0].message


def test_versions_are_varied_only_where_they_are_asked_for(run: Path) -> None:
    assert {axis.name for axis in all_axes() if not axis.by_default} >= {"package", "python"}

    tried = plan(run, vary=["python=3.10,3.12", "numpy=2.0"])

    assert sorted(map(str, tried)) == ["numpy=2.0", "python=3.10", "python=3.12"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("package=1", "write such as --vary grain=0.2.12"),
        ("grian=0.2.12", "no axis 'grian'.*installed packages"),
        ("grain", "name values: grain=v1,v2"),
    ],
)
def test_words_that_name_no_version_are_refused(word: str, said: str, run: Path) -> None:
    with pytest.raises(UsageError, match=said):
        plan(run, vary=[word])
