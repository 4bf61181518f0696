"""Commands that findings name: they are whole, quoted, and exist."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from detloader.audits.confirm import replay_again, show
from detloader.audits.measures.conditions import TOPOLOGY
from detloader.audits.replay.axis import all_axes
from detloader.cli import commands
from detloader.manifest.reader import Stream, open_run
from detloader.manifest.schema import Declared, Environment, Level, Recipe
from detloader.manifest.writer import RankWriter
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path


def stream_with(folder: Path, **declared: Any) -> Stream:
    RankWriter(
        folder / "run",
        level=Level.FULL,
        declared=Declared(**declared),
        environment=Environment(),
        recipe=Recipe(factory="package.module:make"),
    ).close()
    return open_run(folder / "run").streams["main"]


def test_a_cause_is_confirmed_by_a_replay_with_its_value_and_the_one_before(tmp_path: Path) -> None:
    command = replay_again("my runs/a", stream_with(tmp_path, workers=4), workers=1)

    assert command == "detloader replay 'my runs/a' --vary workers=1,4"


def test_where_the_value_before_is_unknown_one_value_will_do(tmp_path: Path) -> None:
    stream = stream_with(tmp_path)

    assert replay_again("a", stream, workers=1) == "detloader replay a --vary workers=1"
    assert replay_again("a", stream, hash_seed=None) == "detloader replay a --vary hash_seed"
    assert replay_again("a", stream) == "detloader replay a"


def test_what_findings_vary_is_an_axis_of_that_name(tmp_path: Path) -> None:
    names = {axis.name for axis in all_axes()}

    assert {*TOPOLOGY, "hash_seed"} <= names


def test_a_run_without_a_recipe_cannot_be_replayed(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "run", {"record": [0, 1]}))

    assert replay_again("run", run.streams["main"], workers=1) is None


def test_rows_are_shown_though_paths_and_ids_have_spaces(tmp_path: Path) -> None:
    run = write_run(tmp_path / "my run", {"epoch": [0, 1], "record": ["a b", "c"]})
    words = shlex.split(show(str(run), epoch=0, record="a b"))
    shown = CliRunner().invoke(commands(), words[1:])

    assert (words[0], shown.exit_code) == ("detloader", 0)
    assert "a b" in shown.output
