"""README.md and docs/: what the examples show is what happens."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from tests.support.pages import ROOT, unknown_languages

PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]

LEFT_OUT = Counter(
    {
        "README.md": 6,
        "docs/benchmarks.md": 1,
        "docs/ci.md": 2,
        "docs/found-in-the-wild.md": 2,
        "docs/freeze.md": 1,
        "docs/index.md": 1,
        "docs/ranks.md": 1,
        "docs/record.md": 1,
        "docs/replay.md": 2,
        "docs/tutorial.md": 1,
        "docs/versions.md": 3,
        "docs/writing-rules.md": 1,
    }
)
"""How many blocks of a page are marked as such that cannot be run; 0 where it is not named."""


@pytest.mark.timeout(600)  # The gallery starts thirty programs.
@pytest.mark.parametrize("page", PAGES)
def test_every_example_of_a_page_does_what_the_page_says(page: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.pages", page],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(ran.stdout.splitlines()) == LEFT_OUT[page], ran.stdout


@pytest.mark.parametrize("page", PAGES)
def test_every_block_has_a_language_that_is_run(page: str) -> None:
    assert unknown_languages(ROOT / page) == []
