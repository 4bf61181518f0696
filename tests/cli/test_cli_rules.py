from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.audits import all_rules
from detloader.cli.page import page_text

Cli = Callable[..., subprocess.CompletedProcess[str]]

NAMES = [rule.name for rule in all_rules()]


def test_every_rule_is_listed_with_its_summary(cli: Cli) -> None:
    done = cli("rules")
    text = " ".join(done.stdout.split())

    assert text == " ".join(f"{rule.name} {rule.summary}" for rule in all_rules())
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_rules_of_the_first_line_are_there() -> None:
    assert set(NAMES) >= {
        "implicit-partitioning",
        "ignored-weights",
        "epoch-order-repeat",
        "partition-broken",
        "coverage-hole",
        "content-drift",
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_is_explained_on_its_page(cli: Cli, name: str) -> None:
    done = cli("rules", name)

    assert done.returncode == 0
    assert done.stdout.startswith(f"{name}\n{'=' * len(name)}\n\n")
    assert "\nHow to mend it\n--------------\n" in done.stdout
    assert not re.search(r"^#", done.stdout, re.MULTILINE)
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_an_unknown_rule_is_one_line_with_what_may_be_meant(cli: Cli) -> None:
    near, far = cli("rules", "ignored-weight"), cli("rules", "zzz")

    assert (near.returncode, far.returncode) == (2, 2)
    assert (
        near.stderr == "detloader: there is no rule ignored-weight: did you mean ignored-weights?\n"
    )
    assert far.stderr == "detloader: there is no rule zzz: detloader rules lists them\n"


@given(words=st.lists(st.text("ab`-", min_size=1, max_size=30), min_size=1))
def test_a_page_keeps_its_words_and_its_examples(words: list[str]) -> None:
    item, example = " ".join(words), f"    {'0 ' * 60}|"
    shown = page_text(f"Title.\n\n## Example\n\n{item}\n\n{example}\n\n- one\n  more\n- two\n")

    assert shown.split()[:3] == ["Title.", "Example", "-------"]
    assert shown.endswith("\n\n- one more\n- two")
    assert f"\n\n{example}\n\n" in shown
    assert " ".join(shown.split()).count(" ".join(item.split())) >= 1
