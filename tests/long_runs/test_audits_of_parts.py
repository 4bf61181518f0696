"""Audits honour that only a part was recorded: what was left out is not missed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detloader import audit, check, record, to_grain
from detloader.audits.replay.recompute import recompute_order
from detloader.errors import UsageError
from detloader.findings import Result, Verdict

PARTS: dict[str, dict[str, Any]] = {
    "epochs": {"epochs": [0, 2, 5]},
    "every": {"every": 5},
    "then": {"then": "order"},
    "all": {"epochs": [2, 5], "every": 2, "then": "order"},
}


def add_noise(record: int, rng: np.random.Generator) -> float:
    return record + rng.random()


def make(run: Path, *, seed: int = 0, size: int = 10, **options: Any) -> Path:
    stream = to_grain(
        [*range(200)], seed=seed, shuffle=True, transform=add_noise, batch_size=size, num_epochs=6
    )
    with record(stream, run, declared={"purpose": "train"}, **options) as batches:
        for _ in batches:
            pass
    return run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("whole") / "run")


def loud(result: Result) -> list[str]:
    return [finding.rule for finding in result.findings if finding.severity != "note"]


@pytest.mark.parametrize("part", PARTS)
def test_no_rule_misses_what_was_not_to_be_recorded(tmp_path: Path, part: str) -> None:
    result = check(make(tmp_path / "run", **PARTS[part]))

    assert result.verdict is Verdict.CLEAN
    assert "recorded of" in (result.reason or "")


@pytest.mark.parametrize("part", PARTS)
def test_two_runs_of_one_part_are_identical_as_far_as_they_go(tmp_path: Path, part: str) -> None:
    a, b = (make(tmp_path / name, **PARTS[part]) for name in "ab")
    result = audit(a, b)

    assert result.verdict is Verdict.IDENTICAL
    assert (result.coverage == 1) is (part == "then")


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_compared_with_the_whole_in_what_both_have(
    tmp_path: Path, whole: Path, part: str
) -> None:
    run = make(tmp_path / "run", **PARTS[part])

    for result in (audit(whole, run), audit(run, whole)):
        assert result.verdict is Verdict.IDENTICAL
        assert result.findings == []
    assert ("content" in (result.not_compared or [])) is (part in {"then", "all"})


@pytest.mark.parametrize("one", PARTS)
@pytest.mark.parametrize("other", PARTS)
def test_unlike_parts_are_compared_in_what_both_have(tmp_path: Path, one: str, other: str) -> None:
    a, b = make(tmp_path / "a", **PARTS[one]), make(tmp_path / "b", **PARTS[other])

    assert audit(a, b).verdict is Verdict.IDENTICAL


@pytest.mark.parametrize("part", PARTS)
def test_a_difference_in_the_part_is_found(tmp_path: Path, whole: Path, part: str) -> None:
    run = make(tmp_path / "run", seed=1, **PARTS[part])
    result = audit(whole, run)

    assert result.verdict in {Verdict.CHANGED, Verdict.REORDERED}
    assert loud(result) == []
    assert [finding.rule for finding in result.findings] == ["seed-handling"]


def test_records_that_may_stand_elsewhere_are_not_called_lost(tmp_path: Path) -> None:
    a, b = make(tmp_path / "a", every=5), make(tmp_path / "b", seed=1, every=5)
    result = audit(a, b)
    skipped = {skipped.rule for skipped in result.not_checked if "every row" in str(skipped)}

    assert "may stand in a batch that was not recorded" in (result.reason or "")
    assert {"coverage-hole", "tail-handling", "implicit-partitioning"} <= skipped


def test_an_epoch_that_should_have_come_is_missed(tmp_path: Path) -> None:
    class Told(list[int]):
        def set_epoch(self, epoch: int) -> None:
            pass

    with record(Told(range(5)), tmp_path / "run", ids=int, epochs=[0, 2, 4]) as rows:
        for epoch in (0, 1, 3, 4):
            rows.set_epoch(epoch)
            for _ in rows:
                pass

    (finding,) = check(tmp_path / "run").findings
    assert finding.evidence["empty_epochs"] == [2]


def test_batches_of_unlike_sizes_are_not_the_same_places(tmp_path: Path, whole: Path) -> None:
    result = audit(whole, make(tmp_path / "run", size=20, every=5))

    assert result.verdict is Verdict.INCONCLUSIVE
    assert "batches have 10 rows" in (result.reason or "")


def test_digests_alone_cannot_tell_of_unlike_parts(tmp_path: Path, whole: Path) -> None:
    result = audit(whole, make(tmp_path / "run", level="digest", epochs=[1]))

    assert result.verdict is Verdict.INCONCLUSIVE
    assert "unlike parts" in (result.reason or "")


@pytest.mark.parametrize("part", ["epochs", "every"])
def test_the_first_difference_is_looked_for_in_what_both_have(
    tmp_path: Path, whole: Path, part: str
) -> None:
    run = make(tmp_path / "run", **PARTS[part])

    assert audit(whole, run, first=True).verdict is Verdict.IDENTICAL


def test_rows_of_a_part_are_not_computed_by_their_number(tmp_path: Path) -> None:
    run = make(tmp_path / "run", every=5)

    with pytest.raises(UsageError, match="only a part was recorded"):
        recompute_order(run)


def test_equal_counts_of_unlike_parts_say_nothing_where_rows_were_not_kept(tmp_path: Path) -> None:
    a = make(tmp_path / "a", epochs=[0], level="digest")
    b = make(tmp_path / "b", epochs=[1], level="digest")

    assert audit(a, b).verdict is Verdict.INCONCLUSIVE
    assert audit(a, a).verdict is Verdict.IDENTICAL


class Dealt:
    """Deals the batches of 80 records to two ranks, in another order each epoch."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.epoch = 0

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        order = np.random.default_rng(self.epoch).permutation(80)[self.rank :: 2]
        self.epoch += 1
        return iter([{"id": part, "x": part / 2} for part in order.reshape(8, 5)])


def make_ranks(run: Path, **options: Any) -> Path:
    declared = {"world_size": 2, "shuffle": True, "source_size": 80, "batch_size": 5}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DETLOADER_RUN_ID", run.name)
        for rank in (0, 1):
            told: dict[str, Any] = {
                "ids": "id",
                "batched": True,
                "rank": rank,
                "declared": declared,
            }
            with record(Dealt(rank), run, **told, **options) as batches:
                for _ in range(6):
                    for _ in batches:
                        pass
    return run


@pytest.mark.parametrize("one", [None, *PARTS])
@pytest.mark.parametrize("other", PARTS)
def test_parts_of_several_ranks_are_compared_rank_by_rank(
    tmp_path: Path, one: str | None, other: str
) -> None:
    a = make_ranks(tmp_path / "a", **(PARTS[one] if one else {}))
    b = make_ranks(tmp_path / "b", **PARTS[other])

    assert audit(a, b).verdict is Verdict.IDENTICAL
    assert check(b).verdict is Verdict.CLEAN
