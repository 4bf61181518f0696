"""What is refused before anything is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from detloader.audits.frozen import freeze, save
from tests.support.freezing import Experiment, source
from tests.support.runs import write_run

STEADY = source("return Rows(range(n))")
UNUSED = source("raise AssertionError('this was run')")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--with", "numpy=2"], "--with numpy=2 names no version"),
        (["--with", "numpy=="], "names no version"),
        (["--with", "numpy==1", "--with", "numpy==2"], "names numpy twice"),
        (["-o", "child.json"], "-o names the file that --accept writes"),
        (["--run", "missing"], "missing does not exist"),
        (["--run", "other"], "other is not the run that frozen.json was frozen from"),
        (["--select", "no-such-rule"], "there is no rule 'no-such-rule'"),
    ],
)
def test_words_that_make_no_sense_are_refused_before_anything_is_run(
    experiment: Experiment, arguments: list[str], told: str
) -> None:
    write_run(Path("other"), {"record": [1, 2]})
    experiment.freeze(STEADY)
    experiment.edit(UNUSED)
    answer = experiment.preflight(*arguments)

    assert answer.status == 2
    assert told in answer.errors
    assert answer.errors.count("\n") == 1
    assert answer.result == {}


def test_a_run_without_a_recipe_is_told_what_to_do(experiment: Experiment) -> None:
    save(freeze(write_run(Path("run"), {"record": [1, 2]})), experiment.file)
    answer = experiment.preflight()

    assert answer.status == 2
    assert "record it with `detloader record MODULE:FACTORY`" in answer.errors


def test_a_run_that_was_recorded_in_part_is_told_to_be_frozen_whole(
    experiment: Experiment,
) -> None:
    experiment.freeze(STEADY, every=2)
    experiment.edit(UNUSED)
    answer = experiment.preflight()

    assert answer.status == 2
    assert "freeze a run of all rows" in answer.errors


def test_a_run_that_kept_no_rows_is_no_help(experiment: Experiment) -> None:
    experiment.freeze(STEADY, level="digest")
    experiment.edit(UNUSED)
    answer = experiment.preflight("--run", "run")

    assert answer.status == 2
    assert "run kept no rows (level digest): leave --run out" in answer.errors


def test_a_file_that_was_edited_by_hand_is_not_run(experiment: Experiment) -> None:
    experiment.freeze(STEADY)
    experiment.edit(UNUSED)
    experiment.file.write_text(experiment.file.read_text().replace("train:make", "train:fake"))
    answer = experiment.preflight()

    assert answer.status == 2
    assert "was edited by hand" in answer.errors


def test_a_factory_that_is_gone_is_told(experiment: Experiment) -> None:
    experiment.freeze(STEADY)
    experiment.edit("")
    answer = experiment.preflight()

    assert answer.status == 2
    assert "train has no make" in answer.result["reason"]
