"""Delta debugging: what it returns breaks the run, and nothing smaller of it does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.audits.replay.search import BudgetSpentError, Search

CULPRITS = st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=4), min_size=1, max_size=3)


class Asked:
    """Breaks where all members of any culprit are there; counts how often it was asked."""

    def __init__(self, culprits: Sequence[set[int]]) -> None:
        self.culprits = culprits
        self.sets: list[tuple[int, ...]] = []

    def __call__(self, members: Sequence[int]) -> bool:
        self.sets.append(tuple(members))
        return any(culprit <= {*members} for culprit in self.culprits)


@given(CULPRITS)
def test_what_is_found_breaks_the_run_and_no_member_of_it_is_idle(culprits: list[set[int]]) -> None:
    found = Search(range(12), Asked(culprits), 1000).minimal_sets(range(12))

    assert found
    assert all({*each} in culprits for each in found)


@given(CULPRITS)
def test_no_set_is_tried_twice_and_the_order_is_fixed(culprits: list[set[int]]) -> None:
    first, second = Asked(culprits), Asked(culprits)
    for asked in (first, second):
        Search(range(12), asked, 1000).minimal_sets(range(12))

    assert len({*first.sets}) == len(first.sets)
    assert first.sets == second.sets


@given(CULPRITS, st.integers(0, 6))
def test_the_budget_is_kept(culprits: list[set[int]], budget: int) -> None:
    asked = Asked(culprits)
    try:
        Search(range(12), asked, budget).minimal_sets(range(12))
    except BudgetSpentError:
        assert len(asked.sets) == budget

    assert len(asked.sets) <= budget


def test_disjoint_culprits_are_all_found() -> None:
    found = Search("abcdef", lambda s: {*"ab"} <= {*s} or {*"ef"} <= {*s}, 100).minimal_sets(
        range(6)
    )

    assert sorted(map("".join, found)) == ["ab", "ef"]


def test_what_breaks_nothing_together_costs_one_trial() -> None:
    asked = Asked([])

    assert Search(range(12), asked, 1).minimal_sets(range(12)) == []
    assert len(asked.sets) == 1


def test_what_is_known_of_single_members_is_not_tried_again() -> None:
    asked = Asked([{0, 1}])
    search = Search(range(2), asked, 10)
    search.know(0, breaks=False)
    search.know(1, breaks=False)

    assert search.minimal_sets(range(2)) == [[0, 1]]
    assert asked.sets == [(0, 1)]


def test_without_a_budget_nothing_is_tried() -> None:
    with pytest.raises(BudgetSpentError):
        Search(range(2), Asked([]), 0).broken((0,))
