"""Arguments that differ are told wherever two runs do, whatever a rule says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from detloader.audits import audit
from detloader.findings import Result
from detloader.manifest.schema import Level
from detloader.reports import markdown, text
from tests.support.results import loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

BATCHES = {"record": [*range(12)], "batch": [row // 4 for row in range(12)]}
OTHER_BATCHES = BATCHES | {"batch": [row // 3 for row in range(12)]}


def compare(
    folder: Path, a: dict[str, Any], b: dict[str, Any], *configs: dict[str, Any], **declared: Any
) -> Result:
    level = declared.pop("level", Level.FULL)
    first, second = (
        write_run(folder / name, rows, {**declared, "config": config}, level=level)
        for name, rows, config in zip("ab", (a, b), configs, strict=True)
    )
    return audit(first, second)


def test_an_unexplained_difference_names_the_arguments_in_each_report(tmp_path: Path) -> None:
    result = compare(tmp_path, BATCHES, OTHER_BATCHES, {"size": 4}, {"size": 3})
    told = "no rule names a cause; arguments that differ: size (4 and 3)"

    assert result.reason == result.streams[0].reason == told
    assert told in text.render(result)
    assert told in markdown.render(result).replace("\\", "")


def test_they_follow_what_else_there_is_to_say(tmp_path: Path) -> None:
    b = {"record": [*range(8)]}
    result = compare(tmp_path, {"record": [*range(12)]}, b, {"limit": None}, {"limit": 8})

    assert "ends after the first 8 of the 12 rows" in str(result.reason)
    assert str(result.reason).endswith("; arguments that differ: limit (none and 8)")


def test_rows_that_were_not_kept_hide_no_argument(tmp_path: Path) -> None:
    b = {"record": [*range(11, -1, -1)]}
    configs = {"scale": 1}, {"scale": 2}
    result = compare(tmp_path, {"record": [*range(12)]}, b, *configs, level=Level.DIGEST)

    assert str(result.reason).endswith("; arguments that differ: scale (1 and 2)")


def test_an_argument_that_a_finding_names_is_not_told_again(tmp_path: Path) -> None:
    a = {"record": [3, 0, 2, 1], "content": [73, 70, 72, 71]}
    b = {"record": [1, 2, 0, 3], "content": [91, 92, 90, 93]}
    configs = {"compatibility": None}, {"compatibility": "other-1"}
    result = compare(tmp_path, a, b, *configs, shuffle=True, seed=1)

    assert loud_rules(result) == ["version-stream"]
    assert result.reason is None


def declare(folder: Path, a: dict[str, Any], b: dict[str, Any]) -> str:
    rows = {"record": [*range(12)]}, {"record": [*range(11, -1, -1)]}
    runs = [
        write_run(folder / name, each, declared)
        for name, each, declared in zip("ab", rows, (a, b), strict=True)
    ]
    return str(audit(*runs).reason)


def test_declared_fields_that_differ_are_told_with_the_configuration(tmp_path: Path) -> None:
    a = {"replacement": True, "num_samples": 12, "batch_size": 4, "config": {"size": 1}}
    b = {"replacement": True, "num_samples": 14, "source_size": 12, "config": {"size": 2}}
    told = declare(tmp_path, a | {"shuffle": False}, b | {"shuffle": True})

    assert told.endswith(
        "; arguments that differ: shuffle (false and true), num_samples (12 and 14), size (1 and 2)"
    )


def test_workers_are_told_where_no_rule_names_them(tmp_path: Path) -> None:
    told = declare(tmp_path, {"workers": 0}, {"workers": 2})

    assert told.endswith("; arguments that differ: workers (0 and 2)")


def test_rows_of_a_batch_that_follow_from_the_number_of_ranks_are_no_argument(
    tmp_path: Path,
) -> None:
    a, b = ({"batch_size": rows, "world_size": 12 // rows} for rows in (3, 4))

    assert "arguments" not in declare(tmp_path, a, b)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("longer", [0, 1])
def test_of_long_weights_the_first_that_differs_is_shown(
    longer: int, named: bool, tmp_path: Path
) -> None:
    plain = [1.0] * 3000
    other = [*plain[:-1], 2.5] if not longer else [*plain, 2.5]
    weights = [
        {str(place): weight for place, weight in enumerate(each)} if named else each
        for each in (plain, other)
    ]
    told = declare(tmp_path, *({"weights": each, "replacement": True} for each in weights))
    first = "none" if longer else "1.0"
    count = "3,000 and 3,001" if longer else "3,000"

    assert f"weights ({count} entries; {2999 + longer}: {first} and 2.5)" in told


def test_equal_rows_need_no_argument(tmp_path: Path) -> None:
    result = compare(tmp_path, BATCHES, BATCHES, {"size": 4}, {"size": 3})

    assert result.reason is None


@pytest.mark.parametrize("count", [9, 40])
def test_long_lists_and_long_values_are_cut(count: int, tmp_path: Path) -> None:
    configs = [{f"name{number}": "x" * 200 + run for number in range(count)} for run in "ab"]
    result = compare(tmp_path, BATCHES, OTHER_BATCHES, *configs)

    assert str(result.reason).endswith(f", and {count - 8} more")
    assert len(str(result.reason)) < 1000


def test_long_values_are_shown_where_they_begin_to_differ(tmp_path: Path) -> None:
    configs = [{"shuffle": [{"buffer": 100_000, "again": True, "seed": seed}]} for seed in (7, 8)]
    reason = str(compare(tmp_path, BATCHES, OTHER_BATCHES, *configs).reason)

    assert '"seed":7}' in reason
    assert '"seed":8}' in reason
