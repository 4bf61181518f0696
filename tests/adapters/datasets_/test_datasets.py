"""Datasets of Hugging Face, recorded as they are."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets.distributed import split_dataset_by_node
from torch.utils.data import DataLoader, Subset

from detloader import audit, check, open_run, record
from detloader.errors import UsageError
from detloader.findings import Verdict
from tests.support.results import counts_of


def table(size: int = 10) -> datasets.Dataset:
    return datasets.Dataset.from_dict(
        {"x": [[i, i + 1] for i in range(size)], "name": [f"n{i}" for i in range(size)]}
    )


def stream(size: int = 10, seed: int | None = 3) -> datasets.IterableDataset:
    return table(size).to_iterable_dataset(num_shards=2).shuffle(seed=seed, buffer_size=4)


def column(run: Path, name: str) -> list[Any]:
    return open_run(run).streams["main"].table([name])[name].to_pylist()


def test_a_row_is_known_by_its_place_in_the_table_behind(tmp_path: Path) -> None:
    shuffled = table().shuffle(seed=1).select(range(2, 9))
    bare = list(shuffled)
    with record(shuffled, tmp_path / "run") as dataset:
        assert isinstance(dataset, datasets.Dataset)
        assert list(dataset) == bare

    assert column(tmp_path / "run", "record") == [int(row["name"][1:]) for row in bare]
    assert open_run(tmp_path / "run").streams["main"].declared.source_size == 10


def read_from_a_file(folder: Path) -> datasets.Dataset:
    table(2500).save_to_disk(folder / "saved")
    loaded = datasets.load_from_disk(folder / "saved")
    assert isinstance(loaded, datasets.Dataset)
    return loaded


CUTS: dict[str, Callable[[datasets.Dataset], datasets.Dataset]] = {
    "selected": lambda whole: whole.select(range(3, 9)),
    "the first": lambda whole: whole.take(4),
    "skipped": lambda whole: whole.skip(4),
    "cut twice": lambda whole: whole.select(range(3, 9)).select(range(2, 5)),
    "cut and shuffled": lambda whole: whole.select(range(3, 9)).shuffle(seed=1),
    "cut after shuffling": lambda whole: whole.shuffle(seed=1).select(range(3, 9)),
    "a shard": lambda whole: whole.shard(3, 1, contiguous=True),
    "a shard of every third": lambda whole: whole.shard(3, 1, contiguous=False),
    "renamed": lambda whole: whole.skip(4).rename_column("x", "z"),
    "widened": lambda whole: whole.skip(4).add_column("y", list(range(len(whole) - 4))),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("in_memory", [True, False])
def test_a_row_of_a_cut_table_is_known_by_its_place_before_the_cut(
    cut: str, in_memory: bool, tmp_path: Path
) -> None:
    whole = table(25) if in_memory else read_from_a_file(tmp_path)
    part = CUTS[cut](whole)
    names = [row["name"] for row in part]
    with record(part, tmp_path / "run") as dataset:
        list(dataset)

    assert column(tmp_path / "run", "record") == [int(name[1:]) for name in names]


def test_names_are_given_for_the_rows_that_were_cut_out(tmp_path: Path) -> None:
    with record(table().skip(7).shuffle(seed=1), tmp_path / "run", ids=["a", "b", "c"]) as dataset:
        names = [row["name"] for row in dataset]

    found = dict(zip(names, column(tmp_path / "run", "record"), strict=True))
    assert found == {"n7": "a", "n8": "b", "n9": "c"}


PARTS: dict[str, Callable[[Any], Any]] = {
    "cut": lambda part: part,
    "made anew": lambda part: part.map(lambda row: {"y": len(row["name"])}),
    "joined": lambda part: datasets.concatenate_datasets([part, part.select([])]),
}


@pytest.mark.parametrize("form", PARTS)
def test_ranks_that_each_have_a_part_of_the_rows_share_them_out(form: str, tmp_path: Path) -> None:
    for rank in range(2):
        part = PARTS[form](split_dataset_by_node(table(100), rank, 2))
        with record(part, tmp_path / "run", rank=rank) as dataset:
            for _ in range(2):
                list(dataset)

    assert check(tmp_path / "run").verdict is Verdict.CLEAN


def test_ranks_that_each_have_all_rows_replicate_them(tmp_path: Path) -> None:
    for rank in range(2):
        with record(table(100).shuffle(seed=rank), tmp_path / "run", rank=rank) as dataset:
            list(dataset)
    found = check(tmp_path / "run").findings

    assert [finding.rule for finding in found] == ["partition-broken"]


FORMS: dict[str, Callable[[datasets.Dataset], Any]] = {
    "rows": lambda rows: rows,
    "stream": lambda rows: rows.to_iterable_dataset(),
    "in a loader of Torch": lambda rows: DataLoader(rows, batch_size=4),
}


@pytest.mark.parametrize("form", FORMS)
def test_other_bytes_of_a_record_are_named_in_whichever_form_it_is_read(
    form: str, tmp_path: Path
) -> None:
    sources = (
        table(61),
        table(61).map(lambda row: {"x": [9, 9] if row["name"] == "n3" else row["x"]}),
    )
    for name, source in zip("ab", sources, strict=True):
        with record(FORMS[form](source), tmp_path / name, ids="name") as dataset:
            list(dataset)
    result = audit(tmp_path / "a", tmp_path / "b")

    assert [finding.rule for finding in result.findings] == ["content-drift"]
    assert result.reason is None


@pytest.mark.parametrize("form", ["rows", "in a loader of Torch"])
def test_a_table_in_another_order_is_named(form: str, tmp_path: Path) -> None:
    for name, rows in (("a", list(table(61))), ("b", list(table(61))[::-1])):
        source = datasets.Dataset.from_list(rows)
        with record(FORMS[form](source), tmp_path / name, ids="name") as dataset:
            list(dataset)
    result = audit(tmp_path / "a", tmp_path / "b")

    assert [finding.rule for finding in result.findings] == ["source-order"]


def test_a_fingerprint_is_shown_as_what_nobody_gave(tmp_path: Path) -> None:
    rows = table()
    with record(rows, tmp_path / "run") as dataset:
        list(dataset)
    config: Any = open_run(tmp_path / "run").streams["main"].declared.config

    assert config["fingerprint"] == rows._fingerprint
    assert config["inert"] == ["fingerprint"]


def test_batches_are_batches(tmp_path: Path) -> None:
    bare = list(table().shuffle(seed=1).iter(4))
    with record(table().shuffle(seed=1), tmp_path / "run") as dataset:
        assert list(dataset.iter(4)) == bare

    assert column(tmp_path / "run", "batch") == [0] * 4 + [1] * 4 + [2] * 2
    assert None not in column(tmp_path / "run", "content")


def test_a_batch_has_the_content_of_its_rows(tmp_path: Path) -> None:
    with record(table(), tmp_path / "rows") as dataset:
        list(dataset)
    with record(table(), tmp_path / "batches") as dataset:
        list(dataset.iter(3))

    assert audit(tmp_path / "rows", tmp_path / "batches").verdict is Verdict.IDENTICAL


FORMATS = [None, "numpy", "torch", "tensorflow", "pandas", "arrow"]


@pytest.mark.parametrize("form", FORMATS)
def test_formats_are_left_as_they_are(form: str | None, tmp_path: Path) -> None:
    formatted = table().with_format(form)
    with record(formatted, tmp_path / "run") as dataset:
        found, bare = next(iter(dataset)), next(iter(formatted))

    assert type(found) is type(bare)
    assert type(found["x"]) is type(bare["x"])
    assert column(tmp_path / "run", "record") == [0]


@pytest.mark.parametrize("kind", ["rows to index", "stream"])
@pytest.mark.parametrize("form", FORMATS)
def test_rows_and_batches_of_every_format_are_recorded_alike(
    form: str | None, kind: str, tmp_path: Path
) -> None:
    whole = table() if kind == "rows to index" else table().to_iterable_dataset()
    formatted: Any = whole.with_format(form)
    with record(formatted, tmp_path / "rows") as dataset:
        list(dataset)
    with record(formatted, tmp_path / "batches") as dataset:
        list(dataset.iter(3))
    with record(formatted.batch(3), tmp_path / "taken apart", batched=True, ids="name") as dataset:
        list(dataset)

    contents = column(tmp_path / "rows", "content")
    assert len(set(contents)) == 10
    assert contents == column(tmp_path / "taken apart", "content")
    assert column(tmp_path / "taken apart", "record") == [f"n{i}" for i in range(10)]
    assert audit(tmp_path / "rows", tmp_path / "batches").verdict is Verdict.IDENTICAL


@pytest.mark.parametrize("form", ["pandas", "arrow"])
def test_a_function_finds_ids_in_the_table_that_is_delivered(form: str, tmp_path: Path) -> None:
    formatted = table(4).with_format(form)
    with record(formatted, tmp_path / "row", ids=lambda row: str(row["name"][0])) as dataset:
        list(dataset)
    with record(formatted, tmp_path / "batch", ids=lambda batch: batch["name"]) as dataset:
        list(dataset.iter(3))

    names = [f"n{i}" for i in range(4)]
    assert column(tmp_path / "row", "record") == column(tmp_path / "batch", "record") == names


def test_names_can_be_given_for_the_rows_of_the_table(tmp_path: Path) -> None:
    names = [f"file-{i}" for i in range(10)]
    with record(table().select([7, 2]), tmp_path / "run", ids=names) as dataset:
        list(dataset)

    assert column(tmp_path / "run", "record") == ["file-7", "file-2"]


def test_a_column_can_name_the_records(tmp_path: Path) -> None:
    with record(stream(), tmp_path / "run", ids="name") as dataset:
        names = [row["name"] for row in dataset]

    assert column(tmp_path / "run", "record") == names


def test_a_stream_without_ids_is_known_by_its_content(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        with record(stream(seed=seed), tmp_path / name) as dataset:
            list(dataset)

    assert audit(tmp_path / "a", tmp_path / "b").verdict is Verdict.IDENTICAL
    assert audit(tmp_path / "a", tmp_path / "c").verdict is Verdict.REORDERED


def test_epochs_that_were_set_are_those_of_the_rows(tmp_path: Path) -> None:
    bare, orders = stream(200), []
    with record(stream(200), tmp_path / "run", ids="name") as dataset:
        for epoch in (0, 1, 5):
            dataset.set_epoch(epoch)
            bare.set_epoch(epoch)
            orders.append(list(dataset))
            assert orders[-1] == list(bare)

    assert sorted(set(column(tmp_path / "run", "epoch"))) == [0, 1, 5]
    assert check(tmp_path / "run", select=["epoch-order-repeat"]).verdict is Verdict.CLEAN


def test_a_stream_whose_epoch_is_never_set_repeats_its_order(tmp_path: Path) -> None:
    with record(stream(200), tmp_path / "run", ids="name") as dataset:
        for _ in range(3):
            list(dataset)
    found = check(tmp_path / "run", select=["epoch-order-repeat"])

    assert [finding.rule for finding in found.findings] == ["epoch-order-repeat"]


@pytest.mark.parametrize("again", [False, True])
def test_a_stream_that_is_passed_twice_for_an_epoch_repeats_it(again: bool, tmp_path: Path) -> None:
    with record(stream(200), tmp_path / "run", ids="name") as dataset:
        for epoch in (0, 0, 1, 1):
            if again or epoch != dataset.epoch:
                dataset.set_epoch(epoch)
            list(dataset)
    (finding,) = check(tmp_path / "run", select=["epoch-order-repeat"]).findings

    assert finding.evidence["epochs"] == [[0, 1], [2, 3]]
    assert "no new `set_epoch`" in finding.cause


def test_a_state_goes_on_where_it_was_taken(tmp_path: Path) -> None:
    with record(stream(), tmp_path / "run", ids="name") as dataset:
        steps = iter(dataset)
        [next(steps) for _ in range(3)]
        state = dataset.state_dict()
        dataset.load_state_dict(state)
        rest = [row["name"] for row in dataset]
    bare = stream()
    bare.load_state_dict(state)

    assert [row["name"] for row in bare] == rest


def test_what_is_made_from_the_twin_is_no_part_of_the_run(tmp_path: Path) -> None:
    with record(table(), tmp_path / "run") as dataset:
        derived = dataset.map(lambda row: {"y": len(row["name"])}).shuffle(seed=1)
        assert len(list(derived)) == 10
        assert dataset[3]["name"] == "n3"
        copies = [copy.copy(dataset), copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))]  # noqa: S301
        assert [list(twin) for twin in copies] == [list(table())] * 3
        assert list(dataset) == list(table())

    assert open_run(tmp_path / "run").rows == 10


def test_a_dataset_outlives_its_twin(tmp_path: Path) -> None:
    dataset = table()
    record(dataset, tmp_path / "run").close()

    assert dataset[0]["name"] == "n0"


def test_places_of_a_stream_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not say which record"):
        record(stream(), tmp_path / "run", ids=[1, 2, 3])


def test_two_seeds_are_told_apart(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        with record(table(50).shuffle(seed=seed), tmp_path / name) as dataset:
            list(dataset)
    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.verdict is Verdict.REORDERED
    assert counts_of(result).missing == 0


@pytest.mark.parametrize("seed", [3, None])
def test_a_stream_that_nobody_seeded_says_so(seed: int | None, tmp_path: Path) -> None:
    runs = [tmp_path / name for name in "ab"]
    for run in runs:
        with record(stream(40, seed), run, ids="name") as dataset:
            list(dataset)
    result = audit(*runs)
    kinds = [each.evidence["kind"] for each in result.findings if each.rule == "seed-handling"]

    assert kinds == ([] if seed else ["unseeded"])
    assert result.verdict == ("identical" if seed else "reordered")


def test_a_seed_that_was_drawn_is_kept_and_repeats_the_order(tmp_path: Path) -> None:
    with record(stream(40, None), tmp_path / "a", ids="name") as dataset:
        list(dataset)
    drawn = open_run(tmp_path / "a").streams["main"].declared.seed_used
    with record(stream(40, int(str(drawn))), tmp_path / "b", ids="name") as dataset:
        list(dataset)

    assert audit(tmp_path / "a", tmp_path / "b").verdict == "identical"


def test_rows_that_were_not_selected_are_not_missed(tmp_path: Path) -> None:
    table = datasets.Dataset.from_dict({"x": list(range(20))})
    chosen = {
        "selected": table.select([*range(5), *range(9, 20)]),
        "filtered": table.filter(lambda row: row["x"] % 3 > 0),
    }
    for name, dataset in chosen.items():
        with record(dataset, tmp_path / name) as rows:
            for _ in range(2):
                list(rows)

        assert check(tmp_path / name).verdict == "clean"
        assert open_run(tmp_path / name).streams["main"].declared.num_samples == len(dataset)


def through_torch(dataset: Any, run: Path, level: str) -> None:
    with record(DataLoader(dataset.with_format("torch"), batch_size=5), run, level=level) as loader:
        list(loader)


@pytest.mark.parametrize("level", ["order", "full"])
def test_a_loader_of_torch_knows_rows_by_their_place_in_the_table(
    level: str, tmp_path: Path
) -> None:
    for name, seed in (("a", 5), ("b", 6)):
        through_torch(table(20).shuffle(seed=seed), tmp_path / name, level)
    result = audit(tmp_path / "a", tmp_path / "b")

    names = [int(name[1:]) for name in table(20).shuffle(seed=5)["name"]]
    assert column(tmp_path / "a", "record") == names
    assert column(tmp_path / "a", "index") == [*range(20)]
    assert result.verdict is Verdict.REORDERED


def test_a_subset_of_a_cut_table_has_the_tables_places(tmp_path: Path) -> None:
    below = table(20).select([9, 4, 7, 1, 3]).with_format("torch")
    with record(DataLoader(Subset(below, [3, 0]), batch_size=1), tmp_path / "run") as loader:
        list(loader)

    assert column(tmp_path / "run", "record") == [1, 9]


@pytest.mark.parametrize("drawn", [[0, 0, *range(2, 10)], [0, 0, 1]])
def test_rows_that_are_selected_again_are_meant(drawn: list[int], tmp_path: Path) -> None:
    with record(table().select(drawn), tmp_path / "run") as dataset:
        list(dataset)
        list(dataset)

    assert check(tmp_path / "run").findings == []


def test_a_row_that_is_a_batch_is_as_many_records(tmp_path: Path) -> None:
    for name, dataset in (("rows", table().batch(4)), ("stream", stream().batch(4))):
        with record(dataset, tmp_path / name, ids="name", batched=True) as twin:
            names = [name for batch in twin for name in batch["name"]]

        assert len(names) == 10
        assert column(tmp_path / name, "record") == names


def test_rows_of_a_row_that_is_a_batch_are_in_no_table(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give ids as a key"):
        record(table().batch(4), tmp_path / "run", ids=[*range(10)], batched=True)


@pytest.mark.parametrize("own", [False, True])
def test_an_epoch_that_the_stream_was_told_is_its_number(own: bool, tmp_path: Path) -> None:
    original = stream()
    with record(original, tmp_path / "run", ids="name") as twin:
        for epoch in (5, 7):
            (twin if own else original).set_epoch(epoch)
            list(twin)
        list(twin)

    assert sorted(set(column(tmp_path / "run", "epoch"))) == [5, 7, 8]
