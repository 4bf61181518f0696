"""Grain's own datasets, recorded as their users built them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import grain
import numpy as np
import pytest

from detloader import audit, open_run, record, to_grain
from detloader.errors import UsageError
from detloader.findings import Verdict
from detloader.generators.folding import fold_draws
from tests.support import grain_pipelines as pipelines
from tests.support.grain_pipelines import PIPELINES, Squares
from tests.support.results import counts_of, loud_rules


def plain(element: Any) -> Any:
    """Copy out of shared memory, in a form that compares."""
    if isinstance(element, dict):
        return {key: plain(value) for key, value in element.items()}
    return np.asarray(element).tolist()


def drain(dataset: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Iterate to the end: elements, and the state after each."""
    iterator: Any = iter(dataset)
    elements, states = [], [repr(iterator.get_state())]
    for element in iterator:
        elements.append(plain(element))
        states.append(repr(iterator.get_state()))
    getattr(iterator, "close", gc.collect)()
    return elements, states


def ids(elements: Iterable[Any]) -> Iterator[int]:
    for element in elements:
        yield from np.atleast_1d(element["id"]).tolist()


def column(run: Path, name: str) -> list[Any]:
    return open_run(run).streams["main"].table([name])[name].to_pylist()


@pytest.mark.parametrize("name", PIPELINES)
def test_elements_and_states_are_those_without_recording(name: str, tmp_path: Path) -> None:
    bare = drain(PIPELINES[name]())
    with record(PIPELINES[name](), tmp_path / "run") as dataset:
        recorded = drain(dataset)

    assert recorded == bare


@pytest.mark.parametrize("name", sorted(PIPELINES.keys() - {"padded batches"}))
def test_each_row_names_the_record_that_its_element_holds(name: str, tmp_path: Path) -> None:
    with record(PIPELINES[name](), tmp_path / "run") as dataset:
        elements, _ = drain(dataset)
    found = column(tmp_path / "run", "record")
    expected = [int(number) for number in np.concatenate([np.ravel(e["id"]) for e in elements])]

    if found and isinstance(found[0], str):
        first = {"stream mix": 100, "mix": 100, "concatenate": 50}[name]
        found = [int(place) + first * int(source) for source, place in
                 (row.split(":") for row in found)]  # fmt: skip
    assert found == expected


@pytest.mark.parametrize("name", ["two epochs", "stream draws", "batches", "slice", "mix"])
def test_workers_change_no_row_where_grain_promises_it(name: str, tmp_path: Path) -> None:
    for workers in (0, 1, 3):
        dataset = PIPELINES[name]()
        dataset = pipelines.in_workers(dataset, workers) if workers else dataset
        with record(dataset, tmp_path / str(workers)) as twin:
            drain(twin)

    for workers in (1, 3):
        assert audit(tmp_path / "0", tmp_path / str(workers)).verdict is Verdict.IDENTICAL


@pytest.mark.parametrize("name", ["batches", "stream batches", "stream filter", "stream mix"])
def test_what_leaves_worker_processes_is_what_left_them_before(name: str, tmp_path: Path) -> None:
    bare = drain(pipelines.in_workers(PIPELINES[name](), 2))
    with record(pipelines.in_workers(PIPELINES[name](), 2), tmp_path / "run") as dataset:
        recorded = drain(dataset)
    found = column(tmp_path / "run", "record")

    assert recorded == bare
    assert len(found) == len(list(ids(recorded[0])))


def test_transforms_after_the_workers_are_followed_too(tmp_path: Path) -> None:
    def build() -> Any:
        few = pipelines.in_workers(pipelines.stream(pipelines.shuffled()), 2)
        return few.filter(pipelines.is_even).random_map(pipelines.noise, seed=1).batch(4)

    bare = drain(build())
    with record(build(), tmp_path / "run") as dataset:
        recorded = drain(dataset)

    assert recorded == bare
    assert column(tmp_path / "run", "record") == list(ids(recorded[0]))
    assert None not in column(tmp_path / "run", "draws")


def test_a_chain_of_grain_is_identical_to_the_same_stream_of_to_grain(tmp_path: Path) -> None:
    source = Squares(23)
    chain = grain.MapDataset.source(source).shuffle(7).repeat(2)
    chain = chain.random_map(pipelines.noise, seed=7).batch(4)
    ours = to_grain(
        source, seed=7, shuffle=True, transform=pipelines.noise, batch_size=4, num_epochs=2
    )
    for name, dataset in {"chain": chain, "ours": ours}.items():
        with record(dataset, tmp_path / name) as twin:
            drain(twin)
    result = audit(tmp_path / "chain", tmp_path / "ours")

    assert result.verdict is Verdict.IDENTICAL
    assert not {"draws", "content"} & set(result.not_compared or ())


def test_draws_are_null_where_none_were_taken(tmp_path: Path) -> None:
    with record(PIPELINES["plain"](), tmp_path / "run") as dataset:
        drain(dataset)

    assert set(column(tmp_path / "run", "draws")) == {None}


def test_the_draws_of_a_batch_are_those_of_each_of_its_records(tmp_path: Path) -> None:
    with record(PIPELINES["drawn for a batch"](), tmp_path / "run") as dataset:
        drain(dataset)
    table = open_run(tmp_path / "run").streams["main"].table(["batch", "draws"]).to_pydict()
    pairs = set(zip(table["batch"], table["draws"], strict=True))

    assert len(pairs) == len(set(table["batch"])) == len(set(table["draws"]))


def test_other_draws_are_seen_where_only_one_of_two_transforms_draws_otherwise(
    tmp_path: Path,
) -> None:
    for name, seed in (("a", 6), ("b", 7)):
        chain = pipelines.shuffled().random_map(pipelines.noise, seed=5)
        with record(chain.random_map(pipelines.shift, seed=seed), tmp_path / name) as dataset:
            drain(dataset)
    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.verdict is Verdict.CHANGED
    assert counts_of(result).draws == 23


def test_draws_of_two_transforms_are_those_of_each_one_after_the_other(tmp_path: Path) -> None:
    chains = {
        "first": pipelines.shuffled().random_map(pipelines.noise, seed=5),
        "second": pipelines.shuffled().random_map(pipelines.shift, seed=6),
    }
    chains["both"] = chains["first"].random_map(pipelines.shift, seed=6)
    for name, chain in chains.items():
        with record(chain, tmp_path / name) as dataset:
            drain(dataset)
    first, second, both = (
        np.array(column(tmp_path / name, "draws"), np.uint64)
        for name in ("first", "second", "both")
    )

    assert both.tolist() == fold_draws(first, second).tolist()


@pytest.mark.parametrize("name", ["two epochs", "same epoch again", "stream repeat", "slice"])
def test_epochs_are_passes_over_the_source(name: str, tmp_path: Path) -> None:
    with record(PIPELINES[name](), tmp_path / "run") as dataset:
        elements, _ = drain(dataset)
    epochs = column(tmp_path / "run", "epoch")
    passes = {"stream repeat": 3}.get(name, 2)

    assert epochs == sorted(epochs)
    assert set(epochs) == set(range(passes))
    assert len(epochs) == len(elements)


def test_iterating_again_is_the_next_epoch(tmp_path: Path) -> None:
    with record(PIPELINES["plain"](), tmp_path / "run") as dataset:
        for _ in range(3):
            drain(dataset)

    assert column(tmp_path / "run", "epoch") == [0] * 23 + [1] * 23 + [2] * 23


def test_a_state_of_the_bare_dataset_resumes_the_recorded_one(tmp_path: Path) -> None:
    bare: Any = iter(PIPELINES["batches"]())
    [next(bare) for _ in range(2)]
    state = bare.get_state()
    rest = [plain(element) for element in bare]
    with record(PIPELINES["batches"](), tmp_path / "run") as dataset:
        iterator = iter(dataset)
        iterator.set_state(state)
        resumed = [plain(element) for element in iterator]

    assert resumed == rest
    assert set(column(tmp_path / "run", "resumed")) == {True}
    assert column(tmp_path / "run", "record") == list(ids(rest))


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_goes_on_with_any_batch_also_with_one_that_spans_epochs(
    stream: bool, tmp_path: Path
) -> None:
    source = grain.MapDataset.range(5).shuffle(seed=3).repeat(4)
    made = (source.to_iter_dataset() if stream else source).batch(3)
    with record(made, tmp_path / "whole") as dataset:
        iterator: Any = iter(dataset)
        states = [iterator.get_state() for _ in iterator]
    for number, state in enumerate(states[:-1]):
        with record(made, tmp_path / f"{number}") as dataset:
            iterator = iter(dataset)
            iterator.set_state(state)
            list(iterator)
        result = audit(tmp_path / "whole", tmp_path / f"{number}")

        assert (result.verdict, result.findings) == (Verdict.IDENTICAL, [])


def test_what_the_graph_says_is_declared(tmp_path: Path) -> None:
    dataset = pipelines.in_workers(PIPELINES["batches"](), 2)
    record(dataset, tmp_path / "run").close()
    declared = open_run(tmp_path / "run").streams["main"].declared

    assert (declared.shuffle, declared.seed, declared.source_size) == (True, 3, 23)
    assert (declared.batch_size, declared.drop_remainder) == (4, False)
    assert (declared.workers, declared.start_method, declared.threads) == (2, "spawn", 2)


@pytest.mark.parametrize("ids", [None, int])
def test_a_dataset_that_is_the_input_of_several_is_looked_at_once(
    ids: Callable[[Any], int] | None, tmp_path: Path
) -> None:
    dataset = grain.MapDataset.range(8).shuffle(seed=3)
    for _ in range(40):  # as a tree, 2 ** 40 nodes
        dataset = grain.MapDataset.concatenate([dataset, dataset])
    with record(dataset, tmp_path / "run", ids=ids, batched=None):
        pass

    assert open_run(tmp_path / "run").streams["main"].rows == 0


def test_records_can_be_given_ids_of_their_own(tmp_path: Path) -> None:
    names = [f"file-{index}" for index in range(23)]
    with record(PIPELINES["batches"](), tmp_path / "run", ids=names) as dataset:
        elements, _ = drain(dataset)

    assert column(tmp_path / "run", "record") == [names[number] for number in ids(elements)]


@pytest.mark.parametrize("name", ["ZipIterDataset", "FirstFitPackIterDataset", "Mine"])
def test_a_node_that_hides_its_records_is_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"through {name}"):
        record(pipelines.unknown()[name], tmp_path / "run")

    assert not (tmp_path / "run").exists()


def test_any_dataset_is_recorded_where_its_elements_tell_their_record(tmp_path: Path) -> None:
    with record(pipelines.unknown()["Mine"], tmp_path / "run", ids="id") as dataset:
        found = [element["id"] for element in dataset]

    assert column(tmp_path / "run", "record") == found == list(range(6))


_NAMED: list[Any] = [{"id": f"r{index}"} for index in range(9)]


def _named() -> grain.MapDataset[Any]:
    return grain.MapDataset.source(_NAMED)


NAMED: dict[str, Any] = {
    "map": lambda: _named().batch(4),
    "stream": lambda: _named().to_iter_dataset().batch(4),
    "map behind the batch": lambda: _named().batch(4).map(dict),
    "no remainder": lambda: _named().batch(4, drop_remainder=True),
    "workers": lambda: pipelines.in_workers(_named().batch(4).to_iter_dataset(), 1),
    "loader": lambda: grain.DataLoader(
        data_source=_NAMED,
        sampler=grain.samplers.SequentialSampler(9),
        operations=[grain.transforms.Batch(4)],
    ),
}


@pytest.mark.parametrize("ids", ["id", lambda batch: batch["id"]], ids=["key", "function"])
@pytest.mark.parametrize("name", NAMED)
def test_of_a_batch_a_key_or_a_function_gives_one_id_for_each_row(
    name: str, ids: Any, tmp_path: Path
) -> None:
    with record(NAMED[name](), tmp_path / "run", ids=ids) as dataset:
        batches = list(dataset)

    rows = [id_ for batch in batches for id_ in batch["id"]]
    assert column(tmp_path / "run", "record") == rows == [f"r{i}" for i in range(len(rows))]
    assert column(tmp_path / "run", "batch") == [index // 4 for index in range(len(rows))]


def test_whoever_says_what_an_element_is_knows_better_than_the_graph(tmp_path: Path) -> None:
    lists = grain.MapDataset.source([["a", "b"], ["c"]])
    for name, dataset, batched in (("one", _named().batch(4), False), ("many", lists, True)):
        found: Any = (lambda element: element["id"][0]) if name == "one" else list
        with record(dataset, tmp_path / name, ids=found, batched=batched) as twin:
            list(twin)

    assert column(tmp_path / "one", "record") == ["r0", "r4", "r8"]
    assert column(tmp_path / "many", "record") == ["a", "b", "c"]


class Apart(grain.experimental.FlatMapTransform):  # type: ignore[misc]  # untyped in Grain
    max_fan_out = 4

    def flat_map(self, element: Any) -> list[Any]:
        return [{"id": id_} for id_ in element["id"]]


def test_records_taken_out_of_batches_are_records(tmp_path: Path) -> None:
    stream = grain.experimental.FlatMapIterDataset(_named().batch(4).to_iter_dataset(), Apart())
    with record(stream, tmp_path / "run", ids="id") as dataset:
        assert len(list(dataset)) == 9

    assert column(tmp_path / "run", "record") == [f"r{index}" for index in range(9)]
    assert "batch" not in open_run(tmp_path / "run").streams["main"].columns


def test_the_users_own_graph_is_left_as_it_was(tmp_path: Path) -> None:
    dataset = PIPELINES["stream filter"]()
    before = drain(dataset)
    with record(dataset, tmp_path / "run") as twin:
        drain(twin)

    assert drain(dataset) == before


def test_a_batch_before_the_workers_loses_records_and_the_rule_says_so(tmp_path: Path) -> None:
    def build(workers: int, *, batch_first: bool) -> Any:
        dataset = pipelines.stream(pipelines.shuffled(30))
        if batch_first:
            dataset = dataset.batch(4, drop_remainder=True)
        dataset = pipelines.in_workers(dataset, workers) if workers else dataset
        return dataset if batch_first else dataset.batch(4, drop_remainder=True)

    for batch_first in (True, False):
        for workers in (0, 2):
            run = tmp_path / f"{batch_first}-{workers}"
            with record(build(workers, batch_first=batch_first), run) as twin:
                drain(twin)
    faulty = audit(tmp_path / "True-0", tmp_path / "True-2")
    mended = audit(tmp_path / "False-0", tmp_path / "False-2")

    assert faulty.verdict is Verdict.CHANGED
    assert counts_of(faulty).missing == 4
    assert (faulty.findings[0].rule, faulty.findings[0].severity) == ("tail-handling", "fail")
    assert mended.verdict is Verdict.IDENTICAL


@pytest.mark.parametrize(
    "options", [{}, {"workers": 2}, {"batch": None}, {"batch": None, "workers": 1}]
)
def test_a_loader_of_grain_is_recorded_as_it_is(options: dict[str, Any], tmp_path: Path) -> None:
    bare = drain(pipelines.loader(**options))
    with record(pipelines.loader(**options), tmp_path / "run") as loader:
        assert isinstance(loader, grain.DataLoader)
        recorded = drain(loader)
    elements = recorded[0]

    assert recorded == bare
    assert column(tmp_path / "run", "record") == list(ids(elements))
    assert None not in column(tmp_path / "run", "draws")
    assert set(column(tmp_path / "run", "epoch")) == {0, 1}


def test_a_loader_of_grain_draws_the_same_with_and_without_workers(tmp_path: Path) -> None:
    for workers in (0, 2):
        run = tmp_path / str(workers)
        with record(pipelines.loader(workers=workers, batch=None, epochs=1), run) as loader:
            drain(loader)
    result = audit(tmp_path / "0", tmp_path / "2", equivalence="same-set")

    assert (counts_of(result).draws, counts_of(result).content) == (0, 0)


def interleaved(cycle: int) -> Any:
    parts = [grain.MapDataset.range(100)[25 * part : 25 * part + 25] for part in range(4)]
    streams = [part.to_iter_dataset() for part in parts]
    return grain.experimental.InterleaveIterDataset(streams, cycle_length=cycle)


def drawn(*, late: bool) -> Any:
    source = pipelines.source()
    if late:
        return source.shuffle(seed=1).random_map(pipelines.noise, seed=5)
    return source.random_map(pipelines.noise, seed=5).shuffle(seed=1)


@pytest.mark.parametrize(
    ("before", "after"),
    [(interleaved(2), interleaved(4)), (drawn(late=False), drawn(late=True))],
    ids=["another cycle", "draws behind the shuffle"],
)
def test_another_graph_is_no_race_of_the_threads_that_read_ahead(
    before: Any, after: Any, tmp_path: Path
) -> None:
    for name, dataset in (("a", before), ("b", after)):
        with record(dataset, tmp_path / name) as loader:
            list(loader)
    result = audit(tmp_path / "a", tmp_path / "b")

    assert result.verdict not in {Verdict.IDENTICAL, Verdict.EQUIVALENT}
    assert loud_rules(result) == []
