"""Settings that hold for all tests."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

__all__: list[str] = []

# No test may depend on the speed of the machine, so no example has a deadline.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A determinism tool's own CI is deterministic.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_collection_finish() -> None:
    """Let garbage be looked for among what tests make, and not in all the libraries imported."""
    gc.freeze()


TOLD = re.compile(
    "(DETLOADER|OMPI|PMI|PMIX|SLURM|TORCHELASTIC)_.*|(LOCAL_)?(RANK|WORLD_SIZE)|MASTER_(ADDR|PORT)"
    "|PBS_JOBID|LSB_JOBID|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|TTY_.*|KERAS_BACKEND|PYTEST_ADDOPTS"
)
"""Variables by which launchers, terminals and their users tell programs what to be."""


@pytest.fixture(scope="session", autouse=True)
def _told_nothing() -> Iterator[None]:
    """Let tests, and programs that they start, be the same wherever they run."""
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(TOLD.fullmatch, [*os.environ]):
            patch.delenv(name)
        yield


@pytest.fixture(scope="session", autouse=True)
def _unsynced() -> Iterator[None]:
    """Wait for no disk in this process: no test cuts the power. Programs that tests start do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        yield
