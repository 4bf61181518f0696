"""Rules about two runs beside one another: who speaks, who is silent, and in which order."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from detloader.audits import all_rules, audit
from detloader.findings import Result
from detloader.importers import import_log
from tests.support.results import findings_of, loud_rules
from tests.support.runs import write_run

CASES = sorted(path.parent for path in Path(__file__).parents[2].glob("cases/*/run_b.csv"))

RULES = [
    "source-order",
    "seed-handling",
    "topology-dependence",
    "version-stream",
    "rng-coupling",
    "race",
    "resume-drift",
    "stale-cache",
]


def read(case: Path, folder: Path) -> tuple[Path, Path]:
    for name in ("run_a", "run_b"):
        import_log(case / f"{name}.csv", folder / name, meta=case / f"{name}.json")
    return folder / "run_a", folder / "run_b"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_rule_speaks_of_its_own_cases_alone_though_no_other_is_asked(
    case: Path, tmp_path: Path
) -> None:
    expected = json.loads((case / "expect.json").read_text())["rule"]
    runs = read(case, tmp_path)
    speaking = {rule for rule in RULES if audit(*runs, select=[rule]).findings}

    assert speaking <= ({expected} if isinstance(expected, str) else set(expected or ()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_turned_round_names_no_rule_of_another_kind(case: Path, tmp_path: Path) -> None:
    expected = json.loads((case / "expect.json").read_text())["rule"]
    run_a, run_b = read(case, tmp_path)
    speaking = set(loud_rules(audit(run_b, run_a, select=RULES)))

    assert speaking <= ({expected} if isinstance(expected, str) else set(expected or ()))


def test_causes_come_in_the_order_of_a_loaders_stages() -> None:
    assert [rule.name for rule in all_rules() if rule.name in RULES] == RULES


def compare(
    folder: Path, a: dict[str, Any], b: dict[str, Any], other: dict[str, Any], **declared: Any
) -> Result:
    return audit(write_run(folder / "a", a, declared), write_run(folder / "b", b, declared | other))


def test_one_cause_silences_those_that_could_only_follow(tmp_path: Path) -> None:
    a, b = ({"record": random.Random(seed).sample(range(50), 50)} for seed in (1, 2))
    other = {"seed": 2, "workers": 4, "versions": {"numpy": "2"}}
    declared = {"shuffle": True, "seed": 1, "workers": 0, "versions": {"numpy": "1"}}

    result = compare(tmp_path, a, b, other, **declared)

    assert [finding.rule for finding in result.findings] == ["seed-handling"]


def test_a_stale_cache_is_told_beside_another_seed(tmp_path: Path) -> None:
    a, b = (
        {"record": order, "content": [record + 70 for record in order]}
        for order in (random.Random(seed).sample(range(50), 50) for seed in (1, 2))
    )
    other = {"seed": 2, "config": {"scale": 3}}
    declared = {"shuffle": True, "seed": 1, "cache": True, "config": {"scale": 2}}

    result = compare(tmp_path, a, b, other, **declared)

    assert [finding.rule for finding in result.findings] == ["seed-handling", "stale-cache"]


def test_a_missed_restart_is_told_beside_a_record_that_changed(tmp_path: Path) -> None:
    a = {"record": [*range(40)], "raw": [*range(500, 540)]}
    b = {name: [*values[:13], *values[20:]] for name, values in a.items()}
    b["raw"][2] = 9
    other = {"resume": {"position": 13}}

    assert loud_rules(compare(tmp_path, a, b, other, shuffle=False, source_size=40)) == [
        "resume-drift",
        "content-drift",
    ]


def test_another_version_does_not_hide_a_missed_restart(tmp_path: Path) -> None:
    order = random.Random(0).sample(range(40), 40)
    other = {"resume": {"position": 13}, "versions": {"grain": "2"}}
    result = compare(
        tmp_path,
        {"record": order},
        {"record": [*order[:13], *order[20:]]},
        other,
        shuffle=True,
        seed=1,
        versions={"grain": "1"},
    )

    assert loud_rules(result) == ["resume-drift"]
    assert findings_of(result, "version-stream") == []
