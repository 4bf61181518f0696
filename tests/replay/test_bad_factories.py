"""Replays that die: each is reported as that, and the others go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from detloader.audits.replay import replay
from detloader.audits.replay.process import Process
from detloader.findings import AxisOutcome, Verdict
from tests.support.axes_factories import HANGS

Recorded = Callable[..., Path]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("raises", "OSError: no disk"),
        ("exits", "SystemExit: 3"),
        ("vanishes", "ended with status 7 before its loader did; it printed: the last word"),
        ("killed", "ended by SIGKILL"),
        ("none", "gave None"),
        ("number", "cannot record a int"),
        ("later", "ValueError: a bad record"),
        ("loses", "rows were lost: 1 could not be recorded"),
    ],
)
def test_an_unvaried_replay_that_dies_says_how(how: str, reason: str, recorded: Recorded) -> None:
    result = replay(recorded("dies"), arguments={"how": how})

    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason is not None
    assert result.reason.startswith("the unvaried replay died: ")
    assert reason in result.reason


@pytest.fixture
def knowing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no process that says that it hangs, and for any other however long it takes."""
    wait, hangs = Process.wait, folder / HANGS

    def wait_knowing(process: Process, _: float | None) -> int | None:
        while process._process.poll() is None and not hangs.exists():
            time.sleep(0.01)
        seconds = 0.01 if hangs.exists() else None
        hangs.unlink(missing_ok=True)
        return wait(process, seconds)

    monkeypatch.setattr(Process, "wait", wait_knowing)


@pytest.mark.usefixtures("knowing")
def test_one_replay_that_hangs_or_dies_is_reported_and_the_others_go_on(
    recorded: Recorded,
) -> None:
    """One worker hangs, two vanish, three are well."""
    result = replay(recorded("dies_with_workers"), vary=["workers=1,2,3"], timeout=4)
    reasons = {one.settings["workers"]: (one.outcome, one.reason) for one in result.axes}

    assert reasons == {
        1: (AxisOutcome.DIED, "it did not end within 4 seconds"),
        2: (AxisOutcome.DIED, "its process ended with status 7 before its loader did"),
        3: (AxisOutcome.HOLDS, None),
    }
    assert result.axes[1].last_lines == ["the last word"]
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason == "workers=1, workers=2 died"


def test_megabytes_of_print_do_no_harm(
    recorded: Recorded, capfd: pytest.CaptureFixture[str]
) -> None:
    run = recorded("prints", size=1)
    capfd.readouterr()
    result = replay(run, arguments={"size": 9_000_000}, vary=["timezone=GMT-14"])

    assert result.verdict is Verdict.IDENTICAL
    assert capfd.readouterr() == ("", "")


def test_a_factory_that_is_gone_or_takes_other_arguments_says_so(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorded("workers")
    other = replay(run, arguments={"no": 1})
    monkeypatch.delenv("PYTHONPATH")
    gone = replay(run)

    assert "unexpected keyword argument 'no'" in str(other.reason)
    assert "there is no module tests" in str(gone.reason)
    assert {other.verdict, gone.verdict} == {Verdict.INCONCLUSIVE}


def test_what_a_replay_leaves_behind_is_ended(recorded: Recorded, folder: Path) -> None:
    result = replay(
        recorded("leaves_a_process", leave=False),
        arguments={"leave": True},
        vary=["timezone=GMT-14"],
    )

    assert result.verdict is Verdict.IDENTICAL
    (*_, number) = (folder / "left").read_text(encoding="utf-8").split()
    while is_alive(number):
        time.sleep(0.01)


def is_alive(process: str) -> bool:
    """Tell whether a process runs, and does not merely wait for somebody to ask how it ended."""
    try:
        return "zombie" not in Path("/proc", process, "status").read_text(encoding="utf-8")
    except OSError:
        return False
