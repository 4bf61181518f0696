"""Streams of draws that are copies, and draws that may well be equal."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader.audits import audit, check
from detloader.findings import Result, Severity
from tests.support.results import evidence_of, findings_of, lacking
from tests.support.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RULE = "worker-rng-clone"
FEW_VALUES = 1 << 40


def rows_of(
    streams: int,
    length: int,
    draw: Callable[[int, int, int], int | None],
    *,
    epochs: int = 1,
    by: str = "worker",
) -> dict[str, list[Any]]:
    """Deliver records in turn: one of each stream, then the next; `draw(epoch, stream, place)`."""
    rows: dict[str, list[Any]] = {name: [] for name in ("epoch", by, "record", "draws")}
    for epoch in range(epochs):
        order = random.Random(epoch).sample(range(streams * length), streams * length)
        for place, record in enumerate(order):
            rows["epoch"].append(epoch)
            rows[by].append(place % streams)
            rows["record"].append(record)
            rows["draws"].append(draw(epoch, place % streams, place // streams))
    return rows


def number(*key: int) -> int:
    return random.Random(repr(key)).getrandbits(60)


def judge(folder: Path, rows: dict[str, list[Any]], **declared: Any) -> Result:
    return check(write_run(folder / "run", rows, {"purpose": "train", "shuffle": True} | declared))


@pytest.mark.parametrize("streams", [2, 4, 7])
@pytest.mark.parametrize("length", [10, 200])
@pytest.mark.parametrize("by", ["worker", "rank"])
def test_copied_streams_are_found(streams: int, length: int, by: str, tmp_path: Path) -> None:
    rows = rows_of(streams, length, lambda _, __, place: number(place), by=by)
    (finding,) = findings_of(judge(tmp_path, rows), RULE)
    evidence = evidence_of(finding)

    assert finding.severity is Severity.FAIL
    assert evidence["between"] == f"{by}s"
    assert evidence["pairs_count"] == streams * (streams - 1) // 2
    assert (evidence["matched"], evidence["compared"]) == (length, length)
    assert (evidence["distinct"], evidence["rows"]) == (length, streams * length)
    assert evidence["log10_chance"] < -8


def test_the_copies_among_sound_streams_are_named(tmp_path: Path) -> None:
    rows = rows_of(5, 30, lambda _, stream, place: number(1 if stream in {1, 3} else stream, place))
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["pairs"] == [[{"rank": 0, "worker": 1}, {"rank": 0, "worker": 3}]]


def test_workers_of_two_ranks_that_are_all_copies(tmp_path: Path) -> None:
    rows = rows_of(4, 20, lambda _, __, place: number(place))
    rows["rank"] = [stream // 2 for stream in rows["worker"]]
    rows["worker"] = [f"w{stream % 2}" for stream in rows["worker"]]
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert finding.message.startswith("4 workers of 2 ranks have the same draws")
    assert evidence_of(finding)["between"] == "workers and ranks"
    assert evidence_of(finding)["pairs_count"] == 6


def test_ranks_whose_workers_are_sound_in_themselves(tmp_path: Path) -> None:
    rows = rows_of(4, 20, lambda _, stream, place: number(stream % 2, place))
    rows["rank"] = [stream // 2 for stream in rows["worker"]]
    rows["worker"] = [stream % 2 for stream in rows["worker"]]
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert finding.message.startswith("4 workers of 2 ranks have the same draws")
    assert evidence_of(finding)["between"] == "ranks"
    assert evidence_of(finding)["pairs_count"] == 2


def test_copies_are_found_in_the_epoch_in_which_they_are_copies(tmp_path: Path) -> None:
    rows = rows_of(
        2, 30, lambda epoch, stream, place: number(epoch, stream * (epoch != 1), place), epochs=3
    )
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["epochs"] == [1]


def test_coin_flips_are_judged_over_whole_sequences(tmp_path: Path) -> None:
    rows = rows_of(3, 300, lambda _, __, place: number(place) % 2)

    assert findings_of(judge(tmp_path, rows), RULE)


def test_coin_flips_of_short_epochs_are_judged_together(tmp_path: Path) -> None:
    rows = rows_of(2, 40, lambda epoch, _, place: number(epoch, place) % 2, epochs=8)
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["compared"] >= 300


def test_streams_that_go_on_over_epochs_of_unequal_length(tmp_path: Path) -> None:
    lengths = {0: [40, 39], 1: [39, 40]}
    rows: dict[str, list[Any]] = {name: [] for name in ("epoch", "worker", "record", "draws")}
    taken = [0, 0]
    for epoch in (0, 1):
        for worker in (0, 1):
            for _ in range(lengths[epoch][worker]):
                rows["epoch"].append(epoch)
                rows["worker"].append(worker)
                rows["record"].append(len(rows["record"]))
                rows["draws"].append(number(taken[worker]) % 2)
                taken[worker] += 1
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["compared"] == 79


def test_a_filter_that_shifts_a_stream_hides_nothing(tmp_path: Path) -> None:
    rows = rows_of(2, 100, lambda _, __, place: number(place))
    kept = [
        row
        for row, (worker, draws) in enumerate(zip(rows["worker"], rows["draws"], strict=True))
        if not (worker == 1 and draws in {number(11), number(50)})
    ]
    rows = {name: [values[row] for row in kept] for name, values in rows.items()}
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["matched"] == 98


def test_rows_without_a_draw_count_for_nothing(tmp_path: Path) -> None:
    rows = rows_of(
        2, 40, lambda _, stream, place: None if (place + stream) % 4 == 0 else number(stream, place)
    )
    assert findings_of(judge(tmp_path / "sound", rows), RULE) == []

    fresh = {0: iter(range(99)), 1: iter(range(99))}
    rows["draws"] = [
        None if draws is None else number(next(fresh[worker]))
        for worker, draws in zip(rows["worker"], rows["draws"], strict=True)
    ]
    (finding,) = findings_of(judge(tmp_path / "copied", rows), RULE)
    assert evidence_of(finding)["compared"] == 30


def test_the_transform_whose_stream_is_copied_is_named(tmp_path: Path) -> None:
    rows = rows_of(3, 20, lambda _, stream, place: number(stream, place))
    rows["draws_crop"] = [number(place // 3) for place in range(60)]
    rows["draws_flip"] = [number(place, 9) for place in range(60)]
    rows["draws"] = [number(place, 5) for place in range(60)]
    (finding,) = findings_of(judge(tmp_path, rows), RULE)

    assert evidence_of(finding)["column"] == "draws_crop"
    assert evidence_of(finding)["healthy"] == ["draws", "draws_flip"]


@pytest.mark.parametrize("values", [2, 4, 16, FEW_VALUES])
@pytest.mark.parametrize("streams", [2, 16])
def test_streams_of_their_own_are_passed(values: int, streams: int, tmp_path: Path) -> None:
    rows = rows_of(
        streams, 40, lambda epoch, stream, place: number(epoch, stream, place) % values, epochs=3
    )

    assert findings_of(judge(tmp_path, rows), RULE) == []


def test_eight_equal_coin_flips_are_no_evidence(tmp_path: Path) -> None:
    rows = rows_of(2, 8, lambda _, __, place: number(place) % 2)
    result = judge(tmp_path, rows)

    assert findings_of(result, RULE) == []
    assert "more draws" in lacking(result, RULE)[0]


def test_clips_that_share_a_draw_are_few_draws(tmp_path: Path) -> None:
    rows = rows_of(2, 64, lambda _, __, place: place // 16 % 4)

    assert findings_of(judge(tmp_path, rows), RULE) == []


def test_ranks_of_one_replica_share_records_and_draws(tmp_path: Path) -> None:
    records = [record for record in range(60) for _ in range(2)]
    rows = {"rank": [0, 1] * 60, "record": records, "draws": [number(r) for r in records]}
    result = judge(tmp_path, rows)

    assert findings_of(result, RULE) == []


def test_one_size_for_a_global_batch_is_shared_on_purpose(tmp_path: Path) -> None:
    rows = {
        "rank": [place % 2 for place in range(400)],
        "batch": [place // 8 for place in range(400)],
        "record": [*range(400)],
        "draws": [number(place // 8) for place in range(400)],
    }

    assert findings_of(judge(tmp_path, rows), RULE) == []


def test_shared_draws_are_declared(tmp_path: Path) -> None:
    rows = rows_of(4, 16, lambda _, __, place: number(place))
    rows["clip"] = [place // 4 for place in range(64)]
    meant = judge(tmp_path / "true", rows, config={"shared_draws": True})
    by_clip = judge(tmp_path / "clip", rows, config={"shared_draws": "clip"})
    rows["clip"] = [*range(64)]
    by_another = judge(tmp_path / "other", rows, config={"shared_draws": "clip"})

    assert findings_of(meant, RULE) == []
    assert findings_of(by_clip, RULE) == []
    assert findings_of(by_another, RULE)


def test_what_it_lacks_is_named(tmp_path: Path) -> None:
    rows = rows_of(2, 20, lambda _, __, place: number(place))
    no_worker = {name: values for name, values in rows.items() if name != "worker"}
    no_draws = {name: values for name, values in rows.items() if name != "draws"}

    assert lacking(judge(tmp_path / "a", no_worker), RULE) == ["worker"]
    assert lacking(judge(tmp_path / "b", no_draws), RULE) == ["draws"]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    streams=st.integers(2, 6),
    length=st.integers(9, 60),
    seed=st.integers(0, 2**32),
    text=st.booleans(),
)
def test_a_planted_copy_is_found_and_nothing_else(
    streams: int, length: int, seed: int, text: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = np.random.default_rng(seed)
    draws = source.integers(0, 2**63, (length, streams))
    one, other = source.choice(streams, 2, replace=False)
    draws[:, other] = draws[:, one]
    records = source.permutation(length * streams) * 7
    rows: dict[str, Any] = {
        "worker": np.tile(np.arange(streams), length),
        "record": [f"r{record}" for record in records] if text else records,
        "draws": draws.ravel().tolist(),
    }
    (finding,) = findings_of(judge(tmp_path_factory.mktemp("copy"), rows), RULE)

    assert evidence_of(finding)["pairs"] == [
        [{"rank": 0, "worker": int(min(one, other))}, {"rank": 0, "worker": int(max(one, other))}]
    ]


def test_one_draw_of_all_ranks_may_be_that_of_a_batch_where_each_has_one_row(
    tmp_path: Path,
) -> None:
    rows = rows_of(3, 60, lambda _, __, place: number(place), by="rank")
    result = judge(tmp_path, rows | {"batch": [place // 3 for place in range(180)]})

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE)[0].startswith("shared_draws")


@pytest.mark.parametrize("reordered", [False, True])
def test_a_copy_in_one_run_is_the_cause_of_other_draws_and_of_nothing_else(
    reordered: bool, tmp_path: Path
) -> None:
    declared = {"shuffle": True, "seed": 3, "seed_used": 3, "source_size": 80}
    sound = rows_of(1, 80, lambda _, __, place: number(place))
    copied = rows_of(2, 40, lambda _, __, place: number(1000 + place))
    if reordered:
        random.Random(9).shuffle(copied["record"])
    a = write_run(tmp_path / "a", sound, declared | {"workers": 0})
    b = write_run(tmp_path / "b", copied, declared | {"workers": 2})
    result = audit(a, b)

    assert result.findings[0].rule == RULE
    assert result.findings[0].run == "b"
    assert bool(findings_of(result, "topology-dependence")) == reordered
