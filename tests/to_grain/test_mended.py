"""What the published loader gets wrong and `to_grain` does not (S-2 to S-9)."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import threading
from collections import OrderedDict, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detloader import to_grain
from detloader.errors import BatchError, SampleError
from detloader.grain.source import Transform
from tests.support import transforms
from tests.support.trees import assert_all_equal, assert_equal

FAILURES: dict[str, tuple[dict[str, Any], str]] = {
    "a transform that raises": (
        {"source": range(12), "transform": transforms.fail_on_seven},
        r"the transform failed on record 7 \(position 7 of the stream\): KeyError: .*",
    ),
    "a transform that returns None": (
        {"source": range(12), "transform": transforms.none_for_seven},
        r"the transform returned None for record 7 \(position 7 of the stream\): .*",
    ),
    "a source that raises": (
        {"source": transforms.FailingSource()},
        r"the source failed on record 7 \(position 7 of the stream\): OSError: disk on fire",
    ),
    "a source that returns None": (
        {"source": transforms.GapSource(), "transform": transforms.draw_one},
        r"the source returned None for record 7 \(position 7 of the stream\): .*",
    ),
}


def failing(name: str, **arguments: Any) -> tuple[Any, str]:
    made, message = FAILURES[name]
    made = {"seed": 0, **made, **arguments}
    return iter(to_grain(made.pop("source"), **made)), message


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("batch_size", [None, 1])
def test_s_02_s_09_an_error_names_the_record_and_stays(name: str, batch_size: int | None) -> None:
    stream, message = failing(name, batch_size=batch_size)
    before = [next(stream) for _ in range(7)]

    for _ in range(3):
        with pytest.raises(SampleError, match=message) as caught:
            next(stream)
        assert re.fullmatch(message, str(caught.value))
        assert (caught.value.record, caught.value.position) == (7, 7)
        assert stream.get_state() == {"next_index": 7}
    assert len(before) == 7


@pytest.mark.parametrize("name", FAILURES)
def test_s_02_s_09_an_error_in_a_worker_names_the_record_and_stays(name: str) -> None:
    stream, message = failing(name, workers=2)
    before = [next(stream) for _ in range(7)]

    for _ in range(3):
        with pytest.raises(SampleError, match=message) as caught:
            next(stream)
        assert re.fullmatch(message, str(caught.value))
        assert (caught.value.record, caught.value.position) == (7, 7)
    assert len(before) == 7
    stream.close()


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("transform", [transforms.ragged_at_seven, transforms.other_keys_at_seven])
def test_s_09_a_batch_that_does_not_fit_names_its_records_and_stays(
    transform: Transform, workers: int
) -> None:
    stream = iter(to_grain(range(12), seed=0, transform=transform, batch_size=3, workers=workers))
    next(stream), next(stream)

    for _ in range(3):
        with pytest.raises(
            BatchError, match=r"^records \[6, 7, 8\] do not fit into one batch: "
        ) as caught:
            next(stream)
        assert "\n" not in str(caught.value)
    stream.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_s_09_after_an_error_the_stream_goes_on_from_a_state_that_is_set(workers: int) -> None:
    stream, _ = failing("a transform that raises", workers=workers)
    for _ in range(5):
        next(stream)
    state = stream.get_state()
    after = [next(stream), next(stream)]
    with pytest.raises(SampleError):
        next(stream)

    stream.set_state(state)

    assert [next(stream), next(stream)] == after == [5, 6]
    with pytest.raises(SampleError):
        next(stream)
    stream.close()


def test_s_09_raising_again_does_not_lengthen_the_traceback() -> None:
    stream, _ = failing("a transform that raises")
    for _ in range(7):
        next(stream)

    lengths = set()
    for _ in range(5):
        with pytest.raises(SampleError) as caught:
            next(stream)
        lengths.add(len(caught.traceback))

    assert len(lengths) <= 2


def test_errors_survive_pickling() -> None:
    error = SampleError("the transform failed on record 7", 7, 19)

    copied = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own

    assert (str(copied), copied.record, copied.position) == (str(error), 7, 19)


def test_a_transform_cannot_end_the_stream_by_stop_iteration() -> None:
    def stop(record: int, rng: np.random.Generator) -> int:
        raise StopIteration

    with pytest.raises(SampleError, match="StopIteration"):
        list(to_grain(range(3), seed=0, transform=stop))


RECORDS: dict[str, Any] = {
    "array": lambda: np.zeros(3),
    "dict": lambda: {"x": np.zeros(3), "log": [], "deep": {"y": [np.zeros(2)]}},
    "ordered dict": lambda: OrderedDict(x=np.zeros(3), y=[1]),
    "defaultdict": lambda: defaultdict(None, x=np.zeros(3)),
    "list": lambda: [np.zeros(3), [1]],
    "tuple": lambda: (np.zeros(3), [1]),
    "named tuple": lambda: transforms.Pair(np.zeros(3), 1),
    "array of objects": lambda: np.array([np.zeros(3), [1], None], object),
    "set and bytes": lambda: [{1}, bytearray(b"ab")],
}


def spoil(tree: Any) -> None:
    """Change everything in a sample that can be changed in place."""
    if isinstance(tree, np.ndarray) and not tree.dtype.hasobject:
        tree += 1
    elif isinstance(tree, dict):
        for child in tree.values():
            spoil(child)
        tree["another"] = 1
    elif isinstance(tree, set):
        tree.add(2)
    elif isinstance(tree, tuple | list | np.ndarray):
        for child in tree:
            spoil(child)
        if isinstance(tree, list):
            tree.append(1)
    elif isinstance(tree, bytearray):
        tree += b"c"


@pytest.mark.parametrize("kind", RECORDS)
def test_s_03_a_transform_that_changes_its_record_leaves_the_source_alone(kind: str) -> None:
    source = [RECORDS[kind]() for _ in range(3)]
    untouched = pickle.dumps(source)

    def in_place(record: Any, rng: np.random.Generator) -> Any:
        assert type(record) is type(source[0])
        spoil(record)
        return record

    passes = [pickle.dumps(list(to_grain(source, seed=0, transform=in_place))) for _ in range(3)]

    assert pickle.dumps(source) == untouched
    assert passes[0] == passes[1] == passes[2] != untouched


def test_s_03_in_place_transforms_give_the_same_in_every_pass_and_worker() -> None:
    source = [{"x": np.zeros(2), "log": [index]} for index in range(4)]
    arguments: dict[str, Any] = {
        "seed": 0,
        "transform": transforms.change_in_place,
        "num_epochs": 3,
        "batch_size": 2,
    }

    alone = list(to_grain(source, **arguments))

    assert {value for batch in alone for value in batch["seen"].tolist()} == {2}
    assert {value for batch in alone for value in batch["x"].ravel().tolist()} == {1.0}
    assert_all_equal(to_grain(source, workers=2, **arguments), alone)


def test_s_04_without_workers_nothing_is_read_ahead_and_one_thread_reads(tmp_path: Path) -> None:
    source = transforms.CountingSource(str(tmp_path / "log"), 100)
    threads = set()

    def note(record: int, rng: np.random.Generator) -> int:
        threads.add(threading.get_ident())
        return record

    stream = iter(to_grain(source, seed=0, transform=note, batch_size=4))
    next(stream)

    assert source.accesses() == [0, 1, 2, 3]
    assert threads == {threading.get_ident()}


def test_s_04_a_worker_is_ahead_by_its_queue_and_one_element(tmp_path: Path) -> None:
    source = transforms.CountingSource(str(tmp_path / "log"), 1000)
    stream = iter(to_grain(source, batch_size=4, workers=2, worker_buffer_size=2))
    delivered = [next(stream) for _ in range(6)]
    stream.close()

    # Two workers; of each a queue in its process and one in ours, and one in the hands of both.
    assert len(source.accesses()) <= 4 * (len(delivered) + 2 * (2 * 2 + 2))


def test_s_05_a_generator_that_was_kept_does_not_move() -> None:
    kept: list[np.random.Generator] = []

    def keep(record: int, rng: np.random.Generator) -> float:
        kept.append(rng)
        return rng.random()

    first = list(to_grain(range(5), seed=0, transform=keep))
    after = [rng.random() for rng in kept]

    assert len({id(rng) for rng in kept}) == 5
    assert first == list(to_grain(range(5), seed=0, transform=transforms.draw_one))
    assert after == list(to_grain(range(5), seed=0, transform=lambda _, rng: rng.random(2)[1]))


@pytest.mark.parametrize(
    "hold", [lambda rng: rng.random, lambda rng: rng.bit_generator, lambda rng: [rng]]
)
def test_s_05_so_does_not_a_part_of_it(hold: Any) -> None:
    kept = []

    def keep(record: int, rng: np.random.Generator) -> float:
        kept.append(hold(rng))
        return rng.random()

    assert list(to_grain(range(5), seed=0, transform=keep)) == list(
        to_grain(range(5), seed=0, transform=transforms.draw_one)
    )
    owners = [getattr(part, "__self__", part) for part in kept]
    owners = [owner[0] if isinstance(owner, list) else owner for owner in owners]
    assert len(set(map(id, owners))) == 5


@pytest.mark.parametrize(
    "spawn", [lambda rng: rng.spawn(1), lambda rng: rng.bit_generator.seed_seq.spawn(1)]
)
def test_s_05_children_of_a_generator_are_refused(spawn: Any) -> None:
    with pytest.raises(SampleError, match="record 0"):
        list(to_grain(range(3), seed=0, transform=lambda _, rng: spawn(rng)))


def test_s_05_a_copy_of_a_generator_draws_on_its_own() -> None:
    def through_copies(record: int, rng: np.random.Generator) -> float:
        copies = [copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))]  # noqa: S301 - our own
        assert len({copied.random() for copied in copies}) == 1
        return rng.random()

    assert list(to_grain(range(5), seed=0, transform=through_copies)) == list(
        to_grain(range(5), seed=0, transform=transforms.draw_one)
    )


def test_s_05_one_record_s_transform_cannot_disturb_the_next_one_s_draws() -> None:
    def disturb(record: int, rng: np.random.Generator) -> float:
        drawn = rng.random()
        rng.bit_generator.advance(2**200 + 2**70)  # type: ignore[attr-defined]
        rng.integers(0, 9, dtype=np.uint32)
        rng.bit_generator.state = np.random.Philox(99).state
        return drawn

    assert list(to_grain(range(5), seed=0, transform=disturb)) == list(
        to_grain(range(5), seed=0, transform=transforms.draw_one)
    )


def test_s_05_several_threads_may_iterate_one_stream() -> None:
    dataset = to_grain(range(200), seed=1, shuffle=True, transform=transforms.number_and_draw)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: list(dataset), range(16)))

    for elements in found:
        assert_all_equal(elements, found[0])


def test_s_06_draws_follow_the_position_and_not_the_record() -> None:
    plain = list(to_grain(range(9), seed=4, transform=transforms.number_and_draw))
    mixed = list(to_grain(range(9), seed=4, transform=transforms.number_and_draw, shuffle=True))

    assert [e["value"] for e in plain] == [e["value"] for e in mixed]
    assert [e["id"] for e in plain] != [e["id"] for e in mixed]


@pytest.mark.parametrize("batch_size", [None, 1])
@pytest.mark.parametrize("workers", [0, 1])
def test_s_07_elements_share_no_memory_with_the_source(
    batch_size: int | None, workers: int
) -> None:
    table = np.zeros((4, 3))

    for element in to_grain(table, batch_size=batch_size, workers=workers):
        assert not np.shares_memory(element, table)
        element.fill(1)

    assert not table.any()


def test_elements_from_workers_are_plain_arrays_that_hold_no_file_open() -> None:
    records = [np.full(1 << 18, index, np.float32) for index in range(3)]

    elements = list(to_grain(records, workers=1))

    assert {type(element) for element in elements} == {np.ndarray}
    assert_all_equal(elements, records)


def test_a_closed_iterator_says_so() -> None:
    stream = iter(to_grain(range(3)))
    next(stream)
    stream.close()
    stream.close()

    with pytest.raises(ValueError, match="closed"):
        next(stream)


def test_a_thousand_iterations_do_not_grow_the_stack() -> None:
    dataset = to_grain(range(3), batch_size=2)
    for _ in range(1000):
        assert len(list(dataset)) == 2

    def depth(record: int, rng: np.random.Generator) -> int:
        frame, count = sys._getframe(), 0
        while frame.f_back is not None:
            frame, count = frame.f_back, count + 1
        return count

    measured = to_grain(range(1), seed=0, transform=depth)
    first = next(iter(measured))
    for _ in range(100):
        last = next(iter(measured))
    assert last == first


def test_grain_s_own_nodes_can_follow() -> None:
    doubled = to_grain(range(4), batch_size=2).map(lambda batch: batch * 2)

    assert_equal(list(doubled), [np.array([0, 2]), np.array([4, 6])])


def test_making_a_stream_prints_nothing() -> None:
    program = "from detloader import to_grain; list(to_grain([1, 2]))"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert (done.stdout, done.stderr) == ("", "")
