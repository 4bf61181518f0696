"""Runs that part between two epochs, because something else drew from the shared stream."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from detloader.audits import audit
from detloader.findings import Result, Severity
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

RULE = "rng-coupling"


def stream(size: int, epochs: int, *, extra: int | None = None) -> list[list[int]]:
    """Shuffle each epoch from one generator; another draw is taken before epoch `extra`."""
    shared = random.Random(size)
    orders = []
    for epoch in range(epochs):
        if extra is not None and epoch >= extra:
            shared.random()
        orders.append(shared.sample(range(size), size))
    return orders


def rows(orders: list[list[int]], *, text: bool = False, ranks: int = 1) -> dict[str, list[Any]]:
    flat = [
        (epoch, place, record) for epoch, o in enumerate(orders) for place, record in enumerate(o)
    ]
    found: dict[str, list[Any]] = {
        "epoch": [epoch for epoch, _, _ in flat],
        "record": [f"r{record}" if text else record for _, _, record in flat],
    }
    return found | ({"rank": [place % ranks for _, place, _ in flat]} if ranks > 1 else {})


def compare(folder: Path, a: dict[str, Any], b: dict[str, Any], **other: Any) -> Result:
    declared = {"shuffle": True, "seed": 3}
    return audit(write_run(folder / "a", a, declared), write_run(folder / "b", b, declared | other))


@pytest.mark.parametrize(
    ("size", "epochs", "first", "text", "ranks"),
    [(16, 3, 1, False, 1), (200, 5, 3, True, 1), (60, 2, 1, False, 3)],
)
def test_epochs_that_part_for_good(
    size: int, epochs: int, first: int, *, text: bool, ranks: int, tmp_path: Path
) -> None:
    a = rows(stream(size, epochs), text=text, ranks=ranks)
    b = rows(stream(size, epochs, extra=first), text=text, ranks=ranks)
    result = compare(tmp_path, a, b)
    (finding,) = findings_of(result, RULE)
    evidence = evidence_of(finding)

    assert loud_rules(result) == [RULE]
    assert (finding.severity, evidence["first_epoch"]) == (Severity.FAIL, first)
    assert (evidence["equal_epochs"], evidence["epochs_count"]) == (first, epochs - first)
    assert (evidence["what"], evidence["offset"]) == ("order", None)


@pytest.mark.parametrize("ahead", [1, 2])
def test_a_run_that_is_whole_epochs_ahead(ahead: int, tmp_path: Path) -> None:
    orders = stream(20, 6)
    a, b = rows(orders[:4]), rows(orders[ahead : ahead + 4])
    (finding,) = findings_of(compare(tmp_path, a, b), RULE)

    assert evidence_of(finding)["offset"] == ahead
    assert f"k + {ahead}" in finding.message


@pytest.mark.parametrize("seeds", [{}, {"seed": 4}])
def test_seed_plus_epoch_is_ahead_under_another_seed(seeds: dict[str, int], tmp_path: Path) -> None:
    orders = stream(20, 6)
    a = write_run(
        tmp_path / "a", rows(orders[:4]), {"shuffle": True} | ({"seed": 3} if seeds else {})
    )
    b = write_run(tmp_path / "b", rows(orders[1:5]), {"shuffle": True} | seeds)
    result = audit(a, b)

    assert not findings_of(result, RULE)
    assert seeds or "seed" in lacking(result, RULE)


@pytest.mark.parametrize("seed", [{}, {"seed": 3}])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_shuffle_that_is_never_told_the_epoch_is_no_coupling(
    swapped: bool, seed: dict[str, int], tmp_path: Path
) -> None:
    orders = stream(61, 3)
    runs = [
        write_run(tmp_path / name, rows(run), seed)
        for name, run in (("told", orders), ("never", [orders[0]] * 3))
    ]

    assert findings_of(audit(*(runs[::-1] if swapped else runs)), RULE) == []


def test_a_run_that_skips_an_epoch_of_the_stream_later_on(tmp_path: Path) -> None:
    orders = stream(20, 6)
    (finding,) = findings_of(
        compare(tmp_path, rows(orders[:5]), rows([*orders[:2], *orders[3:]])), RULE
    )

    assert (evidence_of(finding)["first_epoch"], evidence_of(finding)["offset"]) == (2, 1)


def test_draws_that_part_for_good(tmp_path: Path) -> None:
    shared = rows(stream(20, 3))
    a, b = shared | {"draws": [*range(60)]}, shared | {"draws": [*range(20), *range(500, 540)]}
    (finding,) = findings_of(compare(tmp_path, a, b), RULE)

    assert (evidence_of(finding)["what"], evidence_of(finding)["epochs"]) == ("draws", [1, 2])


def test_states_of_the_generator_are_shown_and_believed(tmp_path: Path) -> None:
    a, b = rows(stream(20, 2)), rows(stream(20, 2, extra=1))
    states = {"rng_out": [7] * 20 + [8] * 20}
    parted = compare(
        tmp_path / "parted",
        a | states | {"rng_in": [1] * 20 + [7] * 20},
        b | states | {"rng_in": [1] * 20 + [9] * 20},
    )
    alike = compare(
        tmp_path / "alike",
        a | {"rng_in": [1] * 20 + [7] * 20},
        b | {"rng_in": [1] * 20 + [7] * 20},
    )

    assert evidence_of(findings_of(parted, RULE)[0])["rng_out"] == [7, 7]
    assert evidence_of(findings_of(parted, RULE)[0])["rng_in"] == [7, 9]
    assert findings_of(alike, RULE) == []


@pytest.mark.parametrize(
    "other",
    [{"seed": 4}, {"resume": {"position": 20}}, {"versions": {"numpy": "2"}}, {"workers": 2}],
)
def test_another_cause_is_not_coupling(other: dict[str, Any], tmp_path: Path) -> None:
    declared = {"versions": {"numpy": "1"}, "workers": 0}
    a = write_run(tmp_path / "a", rows(stream(20, 3)), {"shuffle": True, "seed": 3} | declared)
    b = write_run(
        tmp_path / "b",
        rows(stream(20, 3, extra=1)),
        {"shuffle": True, "seed": 3} | declared | other,
    )

    assert findings_of(audit(a, b), RULE) == []


def test_an_epoch_that_is_equal_again_is_not_coupling(tmp_path: Path) -> None:
    orders = stream(20, 3)
    result = compare(tmp_path, rows(orders), rows([orders[0], orders[1][::-1], orders[2]]))

    assert findings_of(result, RULE) == []


def test_records_that_stay_near_their_places_are_not_reshuffled(tmp_path: Path) -> None:
    orders = stream(80, 2)
    swapped = [place ^ 1 for place in range(80)]
    b = rows([orders[0], [orders[1][place] for place in swapped]])

    assert findings_of(compare(tmp_path, rows(orders), b), RULE) == []


def test_epochs_of_other_records_are_not_coupling(tmp_path: Path) -> None:
    orders = stream(20, 2)
    b = rows([orders[0], [record + 100 for record in orders[1]]])

    assert findings_of(compare(tmp_path, rows(orders), b), RULE) == []


@pytest.mark.parametrize("epochs", [None, 1])
def test_one_epoch_is_no_evidence(epochs: int | None, tmp_path: Path) -> None:
    a, b = rows(stream(20, 1)), rows([stream(20, 1)[0][::-1]])
    if epochs is None:
        del a["epoch"], b["epoch"]
    result = compare(tmp_path, a, b)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["epoch" if epochs is None else "at least 2 epochs"]


@pytest.mark.parametrize("marked", [False, True])
def test_rows_that_even_out_ranks_are_no_part_of_an_order(marked: bool, tmp_path: Path) -> None:
    runs = []
    for extra in (None, 1):
        padded = [[*order, *order[:2]] for order in stream(70, 2, extra=extra)]
        run = rows(padded, ranks=3)
        runs.append(run | ({"padding": ([False] * 70 + [True] * 2) * 2} if marked else {}))

    assert loud_rules(compare(tmp_path, runs[0], runs[1])) == [RULE]


def test_a_short_epoch_may_be_equal_by_chance_where_seeds_are_unknown(tmp_path: Path) -> None:
    a = rows([[0, 1, 2, 3], [2, 1, 0, 3]])
    b = rows([[0, 1, 2, 3], [3, 2, 1, 0]])
    runs = [
        write_run(tmp_path / name, run, {"shuffle": True}) for name, run in (("a", a), ("b", b))
    ]
    result = audit(*runs)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["seed"]


def test_draws_that_begin_again_in_each_epoch_are_another_fault(tmp_path: Path) -> None:
    a, b = (rows(stream(40, 3)) for _ in range(2))
    a["draws"] = [*range(120)]
    b["draws"] = [*range(40)] * 3

    assert loud_rules(compare(tmp_path, a, b, purpose="train")) == ["epoch-draw-repeat"]


def test_draws_that_a_cache_keeps_are_no_coupling(tmp_path: Path) -> None:
    base = rows(stream(40, 3))
    drawn = [*range(120)]
    a = base | {"draws": drawn}
    b = base | {"draws": [*drawn[:40], *[None] * 80]}

    assert findings_of(compare(tmp_path, a, b), RULE) == []


def test_an_equal_epoch_of_an_order_that_need_not_be_random_proves_no_equal_seed(
    tmp_path: Path,
) -> None:
    curriculum = [[*range(40)], *stream(40, 2)]
    other = [[*range(40)], *stream(40, 2, extra=0)]
    a = write_run(tmp_path / "a", rows(curriculum), {})
    result = audit(a, write_run(tmp_path / "b", rows(other), {}))

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["seed"]


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("coupled", [True, False])
def test_a_record_that_is_skipped_hides_no_coupling(
    coupled: bool, ranks: int, tmp_path: Path
) -> None:
    a, b = stream(64, 3), stream(64, 3, extra=1 if coupled else None)
    kept = [[record for record in order if record != 5] for order in b]
    result = compare(tmp_path, rows(a, ranks=ranks), rows(kept, ranks=ranks), source_size=64)

    assert loud_rules(result) == [*[RULE] * coupled, "coverage-hole"]


def test_epochs_of_which_a_part_was_drawn_are_not_coupling(tmp_path: Path) -> None:
    a = stream(64, 3)
    b = [a[0][:48], *[order[16:] for order in stream(64, 3, extra=1)[1:]]]

    assert findings_of(compare(tmp_path, rows(a), rows(b)), RULE) == []


def readers_of_streams(
    extra: dict[int, int], *, workers: int = 1, size: int = 100, epochs: int = 2
) -> dict[str, list[Any]]:
    """Take draws from one stream for each worker; some records take so many more than one."""
    streams = [iter(random.Random(worker).sample(range(10**9), 400)) for worker in range(workers)]
    found = rows([random.Random(epoch).sample(range(size), size) for epoch in range(epochs)])
    found["worker"] = [place // 4 % workers for place in range(size * epochs)]
    found["draws"] = []
    for worker, record in zip(found["worker"], found["record"], strict=True):
        taken = [next(streams[worker]) for _ in range(1 + extra.get(record, 0))]
        found["draws"].append(sum(taken))
    return found


@pytest.mark.parametrize("workers", [0, 1, 2, 5])
@pytest.mark.parametrize(("before", "after", "sign"), [({}, {7: 1}, 1), ({7: 2, 3: 1}, {3: 1}, -1)])
def test_a_sample_that_draws_more_or_less_shifts_those_of_all_after_it(
    workers: int, before: dict[int, int], after: dict[int, int], sign: int, tmp_path: Path
) -> None:
    a, b = (readers_of_streams(extra, workers=max(workers, 1)) for extra in (before, after))
    if not workers:
        del a["worker"], b["worker"]
    result = compare(tmp_path, a, b, workers=workers)
    (finding,) = findings_of(result, RULE)
    evidence = evidence_of(finding)

    assert loud_rules(result) == [RULE]
    assert (evidence["what"], evidence["record"]) == ("shifted-draws", 7)
    assert evidence["shift"] * sign > 0


def test_draws_that_one_reader_takes_in_another_order_are_not_shifted(tmp_path: Path) -> None:
    a = readers_of_streams({})
    b = a | {"draws": [*a["draws"][:10], *reversed(a["draws"][10:])]}
    result = compare(tmp_path, a, b, workers=0)

    assert loud_rules(result) == []
    assert "threads or workers" in lacking(result, "race")


def test_draws_that_readers_take_from_one_another_are_not_shifted(tmp_path: Path) -> None:
    a, b = readers_of_streams({}, workers=2), readers_of_streams({7: 1}, workers=2)
    b["worker"] = [1 - worker for worker in b["worker"]]

    assert findings_of(compare(tmp_path, a, b, workers=2), RULE) == []


def test_draws_that_come_again_from_the_first_record_on_tell_of_no_sample(tmp_path: Path) -> None:
    a = readers_of_streams({}, size=60, epochs=1)
    b = a | {"draws": [*a["draws"][3:], 1, 2, 3]}

    assert loud_rules(compare(tmp_path, a, b, workers=0)) == []
