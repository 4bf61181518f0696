from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from detloader.audits.environments import Interpreter, environment
from tests.support.toy_index import write_index


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where environments are kept: of the tests' own, and shared by their processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "environments"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DETLOADER_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="session")
def bare() -> Interpreter:
    """An environment with nothing but an old NumPy."""
    return environment({"numpy": "1.26.4"})


@pytest.fixture
def toy_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index of files, beside the one that is set up."""
    folder = write_index(tmp_path / "index", broken=["1.5"])
    for variable in ("PIP_EXTRA_INDEX_URL", "UV_INDEX"):
        monkeypatch.setenv(variable, folder.as_uri())
    return folder


@pytest.fixture
def numpy_here() -> dict[str, str]:
    """The NumPy of this environment."""
    return {"numpy": np.__version__}
