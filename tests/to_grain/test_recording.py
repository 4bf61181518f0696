"""Recording `to_grain`: it changes nothing, and its rows are what was delivered."""

from __future__ import annotations

import itertools
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import open_run, record, to_grain
from detloader.errors import RunError, SampleError, UsageError
from detloader.manifest.content import sample_digest
from detloader.manifest.reader import Stream
from detloader.randomness import digest_draws, stream_key
from tests.support import transforms
from tests.support.trees import assert_all_equal, assert_equal

STREAMS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "shuffle": st.booleans(),
        "transform": st.sampled_from(
            [None, transforms.draw_as_asked, transforms.number_and_draw, transforms.add_row]
        ),
        "batch_size": st.one_of(st.none(), st.integers(1, 7)),
        "drop_remainder": st.booleans(),
        "num_epochs": st.integers(1, 3),
    }
)


def recorded(folder: Path, source: Any, arguments: dict[str, Any], **how: Any) -> Stream:
    with record(to_grain(source, **arguments), folder, **how) as stream:
        for _ in stream:
            pass
    return open_run(folder).streams["main"]


def global_states() -> tuple[Any, ...]:
    legacy: Any = np.random.get_state()  # noqa: NPY002 - the state that must not move
    return random.getstate(), legacy[1].tolist(), legacy[2:]


def unbatched(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments | {"batch_size": None, "drop_remainder": False}


@given(size=st.integers(0, 12), arguments=STREAMS)
@settings(max_examples=40, deadline=None)
def test_recording_changes_neither_elements_nor_states_nor_global_generators(
    size: int, arguments: dict[str, Any]
) -> None:
    dataset = to_grain(range(size), **arguments)
    with tempfile.TemporaryDirectory() as folder:
        before = global_states()
        with record(dataset, f"{folder}/run") as twin:
            plain, watched = iter(dataset), iter(twin)
            assert watched.get_state() == plain.get_state()
            for element in plain:
                assert_equal(next(watched), element)
                assert watched.get_state() == plain.get_state()
            assert list(watched) == []
        assert global_states() == before


@given(size=st.integers(1, 12), arguments=STREAMS)
@settings(max_examples=40, deadline=None)
def test_rows_are_what_was_delivered(size: int, arguments: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = recorded(Path(folder, "run"), range(size), arguments)
        rows = run.table() if run.rows else None

    order = list(to_grain(range(size), **unbatched(arguments | {"transform": None})))
    samples = list(to_grain(range(size), **unbatched(arguments)))
    batch_size = arguments["batch_size"]
    kept = len(order)
    if batch_size is not None and arguments["drop_remainder"]:
        kept -= kept % batch_size
    assert run.rows == kept
    if rows is None:
        return
    positions = range(kept)
    assert rows["record"].to_pylist() == order[:kept]
    assert rows["epoch"].to_pylist() == [position // size for position in positions]
    assert rows["content"].to_pylist() == [sample_digest(sample) for sample in samples[:kept]]
    assert rows["draws"].to_pylist() == [
        expected_draws(arguments, order[position], position) for position in positions
    ]
    assert ("batch" in rows.column_names) == (batch_size is not None)
    if batch_size is not None:
        assert rows["batch"].to_pylist() == [position // batch_size for position in positions]
    assert not any(rows["resumed"].to_pylist())


def expected_draws(arguments: dict[str, Any], record_: int, position: int) -> int | None:
    """Draw again with a generator of NumPy's own, and read its public state."""
    if arguments["transform"] is None:
        return None
    bits = np.random.Philox(key=stream_key(arguments["seed"]), counter=[0, 0, 0, position])
    arguments["transform"](record_, np.random.Generator(bits))
    state: Any = bits.state
    words = 4 * int(state["state"]["counter"][0]) - 4 + state["buffer_pos"]
    taken = 2 * words - state["has_uint32"]
    if taken == 0:
        return None
    digests = digest_draws(
        stream_key(arguments["seed"]), np.array([position]), np.array([taken], np.uint32)
    )
    return int(digests[0])


@pytest.mark.parametrize("transform", [transforms.every_structure, transforms.number_and_draw])
@pytest.mark.parametrize("batch_size", [None, 4])
def test_content_is_the_digest_of_each_delivered_row(
    tmp_path: Path, transform: Any, batch_size: int | None
) -> None:
    arguments: dict[str, Any] = {"seed": 1, "transform": transform, "batch_size": batch_size}
    run = recorded(tmp_path / "run", range(10), arguments)

    expected = []
    for element in to_grain(range(10), **arguments):
        if batch_size is None:
            expected.append(sample_digest(element))
        else:
            expected += [sample_digest(row_of(element, n)) for n in range(rows_of(element))]

    assert run.table()["content"].to_pylist() == expected


def row_of(tree: Any, number: int) -> Any:
    if isinstance(tree, dict):
        return {key: row_of(child, number) for key, child in tree.items()}
    if isinstance(tree, list | tuple):
        return [row_of(child, number) for child in tree]
    return tree[number]


def rows_of(tree: Any) -> int:
    while not isinstance(tree, np.ndarray):
        tree = next(iter(tree.values())) if isinstance(tree, dict) else tree[0]
    return len(tree)


def test_the_worker_count_changes_no_compared_column(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {
        "seed": 5,
        "shuffle": True,
        "transform": transforms.every_structure,
        "batch_size": 3,
        "num_epochs": 2,
    }

    for workers in (0, 1, 2):
        recorded(tmp_path / str(workers), range(10), arguments | {"workers": workers})

    runs = [open_run(tmp_path / str(workers)) for workers in (0, 1, 2)]
    assert len({run.fingerprint for run in runs}) == 1
    tables = [run.streams["main"].table() for run in runs]
    assert "worker" not in tables[0].column_names
    assert set(tables[1]["worker"].to_pylist()) == {0}
    batches = np.asarray(tables[2]["batch"])
    assert np.array_equal(np.asarray(tables[2]["worker"]), batches % 2)


def test_recording_reads_each_record_once(tmp_path: Path) -> None:
    source = transforms.CountingSource(str(tmp_path / "log"), 10)

    recorded(tmp_path / "run", source, {"seed": 0, "shuffle": True, "batch_size": 3})

    assert source.accesses() == [0, 4, 6, 7, 8, 3, 1, 9, 5, 2]


def test_the_next_iteration_is_the_next_epoch(tmp_path: Path) -> None:
    with record(to_grain(range(3), num_epochs=2), tmp_path / "run") as stream:
        assert list(stream) == list(stream)
        iter(stream)  # made, never used
        next(iter(stream))

    rows = open_run(tmp_path / "run").streams["main"].table()
    assert rows["epoch"].to_pylist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4]


def test_an_endless_stream_is_left_by_break(tmp_path: Path) -> None:
    with record(to_grain(range(3), num_epochs=None, batch_size=2), tmp_path / "run") as stream:
        for number, _ in enumerate(stream):
            if number == 3:
                break

    run = open_run(tmp_path / "run")
    rows = run.streams["main"].table()
    assert run.complete
    assert rows["record"].to_pylist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert rows["epoch"].to_pylist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert rows["batch"].to_pylist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_rows_after_a_restart_say_so_and_go_on_with_the_epochs(tmp_path: Path) -> None:
    with record(to_grain(range(4), num_epochs=2), tmp_path / "run") as stream:
        iterator = iter(stream)
        for _ in range(5):
            next(iterator)
        state = iterator.get_state()
        resumed = iter(stream)
        resumed.set_state(state)
        assert list(resumed) == [1, 2, 3]

    rows = open_run(tmp_path / "run").streams["main"].table()
    assert rows["record"].to_pylist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert rows["epoch"].to_pylist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert rows["resumed"].to_pylist() == [False] * 5 + [True] * 3


def test_a_new_process_resumes_in_the_epoch_of_the_state(tmp_path: Path) -> None:
    with record(to_grain(range(4), num_epochs=3), tmp_path / "run") as stream:
        iterator = iter(stream)
        iterator.set_state({"next_index": 6})
        assert list(iterator) == [2, 3, 0, 1, 2, 3]

    rows = open_run(tmp_path / "run").streams["main"].table()
    assert rows["epoch"].to_pylist() == [1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["a", "b", "c"], ["b", "c", "a"]),
        (np.array(["a", "b", "c"]), ["b", "c", "a"]),
        ([30, 10, 20], [10, 20, 30]),
        (np.array([30, 10, 20]), [10, 20, 30]),
        (range(5, 8), [6, 7, 5]),
    ],
)
def test_ids_stand_for_the_indices(tmp_path: Path, ids: Any, expected: list[Any]) -> None:
    order = list(to_grain(range(3), seed=9, shuffle=True))

    rows = recorded(tmp_path / "run", range(3), {"seed": 9, "shuffle": True}, ids=ids).table()

    assert rows["record"].to_pylist() == [list(ids)[index] for index in order]
    assert rows["index"].to_pylist() == order


@pytest.mark.parametrize("ids", [["a", "b"], ["a", 1, "c"], ["a", None, "c"], "abc", len])
def test_ids_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path: Path, ids: Any) -> None:
    with pytest.raises(UsageError, match="ids") as caught:
        record(to_grain(range(3)), tmp_path / "run", ids=ids)

    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_levels_keep_less_and_agree_where_they_keep(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {
        "seed": 0,
        "shuffle": True,
        "transform": transforms.number_and_draw,
        "batch_size": 2,
    }

    full, order, digest = (
        recorded(tmp_path / level, range(5), arguments, level=level)
        for level in ("full", "order", "digest")
    )

    kept = order.table()
    assert not {"draws", "content"} & set(kept.column_names)
    assert kept.equals(full.table().select(kept.column_names))
    with pytest.raises(RunError):
        digest.table()
    assert open_run(tmp_path / "digest").fingerprint == open_run(tmp_path / "full").fingerprint


def test_without_a_transform_no_draw_is_told(tmp_path: Path) -> None:
    rows = recorded(tmp_path / "run", range(4), {"seed": 0, "shuffle": True}).table()

    assert rows["draws"].to_pylist() == [None] * 4
    assert None not in rows["content"].to_pylist()


@pytest.mark.parametrize("batch_size", [None, 2])
def test_samples_without_bytes_of_their_own_have_no_content(
    tmp_path: Path, batch_size: int | None
) -> None:
    source = [object(), object(), object()]

    rows = recorded(tmp_path / "run", source, {"batch_size": batch_size}).table()

    assert rows["record"].to_pylist() == [0, 1, 2]
    assert rows["content"].to_pylist() == [None] * 3


def test_a_sample_that_cannot_be_digested_does_not_stop_the_loop(tmp_path: Path) -> None:
    class Hostile:
        def __array__(self, *_: object, **__: object) -> np.ndarray:
            message = "no"
            raise KeyError(message)

    hostile = Hostile()

    with record(to_grain([hostile]), tmp_path / "run") as stream:
        assert list(stream) == [hostile]

    assert open_run(tmp_path / "run").complete


def test_an_empty_source_is_a_complete_run_without_rows(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", [], {"seed": 0, "shuffle": True, "num_epochs": None})

    assert run.rows == 0
    assert run.complete


def test_what_came_before_an_error_is_recorded(tmp_path: Path) -> None:
    dataset = to_grain(range(12), seed=0, transform=transforms.fail_on_seven, batch_size=2)

    with pytest.raises(SampleError), record(dataset, tmp_path / "run") as stream:
        list(stream)

    assert open_run(tmp_path / "run").streams["main"].table()["record"].to_pylist() == [*range(6)]


def test_a_transform_that_jumps_ahead_does_not_stop_the_recorded_loop(tmp_path: Path) -> None:
    def jump(record_: int, rng: np.random.Generator) -> int:
        rng.bit_generator.advance(2**61 - 5)  # type: ignore[attr-defined]
        return record_

    run = recorded(tmp_path / "run", range(3), {"seed": 0, "transform": jump, "batch_size": 2})

    assert run.rows == 3
    assert run.complete


def test_the_declaration_holds_the_arguments(tmp_path: Path) -> None:
    declared = recorded(
        tmp_path / "run",
        range(5),
        {"seed": np.int64(3), "shuffle": 1, "batch_size": 2, "num_epochs": 2},
    ).declared

    assert (declared.loader, declared.seed, declared.shuffle) == ("to_grain", 3, True)
    assert (declared.source_size, declared.batch_size, declared.num_epochs) == (5, 2, 2)
    assert (declared.workers, declared.stream_mode) == (0, "global")
    assert declared.replacement is False


def test_records_that_share_an_id_are_not_declared_to_come_once(tmp_path: Path) -> None:
    declared = recorded(tmp_path / "run", range(3), {"seed": 0}, ids=["a", "a", "b"]).declared

    assert not isinstance(declared.replacement, bool)


def test_a_long_recording_holds_every_row_in_order(tmp_path: Path) -> None:
    size = 30_000
    arguments: dict[str, Any] = {"seed": 8, "shuffle": True, "batch_size": 64, "num_epochs": None}
    with record(to_grain(np.arange(size), **arguments), tmp_path / "run") as stream:
        delivered = np.concatenate(list(itertools.islice(stream, 2000)))

    rows = open_run(tmp_path / "run").streams["main"].table()

    assert np.array_equal(rows["record"].to_numpy(), delivered)
    assert np.array_equal(rows["epoch"].to_numpy(), np.arange(128_000) // size)


def test_elements_of_a_recorded_stream_pass_on_through_grain_s_nodes(tmp_path: Path) -> None:
    with record(to_grain(range(4), batch_size=2), tmp_path / "run") as stream:
        assert_all_equal(stream.map(lambda batch: batch + 1), [np.array([1, 2]), np.array([3, 4])])

    assert open_run(tmp_path / "run").rows == 4


def test_the_header_lists_the_seeds_of_the_passes_in_order_of_first_use(tmp_path: Path) -> None:
    with record(
        to_grain(range(5), seed=2**32 - 1, shuffle=True, num_epochs=3), tmp_path / "run"
    ) as stream:
        list(stream)
        list(stream)

    header = open_run(tmp_path / "run").streams["main"].ranks[0].header

    assert header.seen.seeds == [2**32 - 1, 0, 1]
