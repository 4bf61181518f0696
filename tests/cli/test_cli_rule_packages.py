"""Rules of other packages: the one of the docs, and those that cannot be used."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.rule_package import register, write_package
from tests.support.runs import write_run

Cli = Callable[..., subprocess.CompletedProcess[str]]

PARTS = {
    "page": '"""A rule."""',
    "stage": "STAGE = Stage.SAMPLER",
    "example": "EXAMPLE = Example(faulty={}, mended={}, declared={})",
    "question": "def check_run(view, known): return []",
}
IMPORTS = "from detloader.audits.rule import Example, Stage"


def install(folder: Path, *lines: str, name: str = "odd_rule") -> str:
    """Put a rule where Python finds it; gives the search path."""
    register(folder, "odd-package", **{name: "odd_module"})
    (folder / "odd_module.py").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return str(folder)


def test_the_rule_of_the_docs_is_listed_explained_and_asked(program: Cli, tmp_path: Path) -> None:
    package = write_package(tmp_path / "package")
    register(package, "detloader-batch-repeat", batch_repeat="batch_repeat")
    write_run(tmp_path / "faulty", {"batch": [0, 0, 0, 0], "record": [4, 7, 7, 2]})
    write_run(tmp_path / "mended", {"batch": [0, 0, 0, 0], "record": [4, 7, 3, 2]})

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return program(*arguments, PYTHONPATH=str(package))

    faulty = run("check", "faulty", "--select", "batch-repeat")
    assert re.search(
        r"^batch-repeat +A record comes twice in one batch\.$", run("rules").stdout, re.MULTILINE
    )
    assert run("rules", "batch-repeat").stdout.startswith("batch-repeat\n============\n\nA record")
    assert faulty.returncode == 1
    assert "batch-repeat (fail)\n  Rows that repeat a record of their batch: 1." in faulty.stdout
    assert run("check", "mended", "--select", "batch-repeat").returncode == 0


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("page", "it has no docstring"),
        ("stage", "it has no STAGE, an instance of detloader.audits.rule.Stage"),
        ("example", "it has no EXAMPLE, an instance of detloader.audits.rule.Example"),
        ("question", "it has no function check_run, compare_runs or compare_headers"),
    ],
)
def test_a_rule_that_lacks_a_part_is_one_line(
    program: Cli, tmp_path: Path, missing: str, said: str
) -> None:
    parts = {name: text for name, text in PARTS.items() if name != missing}
    path = install(tmp_path / "odd", parts.pop("page", ""), IMPORTS, *parts.values())
    done = program("rules", PYTHONPATH=path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"detloader: rule odd-rule of odd-package cannot be used: {said}; "
        "mend odd_module, or uninstall odd-package\n"
    )


@pytest.mark.parametrize("command", [["rules"], ["check", "run"], ["audit", "run", "run"]])
def test_a_rule_that_cannot_be_imported_is_one_line(
    program: Cli, tmp_path: Path, command: list[str]
) -> None:
    write_run(tmp_path / "run", {"record": [1, 2]})
    done = program(*command, PYTHONPATH=install(tmp_path / "odd", "import no_such_module"))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "detloader: rule odd-rule of odd-package cannot be used: ModuleNotFoundError: "
        "No module named 'no_such_module'; mend odd_module, or uninstall odd-package\n"
    )


def test_a_rule_with_the_name_of_another_is_one_line(program: Cli, tmp_path: Path) -> None:
    path = install(tmp_path / "odd", PARTS["page"], name="coverage_hole")
    done = program("rules", PYTHONPATH=path)

    assert (done.returncode, done.stdout) == (2, "")
    assert "rule coverage-hole of odd-package cannot be used: another rule has" in done.stderr


def test_a_whole_rule_of_few_lines_is_enough(program: Cli, tmp_path: Path) -> None:
    parts = dict(PARTS)
    path = install(tmp_path / "odd", parts.pop("page"), IMPORTS, *parts.values())
    done = program("rules", "odd-rule", PYTHONPATH=path)

    assert (done.returncode, done.stdout) == (0, "odd-rule\n========\n\nA rule.\n")
