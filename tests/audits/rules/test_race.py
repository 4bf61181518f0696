"""Orders and draws that depend on which reader was ready first."""

from __future__ import annotations

import heapq
import itertools
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader import record
from detloader.audits import audit
from detloader.findings import Result, Severity, Verdict
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

RULE = "race"


def merge(parts: Sequence[Sequence[Any]], rng: random.Random) -> list[Any]:
    """Take from parts in any turn; each keeps its order."""
    left = [list(part) for part in parts]
    merged = []
    while any(left):
        merged.append(rng.choice([part for part in left if part]).pop(0))
    return merged


def parts_of(size: int, count: int) -> list[range]:
    return [range(k * size // count, (k + 1) * size // count) for k in range(count)]


def jitter(items: Sequence[Any], rng: random.Random, reach: float = 6) -> list[Any]:
    """Let items overtake one another by a few places."""
    return [
        item
        for _, item in sorted((k + rng.uniform(0, reach), item) for k, item in enumerate(items))
    ]


def compare(folder: Path, a: dict[str, Any], b: dict[str, Any], **declared: Any) -> Result:
    meant = {"shuffle": False, "seed": 1} | declared
    return audit(write_run(folder / "a", a, meant), write_run(folder / "b", b, meant))


def sharded(size: int, count: int, seed: int, *, text: bool = False) -> dict[str, list[Any]]:
    tagged = [[(k, record) for record in part] for k, part in enumerate(parts_of(size, count))]
    order = merge(tagged, random.Random(seed))
    return {
        "shard": [f"s{shard}" if text else shard for shard, _ in order],
        "record": [f"r{record}" if text else record for _, record in order],
    }


@pytest.mark.parametrize(("size", "count", "text"), [(32, 4, False), (400, 7, True)])
def test_shards_that_keep_their_order_and_are_interleaved_otherwise(
    size: int, count: int, text: bool, tmp_path: Path
) -> None:
    a, b = (sharded(size, count, seed, text=text) for seed in (1, 2))
    result = compare(tmp_path, a, b, threads=4)
    (finding,) = findings_of(result, RULE)
    evidence = evidence_of(finding)

    assert loud_rules(result) == [RULE]
    assert (finding.severity, evidence["trace"]) == (Severity.FAIL, "shards")
    assert (evidence["groups"], evidence["threads"]) == (count, 4)


@pytest.mark.parametrize("count", [2, 5])
def test_merges_of_the_same_parts_of_the_source(count: int, tmp_path: Path) -> None:
    a, b = ({"record": merge(parts_of(90, count), random.Random(seed))} for seed in (1, 2))
    result = compare(tmp_path, a, b, workers=count)

    assert loud_rules(result) == [RULE]
    assert evidence_of(findings_of(result, RULE)[0])["trace"] == "parts"


def test_records_that_overtake_one_another_in_each_epoch(tmp_path: Path) -> None:
    orders = [random.Random(epoch).sample(range(80), 80) for epoch in range(3)]
    runs = [
        {
            "epoch": [epoch for epoch in range(3) for _ in range(80)],
            "record": [
                r for order in orders for r in jitter(order, random.Random(f"{name}{order[0]}"))
            ],
        }
        for name in "ab"
    ]
    result = compare(tmp_path, *runs, threads=8, shuffle=True)

    assert loud_rules(result) == [RULE]
    assert evidence_of(findings_of(result, RULE)[0])["trace"] == "displacement"


@pytest.mark.parametrize("shard", ["train-0.tar", 7])
def test_one_shard_for_all_rows_hides_no_race(shard: str | int, tmp_path: Path) -> None:
    source = random.Random(2).sample(range(300), 300)
    a, b = ({"record": jitter(source, random.Random(k)), "shard": [shard] * 300} for k in range(2))
    (finding,) = findings_of(compare(tmp_path, a, b, threads=8), RULE)

    assert evidence_of(finding)["trace"] == "displacement"


def test_displacement_alone_needs_readers_that_could_race(tmp_path: Path) -> None:
    a, b = ({"record": jitter([*range(80, 0, -1)], random.Random(seed))} for seed in (1, 2))
    result = compare(tmp_path, a, b)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["threads or workers"]


def test_passes_over_the_source_without_epochs_are_not_near_for_a_race(tmp_path: Path) -> None:
    a, b = (
        {"record": [r for k in range(6) for r in random.Random(f"{s}{k}").sample(range(40), 40)]}
        for s in (1, 2)
    )

    assert findings_of(compare(tmp_path, a, b, threads=4, shuffle=True), RULE) == []


def test_a_race_that_was_declared_is_a_note(tmp_path: Path) -> None:
    a, b = sharded(60, 3, 1), sharded(60, 3, 2)
    (finding,) = findings_of(compare(tmp_path, a, b, deterministic=False), RULE)

    assert finding.severity is Severity.NOTE


def overtaken(size: int, workers: int, rng: random.Random) -> tuple[Any, Any]:
    """Deliver batches of 4 of one shuffle by workers in turn, and as the workers are done."""
    order = rng.sample(range(size), size)
    batches = [
        (number, number % workers, order[4 * number :][:4]) for number in range(-(-size // 4))
    ]
    shares = [batches[worker::workers] for worker in range(workers)]
    runs = []
    for delivered in (batches, merge(shares, rng)):
        rows = [(worker, record) for _, worker, records in delivered for record in records]
        runs.append({"worker": [row[0] for row in rows], "record": [row[1] for row in rows]})
    return runs[0], runs[1]


@pytest.mark.parametrize(("size", "workers"), [(60, 2), (400, 4)])
@pytest.mark.parametrize("ordered", ["a", "b"])
def test_a_run_that_may_give_its_order_up_beside_one_that_may_not_is_told_of(
    size: int, workers: int, ordered: str, tmp_path: Path
) -> None:
    told = {"shuffle": True, "seed": 1, "workers": workers, "source_size": size}
    in_turn, as_done = overtaken(size, workers, random.Random(size))
    a, b = (in_turn, as_done) if ordered == "a" else (as_done, in_turn)
    result = audit(
        write_run(tmp_path / "a", a, told | {"deterministic": ordered == "a"}),
        write_run(tmp_path / "b", b, told | {"deterministic": ordered == "b"}),
    )
    (finding,) = findings_of(result, RULE)
    other = "b" if ordered == "a" else "a"

    assert loud_rules(result) == [RULE]
    assert finding.severity is Severity.WARN
    assert finding.message.endswith(f"Run {other} alone is declared to give its order up.")
    assert evidence_of(finding)["trace"] == "workers"
    assert evidence_of(finding)["groups"] == workers
    assert evidence_of(finding)["fields"] == {"deterministic": [ordered == "a", ordered == "b"]}


def test_another_shuffle_is_no_race_though_one_run_may_give_its_order_up(tmp_path: Path) -> None:
    told = {"shuffle": True, "seed": 1, "workers": 4, "source_size": 400}
    a, b = (overtaken(400, 4, random.Random(number))[0] for number in (1, 2))
    result = audit(
        write_run(tmp_path / "a", a, told | {"deterministic": True}),
        write_run(tmp_path / "b", b, told | {"deterministic": False}),
    )

    assert findings_of(result, RULE) == []


def by_choice(sources: Sequence[Sequence[int]], rng: random.Random) -> Iterator[int]:
    return iter(merge(sources, rng))


def in_turn(sources: Sequence[Sequence[int]]) -> Iterator[int]:
    rows = itertools.zip_longest(*sources)
    return (record for row in rows for record in row if record is not None)


def by_key(sources: Sequence[Sequence[int]]) -> Iterator[int]:
    return heapq.merge(*sources, key=lambda record: record * 7 % 31)


MERGES: dict[str, Callable[[Sequence[Sequence[int]]], Iterator[int]]] = {
    "in turn": in_turn,
    "by key": by_key,
    "one after another": lambda sources: itertools.chain(*sources),
    "by choice": lambda sources: by_choice(sources, random.Random(1)),
    "by another choice": lambda sources: by_choice(sources, random.Random(2)),
}


@pytest.mark.parametrize("declared", [{}, {"workers": 0}, {"workers": 2, "deterministic": True}])
@pytest.mark.parametrize("pair", list(itertools.combinations(MERGES, 2)), ids=" and ".join)
def test_a_program_that_merges_its_sources_otherwise_is_no_race(
    pair: tuple[str, str], declared: dict[str, Any], tmp_path: Path
) -> None:
    runs = [tmp_path / name for name in pair]
    for name, run in zip(pair, runs, strict=True):
        merged = list(MERGES[name](parts_of(120, 4)))
        with record(merged, run, ids=int, declared=declared) as loader:
            list(loader)
    result = audit(*runs)

    assert result.verdict is Verdict.REORDERED
    assert loud_rules(result) == []


def test_what_two_merges_have_in_common_is_told_though_nothing_names_the_cause(
    tmp_path: Path,
) -> None:
    a, b = ({"record": merge(parts_of(90, 3), random.Random(seed))} for seed in (1, 2))
    result = compare(tmp_path, a, b)

    assert loud_rules(result) == []
    assert lacking(result, RULE) == ["threads or workers"]
    assert "both are merges of the same 3 parts of the source" in str(result.reason)


@pytest.mark.parametrize("shown", [{"threads": 4}, {"workers": 2}, {"deterministic": False}])
def test_readers_of_shards_race_where_something_shows_that_there_were_several(
    shown: dict[str, Any], tmp_path: Path
) -> None:
    a, b = sharded(60, 3, 1), sharded(60, 3, 2)
    told, untold = (compare(tmp_path / f"{bool(d)}", a, b, **d) for d in (shown, {}))

    assert evidence_of(findings_of(told, RULE)[0])["trace"] == "shards"
    assert (findings_of(untold, RULE), lacking(untold, RULE)) == ([], ["threads or workers"])


@pytest.mark.parametrize("threads", [{}, {"threads": 4}, {"workers": 0}, {"workers": 4}])
def test_loaders_that_promise_their_order_broke_it_only_where_shards_show_it(
    threads: dict[str, Any], tmp_path: Path
) -> None:
    parts, shards = (
        compare(tmp_path / name, *rows, deterministic=True, **threads)
        for name, rows in {
            "parts": [{"record": merge(parts_of(90, 3), random.Random(k))} for k in (1, 2)],
            "shards": [sharded(60, 3, k) for k in (1, 2)],
        }.items()
    )
    several = max(threads.values(), default=0) > 1

    assert loud_rules(parts) == []
    assert loud_rules(shards) == ([RULE] if several else [])


def test_of_a_declared_race_no_formula_says_that_nothing_names_it(tmp_path: Path) -> None:
    a, b = ({"record": [0, 1, *range(2, 64)]}, {"record": [1, 0, *range(2, 64)]})
    for rows in (a, b):
        rows["shard"] = [record % 2 for record in rows["record"]]
    result = compare(tmp_path, a, b, deterministic=False)

    assert [finding.severity for finding in findings_of(result, RULE)] == [Severity.NOTE]
    assert str(result.reason).endswith("but no rule finds a fault")


def test_draws_that_threads_exchange(tmp_path: Path) -> None:
    stream = random.Random(0).sample(range(10**9), 120)
    a, b = (
        {"record": [*range(120)], "draws": jitter(stream, random.Random(seed))} for seed in (1, 2)
    )
    result = compare(tmp_path, a, b, threads=8)
    (finding,) = findings_of(result, RULE)

    assert loud_rules(result) == [RULE]
    assert (evidence_of(finding)["what"], evidence_of(finding)["shared_draws"]) == ("draws", 120)


def test_draws_that_stand_elsewhere_were_not_exchanged_where_nobody_could(tmp_path: Path) -> None:
    draws = random.Random(0).sample(range(10**9), 60)
    a, b = ({"record": [*range(60)], "draws": of} for of in (draws, draws[::-1]))
    result = compare(tmp_path, a, b)

    assert loud_rules(result) == []
    assert lacking(result, RULE) == ["threads or workers"]


def test_draws_of_few_values_need_threads_that_could_exchange_them(tmp_path: Path) -> None:
    a, b = (
        {"record": [*range(200)], "draws": random.Random(seed).choices(range(4), k=200)}
        for seed in (1, 2)
    )
    told = compare(tmp_path / "told", a, b, threads=8)
    untold = compare(tmp_path / "untold", a, b)

    assert evidence_of(findings_of(told, RULE)[0])["trace"] == "exclusion"
    assert findings_of(untold, RULE) == []
    assert lacking(untold, RULE) == ["draws that tell records apart, or threads"]


def test_draws_that_nobody_took_before_are_not_exchanged(tmp_path: Path) -> None:
    a = {"record": [*range(50)], "draws": [*range(50)]}
    b = {"record": [*range(50)], "draws": [*range(100, 150)]}

    assert findings_of(compare(tmp_path, a, b, threads=8), RULE) == []


def test_another_order_inside_the_shards_is_another_shuffle(tmp_path: Path) -> None:
    a, b = sharded(60, 3, 1), sharded(60, 3, 1)
    b["record"] = [(place * 7) % 20 + record // 20 * 20 for place, record in enumerate(b["record"])]
    b["record"] = random.Random(5).sample(a["record"], 60)
    b["shard"] = [record // 20 for record in b["record"]]

    assert findings_of(compare(tmp_path, a, b, threads=4), RULE) == []


def test_shards_that_follow_one_another_whole_were_shuffled(tmp_path: Path) -> None:
    a = {"record": [*range(60)], "shard": [record // 10 for record in range(60)]}
    b = {name: [*values[30:], *values[:30]] for name, values in a.items()}

    assert findings_of(compare(tmp_path, a, b, threads=4), RULE) == []


def test_records_that_are_lost_are_no_race(tmp_path: Path) -> None:
    a, b = sharded(60, 3, 1), sharded(60, 3, 2)
    b = {name: values[:-2] for name, values in b.items()}

    assert findings_of(compare(tmp_path, a, b, threads=4), RULE) == []


@pytest.mark.parametrize("other", [{"threads": 2}, {"versions": {"numpy": "2"}}, {"seed": 9}])
def test_runs_of_two_configurations_are_no_race(other: dict[str, Any], tmp_path: Path) -> None:
    declared = {"shuffle": True, "seed": 1, "threads": 4, "versions": {"numpy": "1"}}
    a = write_run(tmp_path / "a", sharded(60, 3, 1), declared)
    b = write_run(tmp_path / "b", sharded(60, 3, 2), declared | other)

    assert findings_of(audit(a, b), RULE) == []


@given(size=st.integers(8, 120), seed=st.integers(0, 10**6), threads=st.sampled_from([1, 8]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_two_shuffles_of_all_records_are_never_a_race(
    size: int, seed: int, threads: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = random.Random(seed)
    shards = [rng.randrange(4) for _ in range(size)]
    orders = [rng.sample(range(size), size) for _ in "ab"]
    a, b = ({"record": order, "shard": [shards[k] for k in order]} for order in orders)
    result = compare(tmp_path_factory.mktemp("runs"), a, b, threads=threads)

    assert findings_of(result, RULE) == []


def test_members_that_differ_under_equal_draws_are_no_race(tmp_path: Path) -> None:
    record = random.Random(1).sample(range(40), 40)
    a = {"record": record, "draws": [*range(40)], "draws_mask": [*range(50, 90)]}

    assert findings_of(compare(tmp_path, a, a | {"draws_mask": [*range(60, 100)]}), RULE) == []


def test_records_that_come_from_other_ranks_did_not_race(tmp_path: Path) -> None:
    order = random.Random(1).sample(range(120), 120)
    a = {"rank": [place % 4 for place in range(120)], "record": order}
    static = [[record for record in order if record % 4 == rank] for rank in range(4)]
    b = {
        "rank": [rank for rank in range(4) for _ in range(30)],
        "record": [record for share in static for record in share],
    }

    assert findings_of(compare(tmp_path, a, b, workers=2, shuffle=True, seed=1), RULE) == []


def test_ranks_that_only_batch_otherwise_did_not_race(tmp_path: Path) -> None:
    rows = {"rank": [place // 16 for place in range(48)], "record": [*range(48)]}
    a = rows | {"batch": [place % 16 // 6 for place in range(48)]}
    b = rows | {"batch": [place % 16 // 8 for place in range(48)]}

    assert loud_rules(compare(tmp_path, a, b, seed=1)) == []


def test_draws_that_stay_in_half_of_the_epochs_were_not_exchanged(tmp_path: Path) -> None:
    rows = {"epoch": [0] * 40 + [1] * 40, "record": [*range(40)] * 2}
    a, b = rows | {"draws": [*range(80)]}, rows | {"draws": [*range(40)] * 2}

    assert findings_of(compare(tmp_path, a, b), RULE) == []


def test_an_order_that_no_short_way_explains_needs_shards(tmp_path: Path) -> None:
    orders = [random.Random(seed).sample(range(200), 200) for seed in (1, 2)]
    result = compare(tmp_path, *({"record": order} for order in orders), shuffle=True)

    assert lacking(result, RULE) == ["shard"]
