"""A replay as a whole: the control, causes of one axis and of two, the smallest case."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from detloader.audits.replay import replay
from detloader.audits.replay.axis import all_axes, find_axis
from detloader.audits.replay.job import Job, Learnt
from detloader.audits.replay.launch import launch
from detloader.audits.replay.vary import variations
from detloader.errors import UsageError
from detloader.findings import AxisOutcome, Severity, Verdict
from detloader.manifest.reader import open_run
from tests.support.runs import write_run

Recorded = Callable[..., Path]


def names(result: Any) -> list[str]:
    return [finding.rule for finding in result.findings]


def test_two_axes_that_break_a_run_only_together_are_found_among_others(
    recorded: Recorded,
) -> None:
    run = recorded("pair")
    words = ["workers=2", "prefetch=4", "hash_seed=1", "timezone=GMT-14"]
    with ThreadPoolExecutor(2) as executor:
        result = replay(run, vary=words, executor=executor)

    assert names(result)[0] == "hash_seed+workers"
    assert result.verdict is Verdict.REORDERED
    assert [one.settings for one in result.axes if one.outcome is AxisOutcome.BROKEN] == [
        {"hash_seed": 1, "workers": 2}
    ]
    assert result.findings[0].evidence["smallest_case"] == "hash_seed=1, workers=1, 1 element"
    assert result.findings[0].confirm == (
        f"detloader replay {run} --vary hash_seed=1 --vary workers=1 --batches 1"
    )


def test_the_mended_twin_of_two_axes_passes(recorded: Recorded) -> None:
    result = replay(recorded("pair", mended=True), vary=["workers=2", "hash_seed=1"])

    assert result.verdict is Verdict.IDENTICAL
    assert {one.outcome for one in result.axes} == {AxisOutcome.HOLDS}


def test_a_case_is_shrunk_to_the_fewest_workers_records_and_elements(recorded: Recorded) -> None:
    """From three workers on, record 5 and those after it come in another order."""
    result = replay(recorded("shrinkable", size=10), vary=["workers=4"])
    (finding,) = result.findings

    assert finding.evidence["smallest_case"] == "workers=3, size=7, 6 elements"
    assert finding.confirm is not None
    assert finding.confirm.endswith("--vary workers=3 -p size=7 --batches 6")


def test_a_run_that_does_not_repeat_itself_is_not_judged(recorded: Recorded) -> None:
    result = replay(recorded("noisy"), vary=["workers=2"])

    assert (result.verdict, result.axes) == (Verdict.INCONCLUSIVE, [])
    assert result.reason == "the run does not repeat itself"


def test_noise_that_shows_only_under_other_conditions_is_told_from_their_effect(
    recorded: Recorded,
) -> None:
    """The unvaried run is the same twice and differs the third time."""
    result = replay(recorded("noisy_the_third_time"), vary=["prefetch=4"])

    assert (result.verdict, result.reason) == (
        Verdict.INCONCLUSIVE,
        "the run does not repeat itself",
    )


@pytest.mark.parametrize("otherwise", [[2, 3], [2, 6, 7]])
def test_what_a_run_does_now_and_then_is_blamed_on_no_condition(
    otherwise: list[int], recorded: Recorded
) -> None:
    """Recorded is call 0, unvaried 1 and 3 to 5, and under the condition 2 and 6 to 8."""
    result = replay(recorded("now_and_then", otherwise=otherwise), vary=["prefetch=4"])

    assert (result.verdict, result.findings) == (Verdict.INCONCLUSIVE, [])
    assert result.reason is not None
    assert result.reason.startswith("the run does not repeat itself")


def test_other_rows_each_time_under_one_condition_alone_are_its_doing(recorded: Recorded) -> None:
    result = replay(recorded("racing"), vary=["workers=2"])

    assert names(result) == ["workers"]
    assert "smallest_case" not in result.findings[0].evidence
    assert result.findings[0].cause.endswith("Run again, it gives other rows each time.")


def test_a_recipe_that_gives_something_else_now_is_said(recorded: Recorded, folder: Path) -> None:
    run = recorded("file_order")
    (folder / "files" / "another").touch()
    result = replay(run, vary=["timezone=GMT-14"])

    assert (names(result), result.verdict) == (["recipe"], Verdict.CHANGED)
    assert "but not the recorded run" in result.findings[0].message
    assert result.axes[0].outcome is AxisOutcome.HOLDS


def test_a_random_hash_seed_is_named_and_the_recipe_is_not_blamed(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    result = replay(recorded("hash_seed"), vary=["hash_seed=1,2"], budget=4)

    assert names(result) == ["hash_seed", "recipe"]
    assert result.findings[1].severity is Severity.NOTE


def test_what_was_not_run_for_want_of_budget_is_listed_and_not_passed(recorded: Recorded) -> None:
    result = replay(recorded("workers", mended=True), vary=["workers=1,2"], budget=2)

    assert [one.outcome for one in result.axes] == [AxisOutcome.HOLDS, AxisOutcome.NOT_RUN]
    assert result.verdict is Verdict.INCONCLUSIVE


def test_runs_are_kept_where_that_is_asked_for(recorded: Recorded, folder: Path) -> None:
    result = replay(recorded("workers"), vary=["workers=2"], keep=folder / "kept", budget=2)
    kept = result.axes[0].run

    assert kept is not None
    assert open_run(kept).rows == 12
    with pytest.raises(UsageError, match="is not empty"):
        replay(recorded("workers"), keep=folder / "kept")


def test_a_run_without_a_recipe_is_refused_with_the_mend(folder: Path) -> None:
    run = write_run(folder / "imported", {"record": [1, 2]})

    with pytest.raises(UsageError, match="record it with `detloader record MODULE:FACTORY`"):
        replay(run)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("wokers=1", "there is no axis 'wokers': the axes are batch_size"),
        ("workers=", "makes no sense"),
        ("-cwd=1", "makes no sense"),
        ("", "there is no axis ''"),
        ("+", "there is no axis ''"),
    ],
)
def test_words_that_make_no_sense_are_refused_before_anything_runs(
    word: str, message: str, recorded: Recorded
) -> None:
    with pytest.raises(UsageError, match=message):
        replay(recorded("workers"), vary=[word])


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("threads", r"offers no threads; it takes num_workers, mended; leave it out"),
        ("resume_at", "offers no resume_at; .*name values"),
        ("cpu_count=0", "give a positive integer"),
        ("hash_seed=-1", "give an integer from 0"),
        ("start_method=thread", "name "),
        ("cwd=nowhere", "is no folder"),
        ("resume_at=0", "1 or more"),
        ("world_size=0", "give a positive integer"),
        ("timezone=Mars/X", "timezone=Mars/X is none here: name one such as"),
        ("locale=xx_YY", "locale=xx_YY is none here: name one that"),
    ],
)
def test_an_axis_refuses_what_it_cannot_do(word: str, message: str) -> None:
    learnt = Learnt(parameters={"num_workers": 0, "mended": False})
    with pytest.raises(UsageError, match=message):
        variations(Job(factory="m:f", folder=".", learnt=learnt), [word])


@pytest.mark.parametrize("word", ["resume_at", "resume_at=1"])
def test_a_loader_without_a_state_is_told_so_whether_or_not_a_stop_is_named(word: str) -> None:
    learnt = Learnt(elements=12)
    with pytest.raises(UsageError, match="the loader of m:f has no state to save: leave resume_at"):
        variations(Job(factory="m:f", folder=".", learnt=learnt), [word])


def test_a_stop_beyond_the_end_is_refused_and_one_at_the_end_is_not() -> None:
    job = Job(factory="m:f", folder=".", learnt=Learnt(elements=12, stateful=True))

    assert [str(each) for each in variations(job, ["resume_at=1,12"])] == [
        "resume_at=1",
        "resume_at=12",
    ]
    with pytest.raises(UsageError, match="m:f ends after 12 elements: stop before that"):
        variations(job, ["resume_at=1,13"])


def test_a_stop_beyond_the_end_that_nobody_knew_of_is_reported_as_that(folder: Path) -> None:
    job = Job(factory="tests.support.axes_factories:resume_at", folder=".", resume_at=13)
    replayed = launch(job, folder / "short", 60)

    assert replayed.died is not None
    assert replayed.died.endswith("ends after 12 elements: stop before that")


@pytest.mark.parametrize("zone", ["GMT+12", "CET-1CEST,M3.5.0,M10.5.0/3", "<+03>-3", "UTC0"])
def test_time_zones_as_posix_writes_them_are_taken(zone: str) -> None:
    varied = find_axis("timezone").vary(Job(factory="m:f", folder="."), zone)

    assert varied.variables == {"TZ": zone}


def test_a_run_without_a_row_has_nothing_to_judge(recorded: Recorded) -> None:
    result = replay(recorded("nothing"), vary=["cwd"])

    assert (result.verdict, result.reason) == (
        Verdict.INCONCLUSIVE,
        "the unvaried replay has no row: the loader that the factory builds gives nothing",
    )


def test_axes_are_named_added_and_left_out_as_the_words_say() -> None:
    job = Job(factory="m:f", folder=".", learnt=Learnt(parameters={"num_workers": 0, "seed": 3}))

    def axes(*words: str) -> set[str]:
        return {variation.axis.name for variation in variations(job, words)}

    default = axes()
    assert {"workers", "hash_seed", "cwd"} <= default
    assert not {"seed", "threads"} & default
    assert axes("workers=1") == axes("num_workers=1") == {"workers"}
    assert axes("workers=1", "+hash_seed") == {"workers", "hash_seed"}
    assert axes("+seed") == default | {"seed"}
    assert len(variations(job, ["workers=1", "num_workers=2,1"])) == 2
    assert axes("-cwd") == default - {"cwd"}
    assert [str(v) for v in variations(job, ["workers=0,1,1", "locale=C,POSIX"])] == [
        "locale=C",
        "locale=POSIX",
        "workers=1",
    ]


def test_axes_come_in_causal_order() -> None:
    stages = [axis.stage for axis in all_axes()]

    assert stages == sorted(stages)
