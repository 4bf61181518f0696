from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., subprocess.CompletedProcess[str]]


def assert_refused(done: subprocess.CompletedProcess[str], reason: str) -> None:
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"detloader: .*\n", done.stderr)
    assert reason in done.stderr


def files(folder: Path) -> dict[Path, str]:
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_log_becomes_a_run_that_is_whole(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("sample_id,epoch\n4,0\n2,0\n", encoding="utf-8")
    (tmp_path / "meta.json").write_text('{"seed": 3}', encoding="utf-8")

    done = cli(
        "import", "log.csv", "--meta", "meta.json", "--column", "record=sample_id", "-o", "runs/a"
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "runs/a: 2 rows\n", "")
    assert cli("verify", "runs/a").returncode == 0
    assert "declared      seed 3" in cli("show", "runs/a").stdout


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("log.csv", "", "log.csv is empty"),
        ("log.csv", "id,epoch\n1,0\n", "has no column record"),
        ("log.csv", "record,epoch\n1,0\n2\n", "row 3 has 1 fields"),
        ("log.jsonl", '{"record": 1}\n{"record": "a"}\n', "line 2: record has another type"),
        ("log.jsonl", "", "log.jsonl is empty"),
        ("log.doc", "record\n1\n", "no known format"),
    ],
)
def test_a_log_that_makes_no_sense_is_one_line_and_leaves_nothing(
    cli: Cli, tmp_path: Path, name: str, text: str, reason: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")

    assert_refused(cli("import", name, "-o", "run"), reason)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_run_that_exists_is_not_overwritten(
    cli: Cli, case: Callable[[str], list[Path]], tmp_path: Path
) -> None:
    (run,) = case("clean-weighted")
    (tmp_path / "log.csv").write_text("record\n1\n", encoding="utf-8")
    before = files(tmp_path)

    assert_refused(cli("import", "log.csv", "-o", run), "exists")
    assert files(tmp_path) == before


def test_two_logs_are_no_run_and_both_are_named(cli: Cli, tmp_path: Path) -> None:
    for node in ("a", "b"):
        (tmp_path / node).mkdir()
        (tmp_path / node / "log.csv").write_text("record\n1\n", encoding="utf-8")

    assert_refused(cli("import", "a/log.csv", "b/log.csv", "-o", "run"), "a/log.csv and b/log.csv")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("pair", ["record", "=x", "record=a record=b"])
def test_a_column_is_named_once_as_a_pair(cli: Cli, tmp_path: Path, pair: str) -> None:
    (tmp_path / "log.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    options = [part for one in pair.split() for part in ("--column", one)]

    assert_refused(cli("import", "log.csv", "-o", "run", *options), "--column")


def test_a_log_that_was_cut_off_is_told_on_standard_error(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rank0.tsv").write_text("1\t5\n2\t7", encoding="utf-8")

    done = cli("import", "rank0.tsv", "-o", "run")

    assert (done.returncode, done.stdout) == (0, "run: 1 row\n")
    assert done.stderr == "rank0.tsv is cut off after line 1: the run is not complete\n"
    assert "not complete" in " ".join(cli("check", "run").stdout.split())
