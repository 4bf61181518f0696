"""pytest in pytest: the fixture and the mark, as tests of a project use them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

FACTORY = """
import pytest
from tests.support.plugin_loaders import covering, grain, partitioned
"""


def test_it_is_silent_where_nobody_uses_it(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    result = run("-v", "--strict-markers")

    assert [line for line in result.outlines if "detloader" in line] == [
        line for line in result.outlines if line.startswith("plugins: ")
    ]


def test_a_failure_shows_the_line_of_the_test_and_nothing_from_within(
    pytester: pytest.Pytester,
    run: Run,
) -> None:
    pytester.makepyfile(
        FACTORY
        + """
def test_order(detloader):
    detloader.assert_invariant(partitioned, over={"workers": [0, 2]}, ids=int)
"""
    )
    result = run()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">   *detloader.assert_invariant(partitioned*",
            "E   *partitioned(seed=0) is not the same with workers=2 as with workers=0",
            "E   *reordered: workers=2 has the same records as workers=0, in another order",
            "E   *first difference   row 1, epoch 0: record 11 became 29",
            "E   *look further       detloader audit *-workers=0 *-workers=2",
            "E   *runs are kept in *detloader0",
        ]
    )
    assert "testing/invariance.py" not in result.stdout.str()


def test_a_marked_test_that_returns_a_loader_is_called_with_each_value_and_its_fixtures(
    pytester: pytest.Pytester,
    run: Run,
) -> None:
    pytester.makepyfile(
        FACTORY
        + """
class TestLoaders:
    @pytest.mark.seed_invariant(workers=[0, 2], seeds=[0, 1], ids=int)
    def test_sound(self, num_workers, seed, tmp_path, size=3):
        assert tmp_path.is_dir()
        return [seed, size]

    @pytest.mark.seed_invariant(workers=[0, 2], ids=int)
    @pytest.mark.parametrize("size", [1, 40])
    def test_faulty(self, workers, seed, size):
        return partitioned(workers, seed, size)
"""
    )
    result = run("-v", "--strict-markers")

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*::test_sound?seed_invariant? PASSED*",
            "*LoaderError: *test_faulty(seed=0, workers=2) delivered nothing*",
            "*test_faulty(seed=0) is not the same with workers=2 as with workers=0",
            "reordered: workers=2 has *",
            "runs are kept in *",
        ]
    )


def test_a_marked_test_that_is_given_a_loader_consumes_it_once_for_each_value(
    pytester: pytest.Pytester,
    run: Run,
) -> None:
    pytester.makepyfile(
        FACTORY
        + """
@pytest.fixture
def loader():
    return partitioned

@pytest.mark.seed_invariant(workers=[0, 1], seeds=[0, 5], ids=int)
def test_sound(loader, tmp_path):
    with (tmp_path / "calls").open("a") as calls:
        calls.write(f"{len([record for record in loader])} ")
    assert (tmp_path / "calls").read_text() in "40 40 40 40 "

@pytest.mark.seed_invariant(workers=[0, 2], ids=int)
def test_faulty(loader):
    for record in loader:
        pass

@pytest.mark.seed_invariant(workers=[0, 2], ids=int)
def test_fails_itself(loader):
    for record in loader:
        assert record < 39
"""
    )
    result = run()

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        ["partitioned(seed=0) is not the same*", ">*assert record < 39", "E*assert 39 < 39"]
    )


@pytest.mark.parametrize(
    ("mark", "test", "told"),
    [
        ("()", "def test_it(): pass", "varies nothing: write seed_invariant(workers="),
        ("(wokers=[0, 1])", "def test_it(): pass", "takes no wokers, and there is no axis"),
        ("(workers=[0])", "def test_it(workers): return [1]", "two values or more of workers"),
        ("(seed=[0, 1])", "def test_it(seed): return [1]", "use assert_seed_sensitive"),
        ("(workers=[0, 1])", "def test_it(workers): pass", "gave None: let it return the loader"),
        ("(workers=[0, 1], seeds=[1])", "def test_it(workers): return [1]", "takes no seed"),
    ],
)
def test_a_mark_that_makes_no_sense_is_refused_with_the_mend(
    mark: str, test: str, told: str, pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.seed_invariant{mark}\n{test}")
    result = run()

    assert result.ret
    assert told in re.sub(r"\s+(E )?\s*", " ", result.stdout.str())


def test_the_fixture_is_an_attribute_of_unittest_classes_and_the_mark_says_so(
    pytester: pytest.Pytester,
    run: Run,
) -> None:
    pytester.makepyfile(
        FACTORY
        + """
import unittest

@pytest.mark.usefixtures("detloader")
class TestLoader(unittest.TestCase):
    def test_sound(self):
        self.detloader.assert_covers(covering, 1, records=10, ids=int)

    def test_faulty(self):
        self.detloader.assert_covers(covering, 1, records=11, ids=int)

    @pytest.mark.seed_invariant(workers=[0, 1])
    def test_marked(self):
        pass
"""
    )
    result = run()

    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*seed_invariant marks functions*", "*10 of 11 records come; never 10*"]
    )


def test_an_argument_that_nobody_gives_is_a_fixtures(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        FACTORY
        + """
@pytest.fixture
def root(tmp_path):
    return tmp_path

def make_loader(root, workers=0):
    assert root.is_dir()
    return ["a", "b"]

def needy(place, workers=0):
    return [place]

def test_given(detloader):
    detloader.assert_invariant(make_loader, over={"workers": [0, 1]})

def test_lacking(detloader):
    detloader.assert_invariant(needy, over={"workers": [0, 1]})

def test_elsewhere(detloader):
    detloader.assert_reproducible(make_loader)
"""
    )
    result = run()

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E *FactoryError: needy needs place, which nobody gives: pass arguments={'place': *",
            "E *UsageError: make_loader cannot be called in a fresh process, for root is a *Path*",
        ]
    )


def test_results_are_properties_in_junit_files(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        FACTORY
        + """
def test_sound(detloader):
    detloader.assert_covers(covering, 1, records=10, ids=int)

def test_faulty(detloader):
    detloader.assert_invariant(partitioned, over={"workers": [0, 2]}, ids=int)
"""
    )
    run("--junitxml=results.xml")
    found = {
        (case.get("name"), each.get("name")): each.get("value")
        for case in ET.parse("results.xml").iter("testcase")  # noqa: S314
        for each in case.iter("property")
    }

    assert found["test_sound", "detloader.assert_covers"] == "1 epochs of 10 records"
    told = found["test_faulty", "detloader.assert_invariant"]
    assert told == "partitioned(seed=0) is not the same with workers=2 as with workers=0"
    assert Path(str(found["test_faulty", "detloader.runs"]), "0-workers=0").is_dir()


def test_the_settings_of_the_project_hold(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        FACTORY
        + """
def test_set(detloader):
    detloader.assert_invariant(partitioned, over={"workers": [0, 2]}, ids=int)

def test_rules(detloader):
    detloader.assert_clean(partitioned(), 2, ids=int, declared={"shuffle": True})
"""
    )
    pytester.makepyprojecttoml(
        '[tool.detloader]\nequivalence = "same-set"\nignore = ["epoch-order-repeat"]\n'
    )
    run().assert_outcomes(passed=2)

    pytester.makepyprojecttoml("[tool.detloader]\nequivalense = 1\n")
    result = run()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*has an unknown key equivalense: the keys are*"])


def test_the_smallest_case_of_a_search_fails_where_it_is_pasted(
    pytester: pytest.Pytester,
    run: Run,
) -> None:
    pytester.makepyfile(
        FACTORY
        + """
from tests.support.plugin_loaders import split

def test_all(detloader):
    over = {"workers": [0, 1, 2], "prefetch": [1, 2, 4]}
    detloader.assert_invariant(split, over=over, search=True, ids=int)
"""
    )
    result = run()
    result.assert_outcomes(failed=1)
    shown = [line[1:] for line in result.stdout.lines if line.startswith("E")]
    start = next(at for at, line in enumerate(shown) if "as a test:" in line)
    stop = next(at for at, line in enumerate(shown) if "runs are kept" in line)
    pasted = "\n".join(line[7:] for line in shown[start + 1 : stop])

    assert '"workers": [0, 1], "prefetch": [1, 4]' in pasted
    assert '"records": 6' in pasted
    pytester.makepyfile(test_pasted=pasted)
    again = run("test_pasted.py")
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*row 4, epoch 0: record 4 became 5"])


def test_fresh_processes_find_a_factory_in_a_file_of_tests(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.mkdir("tests").joinpath("test_order.py").write_text(
        """
def sound(seed=0):
    return [seed, 1, 2]

def hashed(seed=0):
    return [seed, hash("a text")]

class TestFactories:
    @staticmethod
    def make(seed=0):
        return [seed]

    def make_of_self(self, seed=0):
        return [seed]

    def test_sound(self, detloader):
        detloader.assert_reproducible(sound, times=2)

    def test_static(self, detloader):
        detloader.assert_invariant(self.make, over={"hash_seed": [0, 1]})

    def test_faulty(self, detloader):
        detloader.assert_reproducible(hashed, times=2)

    def test_closure(self, detloader):
        detloader.assert_reproducible(lambda: [1])

    def test_method(self, detloader):
        detloader.assert_reproducible(self.make_of_self)
"""
    )
    run("--import-mode=prepend", "-k", "sound").assert_outcomes(passed=1, deselected=4)
    result = run("--import-mode=importlib")

    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(
        [
            "E*hashed(seed=0) is not the same in two processes",
            "E*UsageError: <lambda> cannot be found by a fresh process*move it to the top of a *",
            "E*UsageError: *make_of_self cannot be found by a fresh process*",
        ]
    )
