"""Sources that are enumerated in another order, and what only looks like it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from detloader.audits import audit
from detloader.findings import Result, Severity
from tests.support.results import evidence_of, findings_of, lacking, loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RULE = "source-order"


def shuffled(items: list[Any], seed: int) -> list[Any]:
    return random.Random(seed).sample(items, len(items))


def names(size: int) -> list[str]:
    return [f"img{number}.png" for number in range(size)]


def compare(
    folder: Path,
    a: dict[str, Any],
    b: dict[str, Any],
    other: dict[str, Any] | None = None,
    **both: Any,
) -> Result:
    return audit(write_run(folder / "a", a, both), write_run(folder / "b", b, both | (other or {})))


def indexed(source: list[Any], *, epochs: int = 2, seed: int = 1) -> dict[str, list[Any]]:
    indices = [shuffled([*range(len(source))], seed + epoch) for epoch in range(epochs)]
    return {
        "epoch": [epoch for epoch in range(epochs) for _ in source],
        "index": [index for order in indices for index in order],
        "record": [source[index] for order in indices for index in order],
    }


@pytest.mark.parametrize(
    "source", [names(9), names(200), [*range(50)], random.Random(1).sample(range(10**9), 40)]
)
def test_the_same_indices_and_other_records(source: list[Any], tmp_path: Path) -> None:
    other = [source[1], source[0], *shuffled(source[2:], 7)]
    result = compare(tmp_path, indexed(source), indexed(other), shuffle=True, seed=1)
    (finding,) = findings_of(result, RULE)
    evidence = evidence_of(finding)

    assert loud_rules(result) == [RULE]
    assert (finding.severity, evidence["how"]) == (Severity.FAIL, "indices")
    assert (evidence["position"], evidence["a"], evidence["b"]) == (0, source[0], source[1])


def test_the_source_comes_before_seeds_and_workers(tmp_path: Path) -> None:
    a, b = indexed(names(40)), indexed(shuffled(names(40), 3), seed=2)
    result = compare(tmp_path, a, b, {"seed": 2, "workers": 4}, shuffle=True, seed=1, workers=0)

    assert loud_rules(result) == [RULE]


def test_one_shuffle_of_one_source_under_other_seeds_is_not_the_source(tmp_path: Path) -> None:
    a, b = indexed(names(40), seed=1), indexed(names(40), seed=2)

    assert findings_of(compare(tmp_path, a, b, shuffle=True), RULE) == []


def test_a_record_that_was_inserted_moves_the_others_and_is_not_an_order(tmp_path: Path) -> None:
    a, b = indexed(names(40)), indexed(["new.png", *names(39)])

    assert findings_of(compare(tmp_path, a, b, shuffle=True, source_size=40), RULE) == []


def test_a_run_that_saw_a_part_of_the_source_is_evidence_too(tmp_path: Path) -> None:
    a, b = indexed(names(40)), indexed(shuffled(names(40), 3))
    a, b = ({name: values[:25] for name, values in rows.items()} for rows in (a, b))

    result = compare(tmp_path, a, b, shuffle=True, source_size=40, complete=False)
    assert loud_rules(result) == [RULE]


@pytest.mark.parametrize("text", [False, True])
def test_one_order_under_other_names_in_every_epoch(text: bool, tmp_path: Path) -> None:
    source: list[Any] = names(30) if text else [*range(30)]
    a, b = indexed(source, epochs=3), indexed(shuffled(source, 3), epochs=3)
    del a["index"], b["index"]
    result = compare(tmp_path, a, b, shuffle=True, seed=1)

    assert loud_rules(result) == [RULE]
    assert evidence_of(findings_of(result, RULE)[0])["how"] == "renaming"


def test_one_epoch_does_not_show_a_renaming(tmp_path: Path) -> None:
    a, b = {"record": shuffled([*range(30)], 1)}, {"record": shuffled([*range(30)], 2)}

    assert findings_of(compare(tmp_path, a, b, shuffle=True, seed=1), RULE) == []


@pytest.mark.parametrize("source", [names(25), [*range(25)], [f"{k}" for k in range(12)]])
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("ranks", [1, 3])
def test_text_sorting_against_number_sorting(
    source: list[Any], swap: bool, ranks: int, tmp_path: Path
) -> None:
    orders = [source, sorted(source, key=str)]
    a, b = (
        {"record": order, "rank": [place % ranks for place in range(len(order))]}
        for order in (orders[::-1] if swap else orders)
    )
    result = compare(tmp_path, a, b, shuffle=False)

    assert loud_rules(result) == [RULE]
    assert evidence_of(findings_of(result, RULE)[0])["kind"] == "text-sort"


def test_a_shuffled_run_of_a_source_that_is_sorted_otherwise(tmp_path: Path) -> None:
    a, b = indexed(names(30)), indexed(sorted(names(30)))
    del a["index"], b["index"]

    result = compare(tmp_path, a, b, shuffle=True, seed=1)
    assert evidence_of(findings_of(result, RULE)[0])["kind"] == "text-sort"


def test_a_source_from_the_other_end(tmp_path: Path) -> None:
    result = compare(
        tmp_path, {"record": sorted(names(20))}, {"record": sorted(names(20))[::-1]}, shuffle=False
    )

    assert evidence_of(findings_of(result, RULE)[0])["kind"] == "reverse"


@pytest.mark.parametrize("seeds", [("1", "2"), (None, None), ("random", "0")])
def test_hash_order(seeds: tuple[str | None, str | None], tmp_path: Path) -> None:
    a, b = {"record": shuffled(names(20), 1)}, {"record": shuffled(names(20), 2)}
    result = compare(
        tmp_path,
        a,
        b,
        {"env": {"PYTHONHASHSEED": seeds[1]}},
        shuffle=False,
        env={"PYTHONHASHSEED": seeds[0]},
    )
    (finding,) = findings_of(result, RULE)

    assert evidence_of(finding)["kind"] == "hash-order"
    assert evidence_of(finding)["hash_seeds"] == [seed or "random" for seed in seeds]


def in_blocks(items: list[Any], size: int) -> list[list[Any]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def joined(blocks: list[list[Any]]) -> list[Any]:
    return [item for block in blocks for item in block]


PLAIN: dict[str, tuple[Callable[[list[Any]], list[Any]], str | None]] = {
    "from the other end": (lambda order: order[::-1], "reverse"),
    "shards from the other end": (lambda order: joined(in_blocks(order, 10)[::-1]), "reverse"),
    "from another place": (lambda order: [*order[17:], *order[:17]], "rotation"),
    "one run sorted": (sorted, "sorted"),
    "by class": (lambda order: sorted(order, key=lambda name: name[-5]), None),
    "by class, the last one first": (
        lambda order: sorted(order, key=lambda name: name[-5], reverse=True),
        None,
    ),
    "any order": (lambda order: shuffled(order, 2), "hash-order"),
    "any order of shards": (
        lambda order: joined(shuffled(in_blocks(order, 10), 2)),
        "hash-order",
    ),
}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("swap", [False, True])
def test_an_order_that_is_made_more_plainly_is_no_hashs(
    swap: bool, name: str, tmp_path: Path
) -> None:
    make, kind = PLAIN[name]
    order = shuffled(names(120), 1)
    first, second = (make(order), order) if swap else (order, make(order))
    env = {"PYTHONHASHSEED": None}
    result = compare(tmp_path, {"record": first}, {"record": second}, shuffle=False, env=env)

    found = [evidence_of(finding)["kind"] for finding in findings_of(result, RULE)]
    assert found == ([] if kind is None else [kind])


@pytest.mark.parametrize(("kind", "cut"), [("reverse", None), ("rotation", 9)])
def test_the_same_indices_from_another_end(kind: str, cut: int | None, tmp_path: Path) -> None:
    source = shuffled(names(40), 3)
    other = source[::-1] if cut is None else [*source[cut:], *source[:cut]]
    result = compare(tmp_path, indexed(source), indexed(other), shuffle=True, seed=1)

    assert [evidence_of(finding)["kind"] for finding in findings_of(result, RULE)] == [kind]


def test_a_listing_on_another_file_system(tmp_path: Path) -> None:
    a, b = {"record": shuffled(names(20), 1)}, {"record": shuffled(names(20), 2)}
    env = {"PYTHONHASHSEED": "0", "file_system": "ext4"}
    result = compare(tmp_path, a, b, {"env": env | {"file_system": "xfs"}}, shuffle=False, env=env)

    assert evidence_of(findings_of(result, RULE)[0])["kind"] == "listing"
    assert evidence_of(findings_of(result, RULE)[0])["machines"] == ["ext4", "xfs"]


@pytest.mark.parametrize("env", [{}, {"PYTHONHASHSEED": "0"}])
def test_an_order_that_nothing_explains_cannot_be_told(env: dict[str, str], tmp_path: Path) -> None:
    a, b = {"record": shuffled(names(20), 1)}, {"record": shuffled(names(20), 2)}
    result = compare(tmp_path, a, b, shuffle=False, env=env)

    assert findings_of(result, RULE) == []
    assert lacking(result, RULE) == ["index, or PYTHONHASHSEED and platform of both runs"]


def test_small_integers_have_no_hash_order(tmp_path: Path) -> None:
    a, b = {"record": shuffled([*range(30)], 1)}, {"record": shuffled([*range(30)], 2)}
    env = {"env": {"PYTHONHASHSEED": "2"}}

    result = compare(tmp_path, a, b, env, shuffle=False, env={"PYTHONHASHSEED": "1"})
    assert findings_of(result, RULE) == []


def test_an_order_that_changes_with_the_epoch_is_not_the_source(tmp_path: Path) -> None:
    a, b = (
        {
            "epoch": [0] * 20 + [1] * 20,
            "record": shuffled(names(20), s) + shuffled(names(20), s + 1),
        }
        for s in (1, 5)
    )
    env = {"env": {"PYTHONHASHSEED": "2"}}

    result = compare(tmp_path, a, b, env, shuffle=False, env={"PYTHONHASHSEED": "1"})
    assert findings_of(result, RULE) == []


def test_workers_may_do_the_same_to_an_unshuffled_run(tmp_path: Path) -> None:
    source = [*range(24)]
    result = compare(
        tmp_path,
        {"record": source},
        {"record": [*source[::2], *source[1::2]]},
        {"workers": 2},
        shuffle=False,
        workers=1,
    )

    assert loud_rules(result) == ["topology-dependence"]


def test_paths_below_another_folder_are_one_source(tmp_path: Path) -> None:
    files = [f"train/{name}" for name in names(20)]
    a = {"record": [f"/home/me/data/{path}" for path in files]}
    b = {"record": [f"/mnt/cluster/{path}" for path in files]}
    result = compare(tmp_path, a, b, shuffle=False)
    (finding,) = findings_of(result, RULE)

    assert finding.severity is Severity.NOTE
    assert evidence_of(finding)["compared"] == "relative path"


def test_paths_below_another_folder_in_another_order(tmp_path: Path) -> None:
    files = [f"{kind}/{name}" for kind in ("cat", "dog") for name in names(12)]
    a = {"record": [f"/home/me/data/{path}" for path in files]}
    b = {"record": [f"/mnt/cluster/{path}" for path in sorted(files)]}
    (finding,) = findings_of(compare(tmp_path, a, b, shuffle=False), RULE)
    evidence = evidence_of(finding)

    assert finding.severity is Severity.FAIL
    assert (evidence["compared"], evidence["kind"]) == ("relative path", "text-sort")
    assert (evidence["a"], evidence["b"]) == ("cat/img2.png", "cat/img10.png")


def test_rows_that_even_out_ranks_do_not_hide_an_enumeration(tmp_path: Path) -> None:
    runs = []
    for order in (names(49), sorted(names(49))):
        padded = [*order, order[0]]
        runs.append({"rank": [place % 2 for place in range(50)], "record": padded})
    result = compare(tmp_path, runs[0], runs[1], shuffle=False, source_size=49)

    assert loud_rules(result) == [RULE]


def test_a_record_in_the_place_of_another_is_no_enumeration(tmp_path: Path) -> None:
    a = indexed([*range(30)])
    other = {4: 5, 9: 10}
    b = a | {"record": [other.get(record, record) for record in a["record"]]}

    assert findings_of(compare(tmp_path, a, b, shuffle=True), RULE) == []


@pytest.mark.parametrize("which", ["text", "number"])
def test_another_sorting_is_found_though_the_end_is_lost(which: str, tmp_path: Path) -> None:
    orders = names(42), sorted(names(42))
    whole, other = orders if which == "text" else orders[::-1]
    both: dict[str, Any] = {"shuffle": False, "source_size": 42}
    result = compare(tmp_path, {"record": whole}, {"record": other[:40]}, **both)
    (finding,) = findings_of(result, RULE)

    assert evidence_of(finding)["kind"] == "text-sort"


def test_one_shuffled_epoch_needs_the_index(tmp_path: Path) -> None:
    source = names(20)
    rows = {"record": shuffled(source, 1)}, {"record": shuffled(source, 2)}

    assert lacking(compare(tmp_path, *rows, shuffle=True, seed=0), RULE) == ["index"]


def test_where_an_argument_differs_it_names_no_cause(tmp_path: Path) -> None:
    source = names(40)
    result = compare(
        tmp_path,
        indexed(source),
        indexed(shuffled(source, 7)),
        {"config": {"limit": 4}, "env": {"PYTHONHASHSEED": "2"}},
        config={},
        env={"PYTHONHASHSEED": "1"},
        shuffle=True,
        seed=1,
    )

    assert loud_rules(result) == []
    assert lacking(result, RULE) == ["equal arguments"]
    assert "arguments that differ: limit (none and 4)" in str(result.reason)
