"""Commands that findings name: they are whole, quoted, and exist."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from detloader.audits.confirm import record_again, show
from detloader.cli import commands
from detloader.manifest.reader import Stream, open_run
from detloader.manifest.schema import Declared, Environment, Level, Recipe
from detloader.manifest.writer import RankWriter
from tests.support.runs import write_run

if TYPE_CHECKING:
    from pathlib import Path


def stream_with(folder: Path, arguments: dict[str, Any]) -> Stream:
    recipe = Recipe(factory="package.module:make", arguments=arguments)
    RankWriter(
        folder / "run",
        level=Level.FULL,
        declared=Declared(),
        environment=Environment(),
        recipe=recipe,
    ).close()
    return open_run(folder / "run").streams["main"]


def test_a_recipe_is_recorded_again_with_one_argument_changed(tmp_path: Path) -> None:
    stream = stream_with(tmp_path, {"seed": 3, "workers": 4, "name": "a b"})
    command = record_again("runs/a", stream, workers=1)

    assert command is not None
    words = shlex.split(command)
    assert words[:3] == ["detloader", "record", "package.module:make"]
    assert {*words[4:-2:2]} == {"seed=3", "workers=1", 'name="a b"'}
    assert words[-2:] == ["-o", "runs/a-workers-1"]


def test_the_factorys_own_name_for_workers_is_used(tmp_path: Path) -> None:
    command = record_again("runs/a", stream_with(tmp_path, {"num_workers": 4}), workers=1)

    assert command is not None
    assert "num_workers=1" in command


def test_a_run_without_a_recipe_cannot_be_recorded_again(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "run", {"record": [0, 1]}))

    assert record_again("run", run.streams["main"], workers=1) is None


def test_rows_are_shown_though_paths_and_ids_have_spaces(tmp_path: Path) -> None:
    run = write_run(tmp_path / "my run", {"epoch": [0, 1], "record": ["a b", "c"]})
    words = shlex.split(show(str(run), epoch=0, record="a b"))
    shown = CliRunner().invoke(commands(), words[1:])

    assert (words[0], shown.exit_code) == ("detloader", 0)
    assert "a b" in shown.output
