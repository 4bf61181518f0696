"""One record made again alone: the same draws, the same bytes, and what hinders that is found."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from detloader.adapters.detloader import remake
from detloader.audits.replay.spot_check import sampled, spot_check
from detloader.cli import commands
from detloader.generators.listening import Draw, ListeningGenerator
from detloader.manifest.reader import open_run
from detloader.recording import record
from tests.support import replay_streams

Recorded = Callable[..., Path]
MODULE = "tests.support.replay_streams"

SIZES = st.integers(1, 40)
BATCHES = st.none() | st.integers(1, 7)


@given(SIZES, BATCHES, st.data())
def test_a_record_made_alone_has_the_digests_of_the_stream(
    size: int, batch_size: int | None, data: st.DataObject
) -> None:
    stream = replay_streams.stream(size, batch_size)
    rows = remake(stream, 0, 2 * size).to_pylist()
    position = data.draw(st.integers(0, 2 * size - 1))
    made = stream.alone(position)

    assert made.index == rows[position]["record"]
    assert made.draws_digest == rows[position]["draws"]
    assert made.content == rows[position]["content"]
    assert not made.changed_in_place


@given(SIZES, BATCHES, st.data())
def test_rows_made_again_from_any_place_are_those_of_the_whole(
    size: int, batch_size: int | None, data: st.DataObject
) -> None:
    stream = replay_streams.stream(size, batch_size)
    start = data.draw(st.integers(0, 2 * size - 1))
    stop = data.draw(st.integers(start + 1, 2 * size))

    assert remake(stream, start, stop).equals(
        remake(stream, 0, 2 * size).slice(start, stop - start)
    )


def test_every_draw_is_listed_with_its_method_its_arguments_and_its_value() -> None:
    stream = replay_streams.stream(50, None)
    position = next(p for p in range(50) if stream.alone(p).index % 3)
    made = stream.alone(position)
    shuffle, normal, integers = made.draws

    assert [draw.method for draw in made.draws] == ["shuffle", "normal", "integers"]
    assert shuffle.value is None
    assert normal.arguments == "0.0, 1.0, size=4"
    assert normal.value.shape == (4,)
    assert integers.arguments == "0, 9"
    assert 0 <= integers.value < 9


def test_the_listening_generator_is_a_generator_and_draws_as_any_other() -> None:
    heard: list[Draw] = []
    plain = np.random.Generator(np.random.Philox(5))
    listening = ListeningGenerator(np.random.Philox(5), heard)

    assert isinstance(listening, np.random.Generator)
    for method, arguments in (
        ("random", (3,)),
        ("choice", (10, 4)),
        ("permutation", (7,)),
        ("multivariate_normal", ([0, 0], [[1, 0], [0, 1]])),
        ("dirichlet", ([1.0, 2.0],)),
        ("permuted", ([1, 2, 3],)),
    ):
        one, other = getattr(plain, method)(*arguments), getattr(listening, method)(*arguments)
        assert np.array_equal(one, other)
    assert [draw.method for draw in heard] == [
        "random",
        "choice",
        "permutation",
        "multivariate_normal",
        "dirichlet",
        "permuted",
    ]


@given(st.integers(1, 5000), st.floats(0.001, 1))
def test_a_share_is_sampled_by_place_and_is_never_empty(rows: int, share: float) -> None:
    chosen = sampled(rows, share)

    assert chosen == sampled(rows, share) == sorted({*chosen})
    assert 1 <= len(chosen) <= rows
    assert {*chosen} >= {*sampled(rows, share / 2)} or len(sampled(rows, share / 2)) == 1


def test_the_share_of_many_rows_is_about_what_was_asked_for() -> None:
    assert sampled(0, 0.5) == []
    assert len(sampled(100, 1.0)) == 100
    assert 900 < len(sampled(100_000, 0.01)) < 1100


@pytest.mark.parametrize(
    ("factory", "cause"),
    [
        ("draws_globally", "it draws from the global generator of random"),
        ("hides_a_count", "it comes out otherwise each time"),
        ("in_place", "changes the source's own record in place"),
    ],
)
def test_what_cannot_be_made_again_is_found_and_told_apart(
    factory: str, cause: str, recorded: Recorded, folder: Path
) -> None:
    done = CliRunner().invoke(
        commands(), ["record", f"{MODULE}:{factory}", "-o", "run", "--verify", "0.1"]
    )

    assert done.exit_code == 1
    assert cause in " ".join(done.output.split())


def test_a_sound_stream_is_verified_and_a_list_is_refused_before_it_is_recorded(
    folder: Path,
) -> None:
    runner = CliRunner()
    sound = runner.invoke(
        commands(), ["record", f"{MODULE}:stream", "-o", "run", "--verify", "0.2"]
    )
    other = runner.invoke(
        commands(),
        ["record", "tests.support.axes_factories:workers", "-o", "list", "--verify", "1"],
    )

    assert sound.exit_code == 0
    assert "made again alone: as recorded" in sound.output
    assert "only streams of to_grain and the HDF5 Dataloader" in str(other.exception)
    assert not (folder / "list").exists()


def test_what_a_batch_makes_of_mixed_types_is_no_difference(folder: Path) -> None:
    runner = CliRunner()
    made = runner.invoke(
        commands(), ["record", f"{MODULE}:mixed_types", "-o", "run", "--verify", "1"]
    )
    shown = runner.invoke(commands(), ["show", "run", "--record", "3", "--replay"])

    assert "20 records made again alone: as recorded" in made.output
    assert shown.output.count(", as recorded") == 2


def test_verifying_moves_nothing_that_the_program_shares(folder: Path) -> None:
    stream = replay_streams.stream()
    with record(stream, folder / "run") as twin:
        for _ in twin:
            pass
    before = random.getstate(), str(np.random.get_state())  # noqa: NPY002 - the shared one
    count, otherwise = spot_check(stream, open_run(folder / "run"), 1.0)

    assert (count, otherwise) == (100, [])
    assert (random.getstate(), str(np.random.get_state())) == before  # noqa: NPY002 - as above


def test_show_replays_a_record_draw_by_draw(recorded: Recorded, folder: Path) -> None:
    runner = CliRunner()
    runner.invoke(commands(), ["record", f"{MODULE}:stream", "-o", "run"])
    shown = runner.invoke(commands(), ["show", "run", "--record", "7", "--replay"])
    without = runner.invoke(commands(), ["show", "run", "--replay"])

    assert shown.exit_code == 0
    assert "normal(0.0, 1.0, size=4)" in shown.output
    assert "changed in place" in shown.output
    # In each of the two epochs, draws and content.
    assert shown.output.count(", as recorded") == 4
    assert "add --record ID" in str(without.exception)


def test_what_cannot_be_replayed_alone_is_refused(recorded: Recorded, folder: Path) -> None:
    run = recorded("workers")
    first = str(open_run(run).streams["main"].table(["record"])["record"][0])
    done = CliRunner().invoke(commands(), ["show", str(run), "--record", first, "--replay"])

    assert "makes no record alone" in str(done.exception)
