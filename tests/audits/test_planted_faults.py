"""Loaders drawn from a grammar, faulty and sound: the rule that is planted comes first."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.study.between import BETWEEN
from tests.study.forms import FORMS, draw_form
from tests.study.judging import judge, loud
from tests.study.planting import FAULTS, plant
from tests.study.sound import PAIRS, draw_loader, draw_pair, hide_some

if TYPE_CHECKING:
    import pytest

# The study in tests/study has a rate to keep; this is a sample of it, the same every time.
SEARCH = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
SEEDS = st.integers(0, 2**32)


@given(seed=SEEDS, kind=st.sampled_from([*FAULTS, *BETWEEN]))
@SEARCH
def test_a_planted_fault_is_named_first(
    seed: int, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    planted = plant(random.Random(seed), kind)
    result = judge(tmp_path_factory.mktemp("case") / "runs", planted.log, planted.baseline)

    assert loud(result)[0].rule == planted.rules[0]


@given(seed=SEEDS, kind=st.sampled_from(["one run", *PAIRS]))
@SEARCH
def test_sound_loaders_are_clean(
    seed: int, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = random.Random(seed)
    if kind == "one run":
        logs = [draw_loader(rng, hidden=hide_some(rng)).deliver()]
    else:
        logs = [*reversed(draw_pair(rng, kind))]
    result = judge(tmp_path_factory.mktemp("case") / "runs", *logs)

    assert [finding.message for finding in loud(result)] == []


@given(seed=SEEDS, kind=st.sampled_from([*FORMS]))
@SEARCH
def test_sound_loaders_of_unusual_forms_are_clean(
    seed: int, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    logs = draw_form(random.Random(seed), kind)
    result = judge(tmp_path_factory.mktemp("case") / "runs", *logs)

    assert [finding.message for finding in loud(result)] == []
