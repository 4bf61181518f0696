from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., pytest.RunResult]:
    """Run pytest in this process.

    It forgets its tests, so that others may have their names, but not the libraries that they
    imported, of which many cannot be imported twice.
    """

    def forget(_snapshot: object) -> None:
        for name, module in list(sys.modules.items()):
            if Path(getattr(module, "__file__", None) or "/").is_relative_to(pytester.path):
                del sys.modules[name]

    monkeypatch.setattr("_pytest.pytester.SysModulesSnapshot.restore", forget)

    def run_in_process(*arguments: str) -> pytest.RunResult:
        # Asserts in detloader, which this process has imported before, need not be explained.
        return pytester.runpytest("-W", "ignore::pytest.PytestAssertRewriteWarning", *arguments)

    return run_in_process
