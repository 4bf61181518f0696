"""Of a long run a part is recorded: the header says which, and what came is counted."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader import open_run, record, to_grain
from detloader.errors import UsageError
from detloader.manifest.sampling import Sampler
from detloader.manifest.schema import Level, Sampling
from detloader.manifest.verify import verify_run

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=60)


def table(rows: list[tuple[int, int]]) -> pa.Table:
    epochs, batches = zip(*rows, strict=True) if rows else ((), ())
    return pa.table(
        {
            "record": pa.array(range(len(rows)), pa.int64()),
            "epoch": pa.array(epochs, pa.int64()),
            "batch": pa.array(batches, pa.int64()),
            "content": pa.array(range(len(rows)), pa.uint64()),
        }
    )


def recorded(run: Path, loader: Iterable[Any], **options: Any) -> Any:
    with record(loader, run, **options) as rows:
        for _ in rows:
            pass
    return verify_run(run).streams["main"]


def stream(epochs: int = 4) -> Any:
    return to_grain([*range(100)], seed=3, shuffle=True, batch_size=10, num_epochs=epochs)


@given(ROWS, st.sets(st.integers(0, 3), min_size=1), st.integers(2, 5))
def test_rows_are_kept_by_epoch_and_batch(
    rows: list[tuple[int, int]], epochs: set[int], every: int
) -> None:
    sampler = Sampler(Sampling(epochs=sorted(epochs), every=every))
    kept = sampler.pick(table(rows))

    wanted = [
        number
        for number, (epoch, batch) in enumerate(rows)
        if epoch in epochs and batch % every == 0
    ]
    assert kept["record"].to_pylist() == wanted
    assert sampler.skipped == len(rows) - len(wanted)


@given(ROWS, st.integers(2, 5), st.integers(1, 20))
def test_it_does_not_matter_when_rows_come(
    rows: list[tuple[int, int]], every: int, size: int
) -> None:
    whole = table(rows).drop_columns(["batch"])
    at_once, in_pieces = Sampler(Sampling(every=every)), Sampler(Sampling(every=every))
    pieces = [whole.slice(start, size) for start in range(0, len(whole) or 1, size)]

    assert pa.concat_tables(map(in_pieces.pick, pieces)) == at_once.pick(whole)
    assert in_pieces.skipped == at_once.skipped


@given(ROWS.filter(bool))
def test_a_lower_level_after_the_first_epoch_keeps_all_rows(rows: list[tuple[int, int]]) -> None:
    whole = table(rows)
    kept = Sampler(Sampling(then="order")).pick(whole)

    first = rows[0][0]
    assert kept.drop_columns(["content"]) == whole.drop_columns(["content"])
    assert [value is None for value in kept["content"].to_pylist()] == [
        epoch != first for epoch, _ in rows
    ]


def test_the_header_says_what_was_kept_and_how_much_was_not(tmp_path: Path) -> None:
    kept = recorded(tmp_path / "run", stream(), epochs=range(0, 4, 2), every=5, then="order")

    (header,) = [rank.header for rank in kept.ranks]
    assert header.sampling == Sampling(epochs=[0, 2], every=5, then="order")
    assert (header.seen.rows, header.seen.skipped, header.seen.epochs) == (40, 360, 2)
    assert kept.complete


def test_what_is_recorded_whole_says_nothing_of_it(tmp_path: Path) -> None:
    recorded(tmp_path / "run", stream(), every=1)

    header = next((tmp_path / "run").rglob("manifest.json")).read_text()
    assert "sampling" not in header
    assert "skipped" not in header


def test_the_loop_gets_every_element(tmp_path: Path) -> None:
    plain = [element.tolist() for element in stream()]
    with record(stream(), tmp_path / "run", epochs=[2], every=3) as rows:
        assert [element.tolist() for element in rows] == plain


def test_records_without_batches_are_counted_in_their_epoch(tmp_path: Path) -> None:
    with record([*"abcdefg"], tmp_path / "run", ids=str, every=3) as letters:
        for _ in range(2):
            for _ in letters:
                pass

    rows = open_run(tmp_path / "run").streams["main"].table(["record"])
    assert rows["record"].to_pylist() == [*"adg"] * 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"every": 0}, "records nothing"),
        ({"every": 2.5}, "no whole number"),
        ({"epochs": []}, "count from 0"),
        ({"epochs": [-1]}, "count from 0"),
        ({"epochs": "0-3"}, "several numbers"),
        ({"epochs": 3}, "several numbers"),
        ({"then": "digest"}, "order alone"),
        ({"then": "order", "level": Level.ORDER}, "order alone"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        record([1, 2], tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()
