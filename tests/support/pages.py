"""The examples of a page, run from the first to the last: `python -m tests.support.pages PAGE`.

A page is a session in a folder that is empty but for a link to `tests`. What its fenced blocks are
is told by their language:

    python    runs, in one namespace for the whole page
    text      what the Python above it printed
    console   commands behind `$`, each with what it prints; `...` stands for anything
    sh        commands that succeed
    sql       a query that DuckDB answers
    toml      settings that parse, as does json
    yaml      not run: mark it

Where the paragraph above a block begins with a file's name, `train.py` for example, the block is
that file, and is written and not run. A block that cannot be run is marked by a comment above it,
<!-- skip: next "why" -->. What a reader need not see stands in <!-- invisible-code: python ... -->.

With `--write`, what console commands print is written into the page: look at the difference before
you commit it.
"""

from __future__ import annotations

import atexit
import contextlib
import doctest
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import SkipTest

from sybil import Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sybil import Example

__all__ = ["LANGUAGES", "ROOT", "run_page", "unknown_languages"]

ROOT = Path(__file__).resolve().parents[2]

_FILE = re.compile(r"`([\w./-]+\.(?:csv|json|jsonl|py|toml))`")
_FENCE = re.compile(r"^ *```+ *([^\s`]+.*)$", re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.*(?:\n> .*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_WRITES = "--write" in sys.argv
_SETTINGS = {"COLUMNS": "80", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}


def _python(example: Example) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        PythonEvaluator()(example)
    example.namespace["printed"] = printed.getvalue()


def _text(example: Example) -> str | None:
    return _unlike(example.namespace["printed"], str(example.parsed))


def _console(example: Example) -> str | None:
    for command, expected in _COMMAND.findall(example.parsed):
        printed = _printed(command.replace("\n> ", "\n"))
        if unlike := _unlike(printed, expected):
            if not _WRITES:
                return f"$ {command}\n{unlike}"
            page = Path(example.path)
            old, new = f"$ {command}\n{expected}", f"$ {command}\n{printed}"
            page.write_text(page.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return None


def _printed(command: str) -> str:
    return subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
    ).stdout


def _shell(example: Example) -> str | None:
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example.parsed],
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr if ran.returncode else None


def _sql(example: Example) -> str | None:
    import duckdb

    answer = duckdb.sql(example.parsed)
    return None if answer is not None and answer.fetchall() else "no rows"


def _toml(example: Example) -> None:
    tomllib.loads(example.parsed)


def _json(example: Example) -> None:
    json.loads(example.parsed)


def _yaml(_: Example) -> str:
    return "it is not run: mark it"


LANGUAGES: dict[str, Callable[[Example], str | None]] = {
    "python": _python,
    "text": _text,
    "console": _console,
    "sh": _shell,
    "sql": _sql,
    "toml": _toml,
    "json": _json,
    "yaml": _yaml,
}


def unknown_languages(page: Path) -> list[str]:
    """Give the languages of blocks that are neither run nor a directive of the site."""
    found = (match.strip() for match in _FENCE.findall(page.read_text(encoding="utf-8")))
    return [name for name in found if name not in LANGUAGES and not name.startswith("{")]


def run_page(page: Path) -> list[str]:
    """Run the examples of a page in the current folder.

    Returns:
        Why examples were left out.

    Raises:
        SybilFailure: one does not do what the page says.
    """
    parsers = [CodeBlockParser(language, _written_or(run)) for language, run in LANGUAGES.items()]
    document = Sybil([*parsers, SkipParser()]).parse(page)
    return list(_left_out(document.examples()))


def _left_out(examples: Iterator[Example]) -> Iterator[str]:
    for example in examples:
        try:
            example.evaluate()
        except SkipTest as skipped:
            yield f"line {example.line}: {skipped}"


def _written_or(run: Callable[[Example], str | None]) -> Callable[[Example], str | None]:
    """Write a block that is a file, and run any other."""

    def evaluate(example: Example) -> str | None:
        above = example.document.text[: example.start].rstrip().rpartition("\n\n")[2]
        name = _FILE.match(above)
        if name is None:
            return run(example)
        path = Path(name[1])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(example.parsed, encoding="utf-8")
        return None

    return evaluate


def _unlike(got: str, expected: str) -> str | None:
    """Say where an output is not the one that the page shows, if it is not."""
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.REPORT_UDIFF
    if checker.check_output(expected.rstrip(), got.rstrip(), flags):
        return None
    return checker.output_difference(doctest.Example("", expected), got, flags)


def _enter_an_empty_folder() -> None:
    folder = Path(tempfile.mkdtemp())
    # The last to be called, for runs are sealed when the interpreter exits.
    atexit.register(shutil.rmtree, folder)
    (folder / "tests").symlink_to(ROOT / "tests")
    os.chdir(folder)
    sys.path.insert(0, "")


if __name__ == "__main__":
    _enter_an_empty_folder()
    os.environ |= _SETTINGS
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    sys.stdout.writelines(f"{why}\n" for why in run_page(ROOT / sys.argv[1]))
