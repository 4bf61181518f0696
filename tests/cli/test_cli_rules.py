from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from detloader.audits import all_rules

Cli = Callable[..., subprocess.CompletedProcess[str]]

NAMES = [rule.name for rule in all_rules()]


def test_every_rule_is_listed_with_its_summary(cli: Cli) -> None:
    done = cli("rules")
    listed = [line.partition("  ") for line in done.stdout.splitlines()]

    assert [(name, summary.strip()) for name, _, summary in listed] == [
        (rule.name, rule.summary) for rule in all_rules()
    ]


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


def test_an_unknown_rule_is_one_line_with_what_may_be_meant(cli: Cli) -> None:
    near, far = cli("rules", "ignored-weight"), cli("rules", "zzz")

    assert (near.returncode, far.returncode) == (2, 2)
    assert (
        near.stderr == "detloader: there is no rule ignored-weight: did you mean ignored-weights?\n"
    )
    assert far.stderr == "detloader: there is no rule zzz: detloader rules lists them\n"
