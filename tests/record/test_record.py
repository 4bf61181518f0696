"""`record`: which run, which epoch, which rows."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detloader import open_run, record, to_grain
from detloader.errors import RunError, RunExistsError, UsageError
from detloader.manifest.schema import Recipe
from detloader.manifest.verify import verify_run
from tests.support.loaders import Loader, rows_of, writing_threads
from tests.support.torch_datasets import torch_loader


def test_each_iteration_is_the_next_epoch(tmp_path: Path) -> None:
    with record(Loader([7, 8]), tmp_path / "run", ids=int) as twin:
        for _ in range(3):
            assert list(twin) == [7, 8]

    assert rows_of(tmp_path / "run", "record", "epoch") == [
        (7, 0), (8, 0), (7, 1), (8, 1), (7, 2), (8, 2)
    ]  # fmt: skip
    assert open_run(tmp_path / "run").complete


def test_an_iterator_that_was_never_used_is_no_epoch(tmp_path: Path) -> None:
    with record(Loader([7]), tmp_path / "run", ids=int) as twin:
        iter(twin)
        list(twin)

    assert rows_of(tmp_path / "run", "epoch") == [0]


def test_an_epoch_that_is_set_is_the_loaders_and_the_rows(tmp_path: Path) -> None:
    loader = Loader([7])
    with record(loader, tmp_path / "run", ids=int) as twin:
        assert twin.set_epoch(5) == "set"
        list(twin)
        twin.set_epoch(np.int64(2))
        list(twin)
        list(twin)

    assert loader.epochs == [5, 2]
    assert rows_of(tmp_path / "run", "epoch") == [5, 2, 3]


def test_a_break_is_a_normal_stop(tmp_path: Path) -> None:
    with record(range(100), tmp_path / "run", ids=int) as twin:
        for number in twin:
            if number == 2:
                break

    assert rows_of(tmp_path / "run", "record") == [0, 1, 2]
    assert open_run(tmp_path / "run").complete


def test_batches_are_counted_within_an_epoch(tmp_path: Path) -> None:
    batches = [{"id": np.array([3, 1]), "x": np.zeros((2, 4))}, {"id": [2], "x": np.ones((1, 4))}]
    with record(batches, tmp_path / "run", ids="id", batched=True) as twin:
        list(twin)
        list(twin)

    assert rows_of(tmp_path / "run", "record", "epoch", "batch") == [
        (3, 0, 0), (1, 0, 0), (2, 0, 1), (3, 1, 0), (1, 1, 0), (2, 1, 1)
    ]  # fmt: skip


def test_an_empty_batch_is_no_row_and_no_loss(tmp_path: Path) -> None:
    batches: list[dict[str, Any]] = [{"id": []}, {"id": [1]}, {"id": []}]
    with record(batches, tmp_path / "run", ids="id", batched=True, level="order") as twin:
        assert list(twin) == batches

    assert rows_of(tmp_path / "run", "record", "batch") == [(1, 1)]
    assert open_run(tmp_path / "run").complete


def test_without_ids_the_content_is_the_id(tmp_path: Path) -> None:
    samples = [{"x": np.arange(3)}, {"x": np.arange(3)}, {"x": np.arange(4)}]
    with record(samples, tmp_path / "run") as twin:
        list(twin)

    rows = rows_of(tmp_path / "run", "record", "content")
    assert [record for record, _ in rows] == [f"{content:016x}" for _, content in rows]
    assert rows[0] == rows[1] != rows[2]


@pytest.mark.parametrize(
    ("level", "columns"),
    [
        ("digest", ["record", "epoch", "content"]),
        ("order", ["record", "epoch"]),
        ("full", ["record", "epoch", "content"]),
    ],
)
def test_levels_decide_what_is_kept(tmp_path: Path, level: str, columns: list[str]) -> None:
    with record([1, 2], tmp_path / "run", ids=int, level=level) as twin:
        list(twin)

    run = verify_run(tmp_path / "run")
    assert list(run.streams["main"].columns) == columns
    assert run.rows == 2


def test_an_unknown_level_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'all' is none of digest, order, full"):
        record([1], tmp_path / "run", level="all")


def test_the_same_loader_and_path_go_on_with_the_run(tmp_path: Path) -> None:
    loader = Loader([1, 2])
    for _ in range(2):
        list(record(loader, tmp_path / "run", ids=int))
    record(loader, tmp_path / "run").close()

    assert rows_of(tmp_path / "run", "record", "epoch") == [(1, 0), (2, 0), (1, 1), (2, 1)]


def test_another_loader_on_an_existing_path_is_refused(tmp_path: Path) -> None:
    twin = record(Loader([1]), tmp_path / "run", ids=int)
    list(twin)
    with pytest.raises(RunExistsError, match="is being recorded already"):
        record(Loader([1]), tmp_path / "run")
    twin.close()
    with pytest.raises(RunExistsError, match="holds a run already"):
        record(Loader([1]), tmp_path / "run")

    assert rows_of(tmp_path / "run", "record") == [1]


def test_a_sealed_run_is_not_gone_on_with(tmp_path: Path) -> None:
    loader = Loader([1])
    with record(loader, tmp_path / "run", ids=int) as twin:
        list(twin)

    with pytest.raises(RunExistsError):
        record(loader, tmp_path / "run")
    twin.close()
    assert list(twin) == [1]
    assert rows_of(tmp_path / "run", "record") == [1]


def test_another_rank_and_another_stream_are_recorded_beside_it(tmp_path: Path) -> None:
    loader = Loader([1])
    twins = [
        record(loader, tmp_path / "run", ids=int),
        record(loader, tmp_path / "run", ids=int, rank=1),
        record(loader, tmp_path / "run", ids=int, stream="eval"),
    ]
    for twin in twins:
        list(twin)
        twin.close()

    run = verify_run(tmp_path / "run")
    assert {name: len(stream.ranks) for name, stream in run.streams.items()} == {
        "eval": 1,
        "main": 2,
    }


@pytest.mark.usefixtures("no_other_recorder")
def test_a_closed_recorder_of_a_loader_that_is_gone_leaves_no_memory(tmp_path: Path) -> None:
    loader = Loader([1])
    twin = record(loader, tmp_path / "run", ids=int)
    list(twin)
    twin.close()
    gone = weakref.ref(loader), weakref.ref(twin)
    threads = writing_threads()
    del loader, twin
    gc.collect()

    assert [reference() for reference in gone] == [None, None]
    assert threads == 0


def test_what_the_user_declares_stands_above_what_is_observed(tmp_path: Path) -> None:
    declared = {"loader": "mine", "weights": [1, 2], "resume": {"position": 3}}
    recipe = Recipe(factory="train:make", arguments={"n": 3})
    record(Loader([1]), tmp_path / "run", declared=declared, recipe=recipe).close()

    stream = open_run(tmp_path / "run").streams["main"]
    assert (stream.declared.loader, stream.declared.weights) == ("mine", [1.0, 2.0])
    assert stream.recipe == recipe


def test_the_users_configuration_stands_above_the_loaders_entry_by_entry(tmp_path: Path) -> None:
    loader = torch_loader(range(4), sampler=[2, 0])
    config = {"collate": "mine", "scale": 2, "inert": ["scale"]}
    record(loader, tmp_path / "run", declared={"config": config}).close()

    found = open_run(tmp_path / "run").streams["main"].declared.config
    assert isinstance(found, dict)
    assert found["sampler"] == found["filter"] == "list"
    assert (found["collate"], found["scale"]) == ("mine", 2)
    assert found["inert"] == ["independent_draws", "scale"]


@pytest.mark.parametrize(
    ("declared", "named"),
    [({"wieghts": [1]}, "wieghts"), ({"seed": [1]}, r"\$\.seed"), ({"batch_size": "4"}, "size")],
)
def test_a_declared_field_that_is_wrong_is_named_and_nothing_is_made(
    tmp_path: Path, declared: dict[str, Any], named: str
) -> None:
    with pytest.raises(UsageError, match=named):
        record([1], tmp_path / "run", declared=declared)
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_iterated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot record a int"):
        record(3, tmp_path / "run")
    with pytest.raises(UsageError, match="does not say which record it reads"):
        record([1], tmp_path / "run", ids=["a"])
    with pytest.raises(UsageError, match="cannot name a folder"):
        record([1], tmp_path / "run", stream="a/b")
    assert not (tmp_path / "run").exists()


def test_a_file_in_the_way_is_one_line_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(RunError, match="cannot be written"):
        record([1], tmp_path / "run")


def test_a_stream_of_to_grain_counts_its_epochs(tmp_path: Path) -> None:
    stream = to_grain([10, 11, 12], seed=0, shuffle=True, num_epochs=2)
    with record(stream, tmp_path / "run", ids=["a", "b", "c"]) as twin:
        list(twin)
        list(twin)

    rows = rows_of(tmp_path / "run", "record", "epoch")
    assert [epoch for _, epoch in rows] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [sorted(r for r, e in rows if e == epoch) for epoch in range(4)] == [["a", "b", "c"]] * 4


@pytest.mark.parametrize("loader", [range(9), to_grain(range(9))], ids=["iterable", "to_grain"])
def test_a_loop_that_failed_leaves_a_part_of_a_run(tmp_path: Path, loader: Any) -> None:
    def train() -> None:
        with record(loader, tmp_path / "run") as twin:
            for number, _ in enumerate(twin):
                if number == 4:
                    raise FloatingPointError

    with pytest.raises(FloatingPointError):
        train()
    run = open_run(tmp_path / "run")

    assert run.rows == 5
    assert run.fingerprint is not None
    assert not run.complete
    assert run.streams["main"].declared.complete is False
    assert verify_run(run).rows == 5


def test_a_module_of_the_users_may_be_called_as_one_of_ours_is(tmp_path: Path) -> None:
    kind = type("Letters", (list,), {"__module__": "elements"})
    with record(kind("ab"), tmp_path / "run", ids=str) as letters:
        assert [*letters] == ["a", "b"]

    assert open_run(tmp_path / "run").rows == 2
