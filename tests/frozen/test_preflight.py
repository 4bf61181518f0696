"""What is said of a frozen experiment: keep, pin, migrate, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.freezing import Experiment, source

STEADY = source("return Rows(range(n))")
BACKWARDS = source("return Rows(range(n)[::-1])")
NOISY = source("return Rows(random.Random(os.urandom(8)).sample(range(n), n))")
READING = source('return Rows(map(int, Path("ids.txt").read_text().split()))')
PARTS = source("return Rows([6, 0, 1, 2, 3, 7, 4, 5])")
WHOLE = source("return Rows(range(10))")


def test_what_comes_out_as_it_was_is_kept(experiment: Experiment) -> None:
    experiment.freeze(STEADY)
    answer = experiment.preflight()

    assert answer.status == 0
    assert answer.result["decision"] == "keep"
    assert answer.result["verdict"] == "identical"
    assert [run["path"] for run in answer.result["runs"]] == ["frozen.json", "candidate"]


def test_an_edit_of_the_factory_that_changes_nothing_is_told_and_kept(
    experiment: Experiment,
) -> None:
    experiment.freeze(STEADY)
    experiment.edit(STEADY + "# edited\n")
    answer = experiment.preflight()

    assert answer.status == 0
    assert answer.result["decision"] == "keep"
    assert "The source file of train:make is not the one that was frozen." in answer.text


def test_another_order_that_mends_nothing_is_pinned(experiment: Experiment) -> None:
    experiment.freeze(STEADY)
    experiment.edit(BACKWARDS)
    answer = experiment.preflight("--run", "run")

    assert answer.status == 1
    assert answer.result["decision"] == "pin"
    assert answer.result["verdict"] == "reordered"
    assert "b = reverse(a)" in answer.text


def test_a_fault_that_is_mended_is_a_reason_to_migrate_and_is_named(
    experiment: Experiment,
) -> None:
    experiment.freeze(PARTS, source_size=10, workers=4, shuffle=False)
    experiment.edit(WHOLE)
    answer = experiment.preflight("--run", "run")

    assert answer.status == 1
    assert answer.result["decision"] == "migrate"
    assert answer.evidence("implicit-partitioning")["decision"] == "migrate"
    assert answer.evidence("implicit-partitioning")["dropped"] == [8, 9]
    assert answer.evidence("experiment") == {"added": [8, 9], "added_count": 2}


def test_a_fault_that_is_brought_in_is_a_reason_to_pin(experiment: Experiment) -> None:
    experiment.freeze(WHOLE, source_size=10, workers=4, shuffle=False)
    experiment.edit(PARTS)
    answer = experiment.preflight("--run", "run")

    assert answer.status == 1
    assert answer.result["decision"] == "pin"
    assert answer.evidence("implicit-partitioning")["decision"] == "pin"
    assert answer.evidence("experiment")["lost"] == [8, 9]


def test_without_the_frozen_rows_the_first_differing_block_is_given_and_no_rule_is_asked(
    experiment: Experiment,
) -> None:
    experiment.freeze(STEADY)
    experiment.edit(BACKWARDS)
    answer = experiment.preflight()

    assert answer.status == 1
    assert answer.result["decision"] == "pin"
    evidence = answer.evidence("frozen-digests")
    assert (evidence["column"], evidence["first_row"], evidence["last_row"]) == ("record", 0, 19)
    unasked = {each["rule"] for each in answer.result["not_checked"]}
    assert {"implicit-partitioning", "content-drift", "race"} <= unasked


def test_of_a_frozen_run_that_does_not_repeat_itself_nothing_follows(
    experiment: Experiment,
) -> None:
    experiment.freeze(NOISY)
    answer = experiment.preflight("--run", "run")

    assert answer.status == 2
    assert answer.result["decision"] is None
    assert answer.result["reason"] == "the run does not repeat itself"
    assert {each["run"] for each in answer.result["findings"]} == {"a", "b"}


def test_where_the_data_have_changed_nothing_follows(experiment: Experiment) -> None:
    Path("ids.txt").write_text("1 2 3")
    experiment.freeze(READING)
    Path("ids.txt").write_text("3 2 1")
    answer = experiment.preflight("--run", "run")

    assert answer.status == 2
    assert answer.result["decision"] is None
    assert "what it reads has changed" in answer.result["reason"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise ValueError(n)", "ValueError: 20"),
        ("os._exit(3)", "ended with status 3"),
        ("return None", "gave None: let it return the loader"),
    ],
)
def test_a_factory_that_gives_no_loader_is_told(
    experiment: Experiment, body: str, told: str
) -> None:
    experiment.freeze(STEADY)
    experiment.edit(source(body))
    answer = experiment.preflight()

    assert answer.status == 2
    assert answer.result["decision"] is None
    assert told in answer.result["reason"]


def test_a_factory_that_hangs_is_given_up(experiment: Experiment) -> None:
    experiment.freeze(STEADY)
    experiment.edit(source("time.sleep(600)"))
    answer = experiment.preflight("--timeout", 0.5)

    assert answer.status == 2
    assert "did not end within 0.5 seconds" in answer.result["reason"]
