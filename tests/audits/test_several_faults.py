"""Faults that come together: each is reported, in causal order, and nothing else is."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from detloader.audits import audit, check
from detloader.audits.rule import all_rules
from tests.support.results import loud_rules
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path

    from detloader.findings import Result

Rows = dict[str, list[Any]]


def mixed(*keys: object) -> int:
    """Give 63 bits that follow from the keys."""
    return random.Random(repr(keys)).getrandbits(63)


def deliver(order: list[list[int]], **changed: Any) -> Rows:
    """Deliver the records of each epoch by two workers that take turns, in batches of four."""
    rows: Rows = {name: [] for name in ("epoch", "batch", "worker", "record", "index")}
    for epoch, records in enumerate(order):
        for place, record in enumerate(records):
            batch = place // 4
            values = (epoch, batch, batch % 2, record, record)
            for name, value in zip(rows, values, strict=True):
                rows[name].append(value)
    rows["raw"] = [mixed("raw", record) for record in rows["record"]]
    rows["draws"] = [
        mixed("draws", epoch, record)
        for epoch, record in zip(rows["epoch"], rows["record"], strict=True)
    ]
    return rows | changed


def shuffled(size: int, epochs: int, *, seed: int = 0) -> list[list[int]]:
    return [random.Random(f"{seed} {epoch}").sample(range(size), size) for epoch in range(epochs)]


def cloned(rows: Rows) -> list[int]:
    """Give draws that both workers take from copies of one generator, new in each epoch."""
    taken: dict[tuple[int, int], int] = {}
    draws = []
    for key in zip(rows["epoch"], rows["worker"], strict=True):
        taken[key] = taken.get(key, 0) + 1
        draws.append(mixed("clone", key[0], taken[key]))
    return draws


def declare(size: int, epochs: int, **declared: Any) -> dict[str, Any]:
    plain = {"purpose": "train", "shuffle": True, "source_size": size, "num_epochs": epochs}
    more = {"batch_size": 4, "workers": 2, "world_size": 1, "drop_remainder": False}
    return plain | more | {"replacement": False, "seed": 1} | declared


def assert_found(result: Result, *rules: str) -> None:
    """Make sure that these rules speak, the first one first, and no other."""
    causal = [rule.name for rule in all_rules() if rule.name in rules]

    assert loud_rules(result) == causal == [*rules]


def test_parts_of_the_ids_and_weights_that_are_not_read(tmp_path: Path) -> None:
    rng = random.Random(0)
    drawn = [rng.choices(range(40), k=3000)]
    weights = [1.0, 9.0] * 20 + [5.0, 5.0]
    declared = declare(42, 1, workers=4, weights=weights, replacement=True, num_samples=3000)
    rows = deliver(drawn)
    del rows["draws"]

    assert_found(
        check(write_run(tmp_path / "run", rows, declared)),
        "implicit-partitioning",
        "ignored-weights",
    )


def test_a_restart_too_far_on_and_records_that_changed(tmp_path: Path) -> None:
    rows = deliver(shuffled(40, 2))
    place = [*range(50), *range(53, 80)]
    late = {name: [values[n] for n in place] for name, values in rows.items()}
    late["resumed"] = [n >= 50 for n in range(len(place))]
    late["raw"] = [
        raw + (record % 5 == 0) for raw, record in zip(late["raw"], late["record"], strict=True)
    ]
    resume = {"epoch": 1, "position": 10, "unit": "records"}
    a = write_run(tmp_path / "a", rows, declare(40, 2))
    b = write_run(tmp_path / "b", late, declare(40, 2, resume=resume))

    assert_found(audit(a, b), "resume-drift", "content-drift")


def test_one_order_for_all_epochs_and_workers_with_one_generator(tmp_path: Path) -> None:
    rows = deliver(shuffled(48, 1) * 3)
    run = write_run(tmp_path / "run", rows | {"draws": cloned(rows)}, declare(48, 3))

    assert_found(check(run), "epoch-order-repeat", "worker-rng-clone")


def test_names_sorted_as_text_and_a_dropped_tail(tmp_path: Path) -> None:
    by_number = [f"img{n}.png" for n in range(42)]
    by_text = sorted(by_number)[:40]
    declared = declare(42, 1, purpose="eval", shuffle=False, workers=0)
    runs = []
    for name, records in (("a", by_number), ("b", by_text)):
        rows: Rows = {"epoch": [0] * len(records), "record": records}
        rows["batch"] = [place // 4 for place in range(len(records))]
        runs.append(write_run(tmp_path / name, rows, declared))

    assert_found(audit(*runs), "source-order", "tail-handling")


def test_weights_that_are_not_read_and_labels_that_are_late(tmp_path: Path) -> None:
    drawn = [random.Random(0).choices(range(10), k=2000)]
    rows = deliver(drawn)
    del rows["draws"]
    true = [mixed("label", record) % 7 for record in rows["record"]]
    rows |= {"label_true": true, "label_used": true[-1:] + true[:-1]}
    declared = declare(10, 1, weights=[1.0, 4.0] * 5, replacement=True, num_samples=2000)

    assert_found(check(write_run(tmp_path / "run", rows, declared)), "ignored-weights", "alignment")


def test_a_seed_that_is_not_used_and_records_that_changed(tmp_path: Path) -> None:
    a, b = (deliver(shuffled(40, 2, seed=seed)) for seed in (1, 2))
    b["raw"] = [raw + (record % 4 == 0) for raw, record in zip(b["raw"], b["record"], strict=True)]
    runs = [
        write_run(tmp_path / name, rows, declare(40, 2, seed=0, seed_used=used))
        for name, rows, used in (("a", a, 77), ("b", b, 78))
    ]

    assert_found(audit(*runs), "seed-handling", "content-drift")


def test_a_split_that_moves_and_draws_that_come_again(tmp_path: Path) -> None:
    rows = deliver(shuffled(48, 3))
    rows["draws"] = [mixed("draws", record) for record in rows["record"]]
    rows["split"] = ["train" if n % 48 < 36 else "val" for n in range(144)]

    assert_found(
        check(write_run(tmp_path / "run", rows, declare(48, 3))),
        "split-leak",
        "epoch-draw-repeat",
    )


def test_records_that_never_come_and_one_order_for_all_epochs(tmp_path: Path) -> None:
    (order,) = shuffled(48, 1)
    order = [record for record in order if record not in {7, 31, 32}]
    run = write_run(tmp_path / "run", deliver([order] * 3), declare(48, 3))

    assert_found(check(run), "epoch-order-repeat", "coverage-hole")


def test_workers_that_read_everything_and_draw_alike(tmp_path: Path) -> None:
    orders = shuffled(24, 2)
    rows = deliver([[record for record in order for _ in range(2)] for order in orders])
    rows["worker"] = [place % 2 for place in range(96)]
    rows["draws"] = [mixed("clone", place // 2) for place in range(96)]
    declared = declare(24, 2, batch_size=4)

    assert_found(
        check(write_run(tmp_path / "run", rows, declared)), "partition-broken"
    )  # equal records at equal places are the same sample, not a clone
