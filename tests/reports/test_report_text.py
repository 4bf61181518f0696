from __future__ import annotations

import re
import textwrap
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from detloader.findings import (
    Counts,
    DifferenceLevel,
    Finding,
    FirstDifference,
    FirstDifferences,
    JsonValue,
    NotChecked,
    Result,
    RunSummary,
    Severity,
    StreamResult,
    Verdict,
)
from detloader.reports import headline, render

FROZEN = RunSummary(path="runs/frozen", rows=10, complete=True, fingerprint="f" * 64)
NEW = RunSummary(path="runs/new", rows=8, complete=True, fingerprint="e" * 64)
CHANGED = Result(
    command="audit",
    verdict=Verdict.CHANGED,
    coverage=1.0,
    runs=[FROZEN, NEW],
    first_difference=FirstDifference(row=1, epoch=0, batch=None, column="record", a=1, b=2),
    differences=Counts(missing=2, moved=3),
    findings=[
        Finding(
            rule="implicit-partitioning",
            severity=Severity.FAIL,
            run="b",
            message="Records 8 and 9 never come. The order is a merge of four contiguous parts of "
            "two records.",
            cause="The loader split its IDs over 4 workers and dropped the remainder.",
            evidence={
                "formula": "b = merge(partition(a, 4))",
                "explained_rows": 8,
                "rows": 8,
                "dropped": [8, 9],
                "partitions": [4, 8],
                "share": 0.123456,
                "declared": True,
            },
            confirm="detloader replay runs/frozen --vary workers=1,4",
        )
    ],
    not_checked=[NotChecked(rule="content-drift", missing=["content"])],
    not_compared=["worker"],
)


def text(result: Result, limit: int = 10) -> str:
    return render("text", result, limit=limit)


def replaced(**changes: object) -> Result:
    return msgspec.structs.replace(CHANGED, **changes)


def test_a_changed_run_is_told_with_its_cause_evidence_and_next_command() -> None:
    assert text(CHANGED) == textwrap.dedent("""\
        changed: runs/new has 8 of the 10 records of runs/frozen, in another order

        implicit-partitioning (fail)
          Records 8 and 9 never come. The order is a merge of four contiguous parts of
          two records.
          The loader split its IDs over 4 workers and dropped the remainder.
            b = merge(partition(a, 4))    explains 8 of 8 rows
          dropped            8, 9
          partitions         4, 8
          share              0.1235
          declared           yes
          first difference   row 1, epoch 0: record 1 became 2
          confirm with       detloader replay runs/frozen --vary workers=1,4

        not checked, for lack of
          content            content-drift

        not compared: worker
        """)


def test_rules_that_lack_the_same_stand_together() -> None:
    needs_files = NotChecked(rule="needs-files", missing=["a list of the files of the source"])
    skipped = [
        NotChecked(rule="worker-rng-clone", missing=["draws"]),
        NotChecked(rule="seed-handling", missing=["seed_used", "seed"]),
        NotChecked(rule="epoch-draw-repeat", missing=["draws"]),
        needs_files,
    ]

    assert text(replaced(not_checked=skipped)).endswith(
        textwrap.dedent("""\
        not checked, for lack of
          draws              worker-rng-clone, epoch-draw-repeat
          seed_used, seed    seed-handling
          a list of the files of the source
                             needs-files

        not compared: worker
        """)
    )


def test_equal_runs_are_one_sentence() -> None:
    same = Result(command="audit", verdict=Verdict.IDENTICAL, runs=[FROZEN, FROZEN])

    assert text(same) == (
        "identical: runs/frozen has the same 10 rows as runs/frozen (as recorded; blocks\n"
        "not read)\n"
    )
    assert "(every block was read)" in headline(msgspec.structs.replace(same, verified=True))


def test_a_difference_without_a_cause_says_so() -> None:
    assert "No rule names the cause.\n  first difference   row 1" in text(replaced(findings=[]))


def test_a_note_is_no_cause() -> None:
    note = msgspec.structs.replace(CHANGED.findings[0], severity=Severity.NOTE)

    assert text(replaced(findings=[note])).index("No rule") < text(replaced(findings=[note])).index(
        "implicit-partitioning (note)"
    )


@pytest.mark.parametrize(
    ("verdict", "counts", "sentence"),
    [
        (Verdict.EQUIVALENT, Counts(), "has the same global batches as runs/frozen"),
        (Verdict.REGROUPED, Counts(batches=3), "in the same order, in other batches"),
        (
            Verdict.REORDERED,
            Counts(moved=3),
            "has the same records as runs/frozen, in another order",
        ),
        (Verdict.CHANGED, Counts(extra=2), "has all 10 records of runs/frozen and 2 more"),
        (
            Verdict.CHANGED,
            Counts(missing=2, extra=1),
            "has 8 of the 10 records of runs/frozen and 1 other",
        ),
        (Verdict.CHANGED, Counts(duplicated=2), "has all 10 records of runs/frozen and 2 repeats"),
        (Verdict.CHANGED, Counts(content=1), "with other content in 1 row"),
        (Verdict.CHANGED, Counts(draws=4), "with other draws in 4 rows"),
    ],
)
def test_each_verdict_says_what_it_means(verdict: Verdict, counts: Counts, sentence: str) -> None:
    assert sentence in headline(replaced(verdict=verdict, differences=counts))


def test_what_could_not_be_judged_says_why() -> None:
    unjudged = Result(
        command="audit",
        verdict=Verdict.INCONCLUSIVE,
        reason="runs/new has no rows",
        runs=[FROZEN, NEW],
    )

    assert text(unjudged) == "inconclusive: runs/new has no rows\n"


def test_a_common_prefix_says_how_much_it_covers() -> None:
    assert "; 80.0% of the rows could be compared" in headline(replaced(coverage=0.8))


def test_a_check_counts_its_findings_by_severity() -> None:
    finding = CHANGED.findings[0]
    found = Result(
        command="check",
        verdict=Verdict.FINDINGS,
        runs=[NEW],
        findings=[finding, msgspec.structs.replace(finding, severity=Severity.NOTE)],
    )
    clean = Result(command="check", verdict=Verdict.CLEAN, runs=[NEW])

    assert headline(found) == "findings: 1 fail, 1 note in the 8 rows of runs/new"
    assert headline(clean) == "clean: no rule finds fault with the 8 rows of runs/new"


def test_several_runs_are_told_one_by_one_and_summed_up() -> None:
    same = Result(command="audit", verdict=Verdict.IDENTICAL, runs=[FROZEN, FROZEN])
    both = replaced(runs=[FROZEN, NEW, FROZEN], comparisons=[CHANGED, same])

    assert text(both).startswith(text(CHANGED))
    assert text(both).endswith(
        text(same) + "\n2 runs compared with runs/frozen: 1 identical, 1 changed\n"
    )
    assert headline(both) == "changed: 2 runs compared with runs/frozen: 1 identical, 1 changed"


def test_each_stream_is_told_where_there_are_several() -> None:
    streams = [
        StreamResult(name="train", verdict=Verdict.CHANGED, findings=CHANGED.findings),
        StreamResult(name="val", verdict=Verdict.INCONCLUSIVE, reason="no rows"),
    ]
    told = text(replaced(streams=streams))

    assert "\nchanged: stream train\n\nimplicit-partitioning" in told
    assert told.endswith("\ninconclusive: stream val: no rows\n")


def test_a_fault_of_the_baseline_says_so() -> None:
    finding = msgspec.structs.replace(CHANGED.findings[0], run="a")

    assert "implicit-partitioning (fail, in the baseline)" in text(replaced(findings=[finding]))


def test_long_lists_are_cut_and_say_how_much_is_left() -> None:
    finding = msgspec.structs.replace(CHANGED.findings[0], evidence={"dropped": list(range(100))})

    assert "0, 1, 2 and 97 more" in text(replaced(findings=[finding]), limit=3)


def shown(evidence: dict[str, JsonValue], limit: int = 10) -> str:
    finding = msgspec.structs.replace(CHANGED.findings[0], evidence=evidence)
    return text(replaced(findings=[finding]), limit)


def test_measurements_of_equal_parts_are_a_table() -> None:
    shares: list[JsonValue] = [
        {"record": record, "declared": 0.25, "kind": "ab"[record % 2]} for record in range(9, 12)
    ]

    assert (
        "  shares             record  declared  kind\n"
        "                          9      0.25  b\n"
        "                         10      0.25  a\n"
        "                     and 1 more\n"
    ) in shown({"shares": shares}, limit=2)


@pytest.mark.parametrize(
    "shares",
    [
        [{"record": 0, "declared": 0.25}, {"record": 1}],
        [{"record": "a" * 60, "declared": 0.25}, {"record": "b" * 60, "declared": 0.25}],
        [{"record": 0, "epochs": [1, 2]}, {"record": 1, "epochs": [3]}],
    ],
)
def test_measurements_that_make_no_table_stay_together(shares: list[JsonValue]) -> None:
    lines = shown({"shares": shares}).splitlines()

    assert any("(record" in line for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("evidence", "line"),
    [
        ({"log10_chance": -139.8}, "  chance             below 1 in 10^139"),
        ({"log10_chance": -0.3}, "  chance             0.5"),
        ({"p_declared": 1.2e-119}, "  chance if declared  below 1 in 10^118"),
        ({"p_uniform": 0.05612}, "  chance if uniform  0.056"),
        ({"p_declared": 0.0}, "below 1 in 10^300"),
    ],
)
def test_a_chance_is_told_as_one(evidence: dict[str, JsonValue], line: str) -> None:
    assert f"{line}\n" in shown(evidence)


def test_values_are_aligned_whatever_the_labels() -> None:
    lines = shown({"share": 1, "rows_of_another_epoch_before": 2, "x" * 40: 3}).splitlines()
    measured = [line for line in lines if re.search(r"  [123]$", line)]

    assert [line.rindex(" ") for line in measured] == [31] * 3


def test_colours_change_no_letter() -> None:
    colored = render("text", CHANGED, color=True)

    assert colored.startswith("\x1b[1;31mchanged\x1b[0m: ")
    assert "\x1b[1mimplicit-partitioning\x1b[0m (\x1b[31mfail\x1b[0m)\n" in colored
    assert "\x1b[2m  first difference \x1b[0m  row 1, epoch 0" in colored
    assert without_styles(colored) == text(CHANGED)


def without_styles(colored: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", colored)


WIDE = st.text(alphabet="写真🙂❤\ufe0fé\u0301a ")
"""Texts in which a letter takes two columns, one or none."""


@given(
    path=st.text(min_size=1) | WIDE.filter(bool),
    message=st.text() | WIDE,
    value=st.text() | WIDE,
    word=st.text(min_size=81) | st.integers(41, 200).map("写".__mul__),
)
def test_no_line_is_wider_than_80_columns_and_nothing_moves_the_cursor(
    path: str, message: str, value: str, word: str
) -> None:
    first = FirstDifference(row=0, epoch=None, batch=3, column=value, a=word, b=None)
    finding = msgspec.structs.replace(
        CHANGED.findings[0], message=message, cause=word, evidence={value: [word, value]}
    )
    result = replaced(
        runs=[msgspec.structs.replace(FROZEN, path=path), NEW],
        first_difference=first,
        findings=[finding],
        not_compared=[word],
    )
    told = text(result)

    assert max(map(cell_len, told.split("\n"))) <= 80
    assert all(character == "\n" or character.isprintable() for character in told)
    assert without_styles(render("text", result, color=True)) == told


def test_tables_are_aligned_by_what_letters_take() -> None:
    shares: list[JsonValue] = [{"写真": "写真写真", "rows": 1}, {"写真": "a", "rows": 2}]
    lines = shown({"長い": shares}).splitlines()
    table = [line for line in lines if re.search(r"(rows|  [12])$", line)]

    assert [cell_len(line) for line in table] == [cell_len(table[0])] * 3


def test_a_text_without_end_is_cut_and_says_how_long_it_is() -> None:
    first = FirstDifference(row=0, epoch=0, batch=0, column="record", a="a" * 5_000, b="b")
    told = text(replaced(first_difference=first, findings=[]))

    assert "(5,000 characters)" in " ".join(told.split())
    assert len(told) < 2_000


def test_levels_stand_below_a_difference_that_has_no_cause() -> None:
    first = CHANGED.first_difference
    of_set = FirstDifference(row=7, epoch=0, batch=None, column="record", a=8, b=None)
    levels = {"set": of_set, "order": first, "batches_as_sets": of_set, "batches": first}

    told = text(replaced(findings=[], first_differences=_levels(levels)))
    assert (
        "  first difference   row 1, epoch 0: record 1 became 2\n"
        "  by level           row 1: order, batches; row 7: set, batches as sets\n"
    ) in told
    assert max(map(len, told.splitlines())) <= 80


def test_levels_do_not_lengthen_what_has_a_cause_or_differs_at_one_level() -> None:
    first = CHANGED.first_difference
    several, one = _levels({"set": first, "order": first}), _levels({"set": None, "order": first})

    assert text(replaced(first_differences=several)) == text(CHANGED)
    assert text(replaced(findings=[], first_differences=one)) == text(replaced(findings=[]))


def _levels(rows: dict[str, Any]) -> FirstDifferences:
    return {DifferenceLevel(level): first for level, first in rows.items()}


def test_a_decision_stands_below_the_verdict_and_in_the_one_line() -> None:
    decided = replaced(decision="accepted until 2027-01-31: known")

    assert text(decided).split("\n\n")[1] == "decision: accepted until 2027-01-31: known"
    assert headline(decided) == headline(CHANGED) + "; accepted until 2027-01-31: known"


def test_a_decision_shows_no_control_characters() -> None:
    decided = replaced(decision="accepted until 2027-01-31: \x1b[2J")

    assert "\x1b" not in text(decided) + headline(decided)
