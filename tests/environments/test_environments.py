"""Environments are made once, whole or not at all, and what cannot be had is said in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from detloader.audits.environments import Interpreter, environment
from detloader.audits.environments.releases import releases
from detloader.errors import ConflictError, InstallError, NoIndexError, NoVersionError
from tests.support.toy_index import RELEASES, TOY

# Packages are downloaded, at whatever speed that takes.
pytestmark = pytest.mark.timeout(900)

MAKE = """
from detloader.audits.environments import environment
told = []
found = environment({"numpy": "1.26.4"}, on_progress=told.append)
print(found.executable, any(line.startswith("making") for line in told))
"""


def version_in(interpreter: Interpreter, package: str) -> str:
    script = f"from importlib import metadata; print(metadata.version({package!r}))"
    command = [interpreter.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Environments of one test alone."""
    monkeypatch.setenv("DETLOADER_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_an_environment_holds_what_was_asked_for_and_is_made_once(bare: Interpreter) -> None:
    told: list[str] = []

    again = environment({"NumPy": "1.26.4"}, on_progress=told.append)

    assert again == bare
    assert not told
    assert version_in(again, "numpy") == "1.26.4"
    assert again.executable != sys.executable


def test_what_was_left_half_made_is_made_anew(own_cache: Path) -> None:
    versions = {"numpy": "1.26.4"}
    folder = Path(environment(versions).executable).parents[1]
    (folder / "environment.json").unlink()
    (folder / "rubbish").touch()

    made = environment(versions)

    assert Path(made.executable).parents[1] == folder
    assert not (folder / "rubbish").exists()


def test_two_processes_make_one_environment(own_cache: Path) -> None:
    command = [sys.executable, "-c", MAKE]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]

    answers = [process.communicate()[0].split() for process in both]

    assert answers[0][0] == answers[1][0]
    assert {answers[0][1], answers[1][1]} == {"True", "False"}


@pytest.mark.parametrize(
    ("versions", "error", "said"),
    [
        (
            {TOY: "1.9", "detloader-old-toy": "1.0"},
            ConflictError,
            f"1.0 and {TOY} 1.9 exclude each",
        ),
        ({TOY: "7"}, NoVersionError, f"there is no {TOY} 7 for Python .*: the index has"),
        ({"detloader-toy-that-is-not-there": "1"}, NoVersionError, "check name and version"),
        ({TOY: "1.5"}, NoVersionError, "there is no detloader-toy-that-is-not-there"),
        ({TOY: "new"}, NoVersionError, f"{TOY} new is no version"),
    ],
)
def test_versions_that_cannot_be_had_are_named(
    versions: dict[str, str],
    error: type[InstallError],
    said: str,
    toy_index: Path,
    own_cache: Path,
) -> None:
    with pytest.raises(error, match=said) as refused:
        environment(versions)

    assert "\n" not in str(refused.value)
    assert {path.suffix for path in own_cache.glob("environments/*")} <= {".lock"}


@pytest.mark.parametrize("python", ["3.99", "three", "3"])
def test_a_python_that_is_not_there_is_named(python: str) -> None:
    with pytest.raises(NoVersionError, match=f"Python {python} "):
        environment({"numpy": "1.26.4"}, python=python)


def test_an_index_that_does_not_answer_is_told_from_a_version_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for variable in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9/simple")

    with pytest.raises(NoIndexError):
        environment({"numpy": "1.26.3"})
    with pytest.raises(NoIndexError):
        releases("numpy", "3.11")


def test_releases_ascend_without_pre_releases_and_yanked_ones(toy_index: Path) -> None:
    assert releases(TOY, "3.11") == RELEASES


def test_a_package_without_releases_is_named(toy_index: Path) -> None:
    with pytest.raises(NoVersionError, match="no releases of detloader-toy-that-is-not-there"):
        releases("detloader-toy-that-is-not-there", "3.11")


def test_uv_makes_environments_where_it_is_there(
    monkeypatch: pytest.MonkeyPatch, numpy_here: dict[str, str], toy_index: Path, tmp_path: Path
) -> None:
    uv = environment({"uv": "0.9.9"})
    monkeypatch.setenv("DETLOADER_CACHE_DIR", str(tmp_path / "new"))
    monkeypatch.setenv("PATH", f"{Path(uv.executable).parent}{os.pathsep}{os.environ['PATH']}")
    told: list[str] = []

    made = environment({TOY: "1.2", **numpy_here}, on_progress=told.append)

    assert version_in(made, TOY) == "1.2"
    assert any(line.startswith("Resolved") for line in told)
    with pytest.raises(ConflictError, match=f"1.0 and {TOY} 1.9 exclude each other"):
        environment({TOY: "1.9", "detloader-old-toy": "1.0"})
    with pytest.raises(NoVersionError, match=f"there is no {TOY} 7"):
        environment({TOY: "7"})
    with pytest.raises(NoVersionError, match=r"there is no Python 3\.99"):
        environment({TOY: "1.2"}, python="3.99")
