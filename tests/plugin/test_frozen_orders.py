"""Frozen orders beside tests: written, compared, missing, broken, unused; by several processes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
Run = Callable[..., pytest.RunResult]

TESTS = """
import pytest
from tests.support.plugin_loaders import partitioned

@pytest.mark.parametrize("times", [1, 2])
def test_train(detloader, times):
    detloader.assert_matches(
        partitioned(seed=SEED), "train", ids=int, declared={"seed": SEED, "loader": "Shuffled"}
    )

def test_evaluation(detloader):
    detloader.assert_matches(list("abc"), "evaluation", ids=str)
"""


def write(pytester: pytest.Pytester, seed: int = 0) -> None:
    pytester.makepyfile(test_orders=TESTS.replace("SEED", str(seed)))


def file(pytester: pytest.Pytester, name: str = "train") -> Path:
    return pytester.path / "frozen" / "test_orders" / f"{name}.json"


@pytest.fixture
def frozen(pytester: pytest.Pytester, run: Run) -> pytest.Pytester:
    write(pytester)
    run("--detloader-update-new").assert_outcomes(passed=3)
    return pytester


def test_a_missing_order_fails_with_the_mend(pytester: pytest.Pytester, run: Run) -> None:
    write(pytester)
    result = run()

    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        ["E*frozen/test_orders/train.json does not exist: *--detloader-update-new*commit it"]
    )
    assert not file(pytester).parent.exists()


def test_what_was_written_is_compared_from_then_on(frozen: pytest.Pytester, run: Run) -> None:
    before = file(frozen).read_bytes()
    run().assert_outcomes(passed=3)
    write(frozen, seed=1)
    result = run()

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E*changed: not what frozen/test_orders/train.json says",
            "E*column record first differs in rows 0 to 39",
            "E*not as it was      seed 0 became 1",
            "E*look further       detloader show */0-train",
            "E*if it is meant     pytest --detloader-update",
            "E*runs are kept in *",
        ]
    )
    assert file(frozen).read_bytes() == before


def test_what_differs_is_written_where_that_is_asked_for_and_only_then(
    frozen: pytest.Pytester, run: Run
) -> None:
    before = {path: path.read_bytes() for path in file(frozen).parent.iterdir()}
    write(frozen, seed=1)
    run("--detloader-update-new").assert_outcomes(passed=1, failed=2)
    assert {path: path.read_bytes() for path in before} == before

    run("--detloader-update").assert_outcomes(passed=3)
    assert [path.name for path in before if path.read_bytes() != before[path]] == ["train.json"]
    run().assert_outcomes(passed=3)


def test_two_loaders_of_one_name_are_told_apart_while_they_are_written(
    pytester: pytest.Pytester,
    run: Run,
) -> None:
    pytester.makepyfile(
        test_orders="""
def test_one(detloader):
    detloader.assert_matches([1, 2], "numbers", ids=int)

def test_other(detloader):
    detloader.assert_matches([2, 1], "numbers", ids=int)
"""
    )
    result = run("--detloader-update")

    result.assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda text: "<<<<<<< HEAD\n" + text, "has conflict markers of a merge, the first in"),
        (lambda text: re.sub(r'("schema_version": )\d+', r"\g<1>999", text), "upgrade detloader"),
        (lambda text: text.replace('"rows": 40', '"rows": 39'), "was edited by hand"),
        (lambda text: "", "is no frozen file"),
    ],
)
def test_a_broken_file_is_an_error_with_the_mend_and_can_be_written_anew(
    edit: object, told: str, frozen: pytest.Pytester, run: Run
) -> None:
    assert callable(edit)
    text = file(frozen).read_text(encoding="utf-8")
    file(frozen).write_text(edit(text), encoding="utf-8")
    result = run()

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines([f"E*FrozenError: frozen/test_orders/train.json *{told}*"])
    run("--detloader-update").assert_outcomes(passed=3)
    assert file(frozen).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("how", ["", "--detloader-update"])
def test_a_folder_in_the_place_of_a_file_is_told_so_however_tests_are_run(
    how: str, frozen: pytest.Pytester, run: Run
) -> None:
    file(frozen).unlink()
    file(frozen).mkdir()
    result = run(*filter(None, [how]))

    result.stdout.fnmatch_lines(["E*FrozenError: *train.json is a folder*: remove or rename it"])
    assert file(frozen).is_dir()


def test_an_order_of_another_loader_is_told_so(frozen: pytest.Pytester, run: Run) -> None:
    frozen.makepyfile(
        test_orders="""
def test_train(detloader):
    detloader.assert_matches([1, 2], "train", ids=int, declared={"loader": "Sorted"})
"""
    )

    run().stdout.fnmatch_lines(["E*train.json is of another loader, a Shuffled and not a Sorted*"])


@pytest.mark.parametrize("name", ["../train", "", "a/b", ".hidden"])
def test_a_name_that_no_file_can_have_is_refused(
    name: str, pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(f"def test_it(detloader): detloader.assert_matches([1], {name!r})")
    result = run()

    result.stdout.fnmatch_lines(["E*UsageError: * cannot name a file: take letters*"])


@pytest.mark.parametrize(
    ("arguments", "is_whole"),
    [
        ([], True),
        (["test_orders.py"], True),
        (["-k", "evaluation"], False),
        (["-m", "not slow"], False),
        (["test_orders.py::test_evaluation"], False),
        (["--deselect", "test_orders.py::test_train"], False),
        (["--lf"], False),
    ],
)
def test_an_unused_order_is_reported_on_whole_runs_only(
    arguments: list[str], is_whole: bool, frozen: pytest.Pytester, run: Run
) -> None:
    file(frozen, "old").write_bytes(file(frozen).read_bytes())
    result = run(*arguments)
    told = [line for line in result.outlines if line.startswith("unused: ")]

    assert result.ret == 0
    assert bool(told) is is_whole
    assert not is_whole or told[0].startswith("unused: frozen/test_orders/old.json (delete it")


def test_no_order_is_unused_while_a_test_fails_or_is_skipped(
    frozen: pytest.Pytester, run: Run
) -> None:
    write(frozen, seed=1)
    failed = run()
    frozen.makepyfile(test_orders="import pytest\n@pytest.mark.skip\ndef test_it(): pass")
    skipped = run()

    assert not [line for line in failed.outlines + skipped.outlines if "unused: " in line]


def test_several_processes_write_and_compare_the_same_orders(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    write(pytester)
    pytester.runpytest_subprocess("-n2", "--detloader-update").assert_outcomes(passed=3)
    written = {path.name for path in file(pytester).parent.iterdir()}
    file(pytester, "old").write_bytes(file(pytester).read_bytes())
    result = pytester.runpytest_subprocess("-n2")

    assert written == {"train.json", "evaluation.json"}
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["unused: frozen/test_orders/old.json*"])
