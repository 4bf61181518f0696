"""The project as a whole: what is packaged, documented and promised."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from detloader.audits import all_rules
from detloader.cli import commands
from detloader.cli.manual import pages
from detloader.findings import Verdict
from detloader.manifest.schema import Declared

ROOT = Path(__file__).parents[1]
FOLDERS = ("detloader", "audits", "reports")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODULES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.py")
    if not path.is_relative_to(ROOT / "detloader" / "audits")
    and not path.is_relative_to(ROOT / "detloader" / "reports")
)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def dotted(folder: Path) -> str:
    parts = folder.relative_to(ROOT).parts
    return ".".join(parts if parts[0] == "detloader" else ("detloader", *parts))


def test_every_package_of_the_tree_is_packaged() -> None:
    found = {dotted(path.parent) for path in MODULES if path.name == "__init__.py"}

    assert found == set(PROJECT["tool"]["setuptools"]["packages"])
    assert {path.parent for path in MODULES} == {
        path.parent for path in MODULES if path.name == "__init__.py"
    }


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is_and_what_it_offers(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }

    assert ast.get_docstring(tree)
    assert "__all__" in names


def test_no_module_is_loaded_under_a_second_name() -> None:
    program = (
        "import sys, detloader.cli.manual, detloader.reports.text, detloader.audits.engine\n"
        "print([n for n in sys.modules if n.partition('.')[0] in ('audits', 'reports')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    )

    assert done.stdout == "[]\n"


def test_importing_the_package_imports_no_other() -> None:
    program = (
        "import sys; before = set(sys.modules); import detloader; print(*set(sys.modules) - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}

    assert loaded - set(sys.stdlib_module_names) == {"detloader"}


@pytest.mark.parametrize("name", pages())
def test_pages_that_are_made_from_the_program_are_current(name: str) -> None:
    assert read(f"docs/{name}") == pages()[name], "run: python -m detloader.cli.manual docs"


def test_every_command_and_option_has_help() -> None:
    group = commands()
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        assert command.help
        assert all(p.help for p in command.params if isinstance(p, click.Option))
        assert f"## detloader {name}\n" in read("docs/cli.md")


@pytest.mark.parametrize("rule", [rule.name for rule in all_rules()])
def test_a_rule_has_its_module_and_its_page(rule: str) -> None:
    assert (ROOT / "audits" / "rules" / f"{rule.replace('-', '_')}.py").is_file()
    assert f"\n## {rule}\n" in read("docs/rules.md")


def test_the_readme_explains_every_verdict_of_an_audit() -> None:
    verdicts = set(Verdict) - {Verdict.CLEAN, Verdict.FINDINGS}

    assert set(re.findall(r"^\| `(\w+)` \|", read("README.md"), re.MULTILINE)) == verdicts


def test_the_manifest_page_explains_every_declared_field() -> None:
    explained = set(re.findall(r"`(\w+)`", read("docs/manifest.md")))

    assert set(Declared.__struct_fields__) <= explained


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = re.findall(r"^python3 .*/pytest.*$", read("README.md"), re.MULTILINE)

    assert f"\n  {command}\n" in read(".ci/run")


def test_the_demo_command_of_the_readme_sets_up_what_it_needs() -> None:
    (command,) = re.findall(r"^python3 .*detloader demo$", read("README.md"), re.MULTILINE)

    assert command.startswith("python3 -m venv .venv && .venv/bin/pip install")


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        *map(str, (path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md"))),
    ],
)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", read(page))

    assert [link for link in links if not (folder / link).exists()] == []
