"""Runs whose difference follows the versions of libraries."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from detloader.audits import audit
from detloader.findings import Result, Severity
from detloader.manifest.schema import Declared, Environment
from detloader.manifest.writer import RankWriter
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

RULE = "version-stream"


def rows(seed: int, size: int = 40, *, text: bool = False, epochs: int = 2) -> dict[str, list[Any]]:
    orders = [random.Random(f"{seed} {epoch}").sample(range(size), size) for epoch in range(epochs)]
    return {
        "epoch": [epoch for epoch in range(epochs) for _ in range(size)],
        "record": [f"r{record}" if text else record for order in orders for record in order],
    }


def compare(
    folder: Path, a: dict[str, Any], b: dict[str, Any], *, versions: Any = None, **other: Any
) -> Result:
    declared = {"shuffle": True, "seed": 3, "workers": 2}
    before, after = versions or (
        {"numpy": "1.16", "python": "3.9"},
        {"numpy": "2.4", "python": "3.9"},
    )
    return audit(
        write_run(folder / "a", a, declared | {"versions": before}),
        write_run(folder / "b", b, declared | {"versions": after} | other),
    )


@pytest.mark.parametrize(("size", "text"), [(12, False), (200, True)])
def test_another_permutation_under_another_version(size: int, text: bool, tmp_path: Path) -> None:
    result = compare(tmp_path, rows(1, size, text=text), rows(2, size, text=text))
    (finding,) = findings_of(result, RULE)
    evidence = evidence_of(finding)

    assert loud_rules(result) == [RULE]
    assert finding.severity is Severity.WARN
    assert evidence["versions"] == {"numpy": ["1.16", "2.4"]}
    assert (evidence["same"], evidence["other"]) == (["records"], ["order"])


def test_records_that_the_newer_version_drops(tmp_path: Path) -> None:
    a = {"record": [4, 1, 3, 0, 2, 5], "rank": [0, 1, 0, 1, 0, 1]}
    b = {"record": [4, 1, 3, 5], "rank": [0, 1, 0, 1]}
    result = compare(tmp_path, a, b)
    (finding,) = findings_of(result, RULE)

    assert finding.severity is Severity.FAIL
    assert (evidence_of(finding)["dropped"], evidence_of(finding)["dropped_count"]) == ([0, 2], 2)


def test_other_draws_under_another_version(tmp_path: Path) -> None:
    a, b = rows(1) | {"draws": [*range(80)]}, rows(1) | {"draws": [*range(80, 160)]}

    assert evidence_of(findings_of(compare(tmp_path, a, b), RULE)[0])["other"] == ["draws"]


def test_versions_that_the_recorder_saw(tmp_path: Path) -> None:
    for name, seed, version in (("a", 1, "0.2.12"), ("b", 2, "0.2.18")):
        writer = RankWriter(
            tmp_path / name,
            declared=Declared(shuffle=True, seed=3),
            environment=Environment(versions={"grain": version}),
            run_id=name,
        )
        writer.append(pa.table(rows(seed)))
        writer.close()
    (finding,) = findings_of(audit(tmp_path / "a", tmp_path / "b"), RULE)

    assert evidence_of(finding)["versions"] == {"grain": ["0.2.12", "0.2.18"]}


def test_equal_rows_under_another_version_are_clean(tmp_path: Path) -> None:
    assert compare(tmp_path, rows(1), rows(1)).findings == []


def test_readers_of_files_do_not_change_an_order(tmp_path: Path) -> None:
    result = compare(tmp_path, rows(1), rows(2), versions=({"h5py": "3.1"}, {"h5py": "3.9"}))

    assert findings_of(result, RULE) == []


def test_other_bytes_alone_are_content_drift(tmp_path: Path) -> None:
    a, b = rows(1) | {"raw": [*range(80)]}, rows(1) | {"raw": [*range(79), 999]}

    assert findings_of(compare(tmp_path, a, b), RULE) == []


@pytest.mark.parametrize(
    ("other", "first"),
    [
        ({"seed": 4}, "seed-handling"),
        ({"workers": 4}, None),
        ({"resume": {"position": 3}}, None),
        ({"batch_size": 9, "workers": 2}, RULE),
    ],
)
def test_earlier_causes_come_first_and_others_make_it_undecidable(
    other: dict[str, Any], first: str | None, tmp_path: Path
) -> None:
    result = compare(tmp_path, rows(1), rows(2), **other)

    assert [finding.rule for finding in result.findings] == ([first] if first else [])


def test_without_versions_it_cannot_tell(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", rows(1), {"seed": 3, "shuffle": True})
    b = write_run(tmp_path / "b", rows(2), {"seed": 3, "shuffle": True})

    assert lacking(audit(a, b), RULE) == ["versions"]


def test_a_run_that_only_stopped_earlier_is_no_matter_of_versions(tmp_path: Path) -> None:
    longer = rows(1, epochs=3)
    shorter = {name: values[:70] for name, values in longer.items()}

    assert findings_of(compare(tmp_path, longer, shorter), RULE) == []
