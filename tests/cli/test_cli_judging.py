"""`audit`, `check`, `verify` and `show`: what they print, and what their status says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from detloader import record

Cli = Callable[..., subprocess.CompletedProcess[str]]
Case = Callable[[str], list[Path]]


def import_rows(cli: Cli, tmp_path: Path, name: str, *rows: str) -> Path:
    log = tmp_path / f"{name}.csv"
    log.write_text("\n".join([*rows, ""]), encoding="utf-8")
    assert cli("import", log, "-o", name).returncode == 0
    return tmp_path / name


def assert_unjudged(done: subprocess.CompletedProcess[str], reason: str) -> None:
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"detloader: .*\n", done.stderr)
    assert reason in done.stderr


def flip_a_bit(run: Path, pattern: str) -> None:
    (path,) = run.rglob(pattern)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_equal_runs_are_status_0(cli: Cli, case: Case) -> None:
    a, b = case("clean-worker-count")
    done = cli("audit", a, b)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("identical:")


def test_reading_every_block_is_said(cli: Cli, case: Case) -> None:
    a, b = case("clean-worker-count")
    result = json.loads(cli("audit", a, b, "--verify", "--json", "-").stdout)

    assert result["verified"] is True


def test_different_runs_are_status_1_and_the_cause_is_named(cli: Cli, case: Case) -> None:
    a, b = case("implicit-partitioning-10-4")
    done = cli("audit", a.name, b.name)

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(
        "changed: run_b has 8 of the 10 records of run_a, in another order\n\n"
        "implicit-partitioning (fail)\n"
    )
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_first_difference_alone_is_found_and_said_to_be_all(cli: Cli, case: Case) -> None:
    a, b = case("implicit-partitioning-10-4")
    done = cli("audit", a.name, b.name, "--first")

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(
        "changed: run_b differs from run_a: only the first difference was looked for, not\n"
        "its kind or cause\n\n"
    )
    assert "\n  first difference   row 0, epoch 0: record 0 became 6\n" in done.stdout
    assert "\n  an audit without --first  alignment, content-drift," in done.stdout
    assert cli("audit", a, a, "--first").returncode == 0
    assert_unjudged(cli("audit", a, b, "--first", "--equivalence", "same-set"), "leave one of them")


def test_several_runs_are_compared_with_the_first(cli: Cli, case: Case) -> None:
    a, b = case("implicit-partitioning-10-4")
    done = cli("audit", a.name, a.name, b.name)

    assert done.returncode == 1
    assert done.stdout.endswith("2 runs compared with run_a: 1 identical, 1 changed\n")


def test_a_clean_run_is_status_0(cli: Cli, case: Case) -> None:
    done = cli("check", *case("clean-weighted"))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("clean: ")


def test_a_faulty_run_is_status_1(cli: Cli, case: Case) -> None:
    done = cli("check", *case("partition-replicated"))

    assert (done.returncode, done.stderr) == (1, "")
    assert "partition-broken (fail)" in done.stdout


def test_a_run_without_rows_has_a_verdict(cli: Cli, tmp_path: Path) -> None:
    import_rows(cli, tmp_path, "empty", "record")
    import_rows(cli, tmp_path, "full", "record", "1", "2")
    lost, nothing, alone = (
        cli("audit", "full", "empty"),
        cli("audit", "empty", "empty"),
        cli("check", "empty"),
    )

    assert (lost.returncode, nothing.returncode, alone.returncode) == (1, 2, 2)
    assert lost.stdout.startswith("changed: empty has none of the 2 records of full")
    assert nothing.stdout.startswith("inconclusive: ")
    assert alone.stdout.startswith("inconclusive: empty has no row")


def test_a_missing_run_cannot_be_judged(cli: Cli, case: Case) -> None:
    (run,) = case("clean-weighted")

    for arguments in (["audit", run, "nowhere"], ["check", "nowhere"], ["verify", "nowhere"]):
        assert_unjudged(cli(*arguments), "nowhere does not exist")


def test_a_half_written_run_cannot_be_judged(cli: Cli, case: Case) -> None:
    a, b = case("clean-worker-count")
    (header,) = b.rglob("manifest.json")
    header.unlink()

    for arguments in (["audit", a, b], ["check", b], ["verify", b], ["show", b]):
        assert_unjudged(cli(*arguments), "half-written")


def test_a_part_that_is_gone_is_damage(cli: Cli, case: Case) -> None:
    a, b = case("clean-worker-count")
    shutil.rmtree(next(b.rglob("order")))

    for arguments in (["audit", a, b], ["check", b], ["verify", b]):
        assert_unjudged(cli(*arguments), "missing")


def test_a_flipped_bit_in_the_header_is_found_at_once(cli: Cli, case: Case) -> None:
    a, b = case("clean-worker-count")
    flip_a_bit(b, "manifest.json")

    for arguments in (["audit", a, b], ["check", b], ["verify", b], ["show", b]):
        assert_unjudged(cli(*arguments), "manifest.json")


def test_a_flipped_bit_in_the_rows_is_found_by_whoever_reads_them(cli: Cli, case: Case) -> None:
    a, b = case("clean-worker-count")
    flip_a_bit(b, "*.parquet")

    assert cli("audit", a, b).returncode == 0
    for arguments in (["audit", a, b, "--verify"], ["verify", b]):
        assert_unjudged(cli(*arguments), "is damaged")


def test_a_whole_run_is_verified_in_one_line(cli: Cli, case: Case) -> None:
    (run,) = case("epoch-order-stuck-sampler")
    done = cli("verify", run.name)

    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"run is whole: 36 rows in 2 ranks, [0-9a-f]{64}\n", done.stdout)


def test_rows_that_were_lost_are_told_by_verify(cli: Cli, tmp_path: Path) -> None:
    with record([1, 2, "x", 3], tmp_path / "run", ids=int) as rows:
        assert len([*rows]) == 4
    done = cli("verify", "run")

    assert done.returncode == 0
    assert done.stdout.startswith("run is whole: 2 rows in 1 rank, ")
    assert done.stdout.endswith("; 2 rows could not be recorded\n")


def test_fail_on_decides_which_finding_counts(cli: Cli, case: Case) -> None:
    (run,) = case("coverage-substituted")
    found = json.loads(cli("check", run, "--json", "-").stdout)["findings"][0]
    lowered = "warn" if found["severity"] == "warn" else "fail"

    assert cli("check", run, "--fail-on", lowered).returncode == 1
    if lowered == "warn":
        assert cli("check", run, "--fail-on", "fail").returncode == 0


def test_rules_are_selected_and_left_out_by_name(cli: Cli, case: Case) -> None:
    (run,) = case("partition-replicated")

    def found(*options: str) -> list[str]:
        result = json.loads(cli("check", run, "--json", "-", *options).stdout)
        return [finding["rule"] for finding in result["findings"]]

    assert found("--select", "partition-broken") == ["partition-broken"]
    assert "partition-broken" not in found("--ignore", "partition-broken")
    assert_unjudged(cli("check", run, "--select", "partition"), "there is no rule 'partition'")
    assert_unjudged(cli("check", run, "--ignore", "partition"), "there is no rule 'partition'")


def test_an_audit_has_the_same_fields_whatever_it_finds(
    cli: Cli, case: Case, tmp_path: Path
) -> None:
    empty = import_rows(cli, tmp_path, "empty", "record")
    a, b = case("implicit-partitioning-10-4")
    pairs = [(empty, empty), (a, a), (a, b)]
    results = [json.loads(cli("audit", *pair, "--json", "-").stdout) for pair in pairs]

    assert [result["verdict"] for result in results] == ["inconclusive", "identical", "changed"]
    assert results[0].keys() == results[1].keys() == results[2].keys()
    assert results[0]["differences"] == results[1]["differences"]
