"""What the plugin costs those who do not use it, and what it says of other plugins."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

RANDOMLY = """
import random

def pytest_addoption(parser):
    parser.addoption("--randomly-dont-reset-seed", action="store_false",
                     dest="randomly_reset_seed", default=True)

def pytest_runtest_setup(item):
    if item.config.getoption("randomly_reset_seed"):
        random.seed(1)
"""
"""What pytest-randomly does that matters here, by the name that it is known by."""


def test_loading_the_plugin_imports_nothing_but_itself() -> None:
    program = "import pytest; import detloader.pytest_plugin"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program],
        check=True,
        capture_output=True,
        text=True,
    )
    names = re.findall(r"import time: +\d+ \| +\d+ \| +(\S+)", done.stderr)

    assert names[names.index("pytest") + 1 :] == ["detloader", "detloader.pytest_plugin"]


def test_a_run_without_loaders_imports_no_more_than_that(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
import sys

def test_nothing():
    assert not {"numpy", "pyarrow", "grain", "detloader.testing"} & {*sys.modules}
"""
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)


def test_its_options_and_its_mark_are_documented(run: Run) -> None:
    told = run("--help").stdout.str()
    marks = run("--markers").stdout.str()
    fixtures = run("--fixtures").stdout.str()

    assert "--detloader-update-new" in told
    assert "@pytest.mark.seed_invariant(workers=[0, 2], seeds=[0, 1]): call the test with" in marks
    assert "detloader -- " in fixtures


TOLD = "*pytest-randomly reseeds the global generators before each test*"
LEAK = """
import random

def test_leak(detloader):
    detloader.assert_invariant(lambda workers: [random.random()], over={"workers": [0, 1]})

def test_other():
    pass
"""


def test_it_says_that_pytest_randomly_reseeds_global_generators_where_it_does(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(LEAK, randomly=RANDOMLY)
    pytester.syspathinsert()

    run("-p", "randomly").stdout.fnmatch_lines(["E" + TOLD, TOLD])
    run("-p", "randomly", "-k", "other").stdout.no_fnmatch_line(TOLD)
    run("-p", "randomly", "--randomly-dont-reset-seed").stdout.no_fnmatch_line(TOLD)


def test_it_says_so_where_tests_run_in_other_processes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    pytester.makepyfile(LEAK, randomly=RANDOMLY)
    result = pytester.runpytest_subprocess("-p", "randomly", "-n1")

    result.stdout.fnmatch_lines(["E" + TOLD, TOLD])
