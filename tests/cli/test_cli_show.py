from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., subprocess.CompletedProcess[str]]

LOG = """epoch,batch,rank,record,draws,worker
0,0,1,b,18446744073709551615,0
0,0,0,a,9007199254740993,
0,1,0,c\x1bd,,1
1,0,0,a,1,0
"""


@pytest.fixture
def run(cli: Cli, tmp_path: Path) -> str:
    """A run of two ranks."""
    (tmp_path / "log.csv").write_text(LOG, encoding="utf-8")
    (tmp_path / "meta.json").write_text('{"seed": 0, "weights": [1, 2.5, 3]}', encoding="utf-8")
    assert cli("import", "log.csv", "--meta", "meta.json", "-o", "run").returncode == 0
    return "run"


def rows(done: subprocess.CompletedProcess[str]) -> list[list[str]]:
    """Return the cells of the table at the end."""
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.rpartition("\n\n")[2].splitlines()
    return [line.split() for line in lines]


def test_the_header_says_what_the_run_is(cli: Cli, run: str) -> None:
    shown = cli("show", run).stdout

    assert shown.startswith("run: 4 rows, complete\n  fingerprint   ")
    assert "\nstream main: 4 rows, 2 epochs, 2 ranks, level full, complete\n" in shown
    assert "  declared      seed 0, weights [1.0, 2.5, 3.0]\n" in shown


def test_rows_stand_in_canonical_order_with_exact_digests(cli: Cli, run: str) -> None:
    assert rows(cli("show", run)) == [
        ["row", "epoch", "batch", "record", "draws", "worker", "rank", "position"],
        ["0", "0", "0", "a", "9007199254740993", "-", "0", "0"],
        ["1", "0", "0", "b", "18446744073709551615", "0", "1", "0"],
        ["2", "0", "1", "c\\x1bd", "-", "1", "0", "1"],
        ["3", "1", "0", "a", "1", "0", "0", "2"],
    ]


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (["--step", "1"], ["2"]),
        (["--epoch", "0"], ["0", "1", "2"]),
        (["--step", "0", "--epoch", "1"], ["3"]),
        (["--record", "a"], ["0", "3"]),
        (["--record", "a", "--epoch", "1"], ["3"]),
    ],
)
def test_rows_can_be_chosen(cli: Cli, run: str, options: list[str], numbers: list[str]) -> None:
    assert [row[0] for row in rows(cli("show", run, *options))[1:]] == numbers


def test_no_row_is_said_to_be_none(cli: Cli, run: str) -> None:
    assert cli("show", run, "--record", "z").stdout.endswith("(no rows)\n")


def test_the_limit_says_how_much_is_left(cli: Cli, run: str) -> None:
    assert cli("show", run, "--limit", "1").stdout.endswith(
        "… and 3 more rows; --limit shows more\n"
    )
    assert cli("show", run, "--limit", "3").stdout.endswith(
        "… and 1 more row; --limit shows more\n"
    )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--step", "0"], "--step needs a column batch"),
        (["--epoch", "0"], "--epoch needs a column epoch"),
        (["--record", "x"], "the IDs of this run are integers"),
        (["--record", "9223372036854775808"], "out of range"),
    ],
)
def test_what_a_run_cannot_tell_is_an_error(
    cli: Cli, tmp_path: Path, options: list[str], reason: str
) -> None:
    (tmp_path / "log.csv").write_text("record\n1\n", encoding="utf-8")
    cli("import", "log.csv", "-o", "plain")
    done = cli("show", "plain", *options)

    assert done.returncode == 2
    assert reason in done.stderr
