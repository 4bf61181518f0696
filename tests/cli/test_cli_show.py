from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.terminals import read_terminal

SCRIPT = Path(sys.executable).with_name("detloader")
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


def test_no_row_that_fits_is_one_line_and_status_2(cli: Cli, run: str) -> None:
    done = cli("show", run, "--record", "z", "--epoch", "0")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "detloader: no row of run has --epoch 0 --record z: "
        "detloader show run shows which rows there are\n"
    )


def test_a_run_without_rows_is_shown(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("record\n", encoding="utf-8")
    cli("import", "empty.csv", "-o", "empty")

    assert cli("show", "empty").stdout.endswith("(no rows)\n")


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


WIDE = ("draws", "content", "raw", "mixture", "split", "label", "colour", "shard")
DIGEST = 18446744073709551615


@pytest.fixture
def wide(cli: Cli, tmp_path: Path) -> str:
    """A run whose rows are wider than a terminal."""
    values = ",".join([str(DIGEST)] * 3 + ["quite-a-long-word"] * 5)
    (tmp_path / "wide.csv").write_text(
        f"epoch,batch,record,{','.join(WIDE)}\n0,0,7,{values}\n", encoding="utf-8"
    )
    assert cli("import", "wide.csv", "-o", "wide").returncode == 0
    return "wide"


def test_a_table_fits_80_columns_and_says_what_it_left_out(cli: Cli, wide: str) -> None:
    shown = cli("show", wide).stdout
    headings, row, left_out = shown.rpartition("\n\n")[2].splitlines()

    assert max(map(len, shown.splitlines())) <= 80
    assert headings.split() == ["row", "epoch", "batch", "record", *WIDE[:4]]
    assert row.split() == ["0", "0", "0", "7", *["18446744…"] * 3, "quite-a-long-word"]
    assert left_out == "(no room for: split, label, colour, shard, rank, position)"


def test_a_wide_terminal_shows_all_of_it(wide: str, tmp_path: Path) -> None:
    primary, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 300, 0, 0))
    done = subprocess.run([SCRIPT, "show", wide], cwd=tmp_path, stdout=secondary, check=False)
    os.close(secondary)
    shown = read_terminal(primary)
    os.close(primary)

    assert done.returncode == 0
    assert shown.split().count(str(DIGEST)) == 3
