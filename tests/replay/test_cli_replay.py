"""The command: what it prints, where, and with which status."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from detloader.manifest.reader import open_run
from tests.support.replaying import Done
from tests.support.terminals import read_terminal

Recorded = Callable[..., Path]
Detloader = Callable[..., Done]
ROOT = Path(__file__).parents[2]
SCRIPT = Path(sys.executable).with_name("detloader")
MODULE = "tests.support.axes_factories"


def test_a_broken_run_gives_the_cause_and_a_command_that_shows_it_again(
    folder: Path, detloader: Detloader
) -> None:
    detloader("record", f"{MODULE}:workers", "-o", "run")
    done = detloader("replay", "run", "--vary", "workers=2", "--json", "-")
    result = json.loads(done.stdout)
    schema = json.loads((ROOT / "docs" / "result.schema.json").read_text(encoding="utf-8"))

    jsonschema.validate(result, schema)
    assert (done.returncode, result["verdict"]) == (1, "reordered")
    assert done.stderr == f"calling {MODULE}:workers()\n"
    command = result["findings"][0]["confirm"]
    assert command == "detloader replay run --vary workers=1 --batches 1"

    again = detloader(*shlex.split(command)[1:])
    assert again.returncode == 1
    assert again.stdout.startswith(
        "changed: workers breaks run\n\nworkers (fail)\n  With workers=1"
    )


def test_a_sound_run_is_status_0_and_says_under_what_it_holds(
    folder: Path, detloader: Detloader
) -> None:
    detloader("record", f"{MODULE}:workers", "-o", "run", "-p", "mended=true")
    done = detloader("replay", "run", "--vary", "num_workers=1", "--quiet")

    assert (done.returncode, done.stdout) == (0, "identical: run holds under 1 other condition\n")


def test_what_cannot_be_judged_is_status_2(folder: Path, detloader: Detloader) -> None:
    detloader("record", f"{MODULE}:noisy", "-o", "run")
    noisy = detloader("replay", "run")
    nothing = detloader("replay", "nothing")
    unknown = detloader("replay", "run", "--vary", "wokers=1")

    assert (noisy.returncode, noisy.stdout) == (2, "inconclusive: the run does not repeat itself\n")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("detloader: there is no axis 'wokers'")
    assert unknown.stderr.count("\n") == 1


def test_a_dry_run_lists_what_would_run_and_calls_nothing(
    folder: Path, detloader: Detloader
) -> None:
    detloader("record", f"{MODULE}:counted", "-o", "run")
    before = (folder / "counter").read_text(encoding="utf-8")
    done = detloader("replay", "run", "--dry-run", "--vary", "workers=1,2", "--vary", "+cwd")

    assert done.returncode == 0
    assert [line.strip() for line in done.stdout.splitlines() if "=" in line] == [
        "with cwd=elsewhere",
        "with workers=1",
        "with workers=2",
    ]
    assert (folder / "counter").read_text(encoding="utf-8") == before


def test_a_run_of_two_ranks_is_replayed_with_two_ranks(
    folder: Path, detloader: Detloader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DETLOADER_RUN_ID", "two-ranks")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        factory = [f"{MODULE}:world_size", "-p", f"rank={rank}", "-p", "world_size=2"]
        detloader("record", *factory, "-p", "mended=true", "-o", "run")
    monkeypatch.delenv("RANK")
    done = detloader("replay", "run", "--vary", "world_size=1", "--keep", "kept")

    assert open_run(folder / "kept" / "control").fingerprint == open_run(folder / "run").fingerprint
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "identical: run holds under 1 other condition",
    )


def test_the_recorded_number_of_batches_and_the_key_of_ids_are_kept(
    folder: Path, detloader: Detloader
) -> None:
    ids = ["--ids", "id", "--batches", "3"]
    detloader("record", f"{MODULE}:endless", "-o", "run", *ids)
    done = detloader("replay", "run", "--vary", "timezone=GMT-14")

    assert open_run(folder / "run").rows == 3
    assert done.returncode == 0


def test_progress_shows_on_a_terminal_alone(folder: Path, detloader: Detloader) -> None:
    file = folder / "file"
    file.touch()
    detloader("record", "tests.support.slow_loaders:waiting", "-o", "run", "-p", f"file={file}")
    file.unlink()
    leader, follower = pty.openpty()
    words = [str(SCRIPT), "replay", "run", "--vary", "timezone=GMT-14"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=follower, text=True) as program:
        os.close(follower)
        shown = read_terminal(leader, until="replaying run")
        file.touch()
        read_terminal(leader)
        output, _ = program.communicate()
    os.close(leader)

    assert "replaying run" in shown
    assert output.startswith("identical: ")


def test_an_audit_loads_nothing_of_replays(folder: Path, recorded: Recorded) -> None:
    one, other = recorded("workers"), recorded("workers", num_workers=1)
    program = (
        "import sys\n"
        "from detloader.audits import audit, check\n"
        f"audit({str(one)!r}, {str(other)!r}); check({str(one)!r})\n"
        "print([n for n in sys.modules if n.startswith(('detloader.audits.replay', "
        "'detloader.audits.axes', 'detloader.recipe', 'detloader.recording'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


def test_order_and_records_are_computed_again_by_one_option(
    folder: Path, detloader: Detloader
) -> None:
    detloader("record", "tests.support.replay_streams:stream", "-o", "run")
    order = detloader("replay", "run", "--recompute", "order", "--quiet")
    records = detloader(
        "replay", "run", "--recompute", "records", "--quiet", "--executor", "processes:1"
    )

    assert order.stdout == (
        "identical: run: record, epoch, batch of 100 rows have the recorded digests\n"
    )
    assert records.returncode == order.returncode == 0


def test_what_recomputing_does_not_go_with_is_refused(folder: Path, detloader: Detloader) -> None:
    detloader("record", "tests.support.replay_streams:stream", "-o", "run")
    done = detloader("replay", "run", "--recompute", "order", "--vary", "cwd")

    assert done.returncode == 2
    assert "--recompute goes with --stream, --executor and reports alone" in done.stderr


def test_a_stream_holds_with_workers_and_after_a_restart(
    folder: Path, detloader: Detloader
) -> None:
    detloader("record", "tests.support.replay_streams:stream", "-o", "run")
    done = detloader("replay", "run", "--vary", "workers=1", "--vary", "resume_at=7")

    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "identical: run holds under 2 other conditions",
    ), done
