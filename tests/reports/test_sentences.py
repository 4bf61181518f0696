from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from detloader.findings import (
    Counts,
    FirstDifference,
    Result,
    RunSummary,
    StreamResult,
    Verdict,
)
from detloader.reports import headline, render

FEW = st.integers(0, 5)
COUNTS = st.builds(
    Counts,
    moved=FEW,
    missing=FEW,
    extra=FEW,
    duplicated=FEW,
    substituted=FEW,
    content=FEW,
    draws=FEW,
    batches=FEW,
)


def run(path: str, rows: int, *, complete: bool = True) -> RunSummary:
    return RunSummary(path=path, rows=rows, complete=complete, fingerprint=None)


def audited(
    counts: Counts,
    *,
    verdict: Verdict = Verdict.CHANGED,
    coverage: float = 1.0,
    rows: tuple[int, int] = (10, 10),
    **changes: Any,
) -> Result:
    result = Result(
        command="audit",
        verdict=verdict,
        coverage=coverage,
        runs=[run("a", rows[0]), run("b", rows[1])],
        differences=counts,
    )
    return msgspec.structs.replace(result, **changes)


@given(counts=COUNTS, common=FEW)
@example(counts=Counts(substituted=1), common=9)
@example(counts=Counts(missing=3), common=0)
def test_no_more_records_are_claimed_than_both_runs_have(counts: Counts, common: int) -> None:
    rows_a = common + counts.missing + counts.substituted
    rows_b = common + counts.extra + counts.duplicated + counts.substituted
    told = headline(audited(counts, rows=(rows_a, rows_b)))
    claimed = re.search(r"has (\d+|none) of the (\d+) records of a", told)
    all_of = re.search(r"has all (\d+) records of a", told)

    if counts.missing or counts.substituted:
        assert claimed is not None
        assert claimed.groups() == (str(common or "none"), str(rows_a))
    elif counts.extra or counts.duplicated:
        assert all_of is not None
        assert all_of[1] == str(common)
    else:
        assert "has the records of a" in told or counts == Counts()


@given(counts=COUNTS)
@example(counts=Counts(substituted=1))
def test_the_records_are_said_to_be_there_only_where_all_of_them_are(counts: Counts) -> None:
    others = counts.missing + counts.extra + counts.duplicated + counts.substituted
    told = headline(audited(counts, rows=(20, 20)))

    assert ("has the records" in told) == (others == 0)


@given(counts=COUNTS, coverage=st.floats(0.01, 0.99))
def test_a_part_is_no_claim_on_the_rows_that_were_not_compared(
    counts: Counts, coverage: float
) -> None:
    told = headline(audited(counts, coverage=coverage, rows=(50, 80)))

    assert told.startswith("changed as far as both were recorded: b ")
    assert told.endswith("of the rows could be compared")
    assert "records of a" not in told or counts == Counts()
    assert "80" not in re.sub(r"[\d.]+%", "", told)
    assert "50" not in re.sub(r"[\d.]+%", "", told)


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (Counts(substituted=1), "has 9 of the 10 records of a, with another record in 1 place"),
        (Counts(substituted=3), "has 7 of the 10 records of a, with other records in 3 places"),
        (
            Counts(missing=2, duplicated=2),
            "has 8 of the 10 records of a and 2 repeats",
        ),
        (
            Counts(missing=1, extra=2, duplicated=1, substituted=1, moved=4),
            (
                "has 8 of the 10 records of a and 2 others and 1 repeat, "
                "with another record in 1 place, in another order"
            ),
        ),
        (Counts(extra=2, duplicated=1), "has all 10 records of a and 2 more and 1 repeat"),
        (Counts(batches=4, draws=1), "with other draws in 1 row, with 4 rows in other batches"),
    ],
)
def test_each_count_is_told(counts: Counts, sentence: str) -> None:
    assert sentence in headline(audited(counts))


def test_the_same_beginning_is_not_the_same_run() -> None:
    cut = audited(Counts(), verdict=Verdict.IDENTICAL, coverage=50 / 80, rows=(80, 50))

    assert headline(cut) == (
        "identical as far as both were recorded: the first 50 of 80 rows are the same in b and a"
    )


def test_rows_that_were_lost_are_not_among_those_that_are_the_same() -> None:
    lost = audited(Counts(), verdict=Verdict.IDENTICAL, coverage=50 / 80, rows=(50, 50))

    assert headline(lost) == (
        "identical as far as both were recorded: b has the same rows as a "
        "(as recorded; blocks not read); 62.5% of the rows could be compared"
    )


def test_a_part_of_the_rows_never_looks_like_all_or_none() -> None:
    told = [
        headline(audited(Counts(), verdict=Verdict.REORDERED, coverage=coverage))
        for coverage in (0.99999, 0.00001)
    ]

    assert told[0].endswith("; 99.9% of the rows could be compared")
    assert told[1].endswith("; 0.1% of the rows could be compared")


def test_runs_that_are_not_complete_are_said_to_be_so() -> None:
    cut, other = run("cut", 5, complete=False), run("other", 5, complete=False)

    told = [
        headline(audited(Counts(), verdict=Verdict.IDENTICAL, runs=runs))
        for runs in ([run("a", 5), cut], [cut, cut], [cut, other])
    ]

    assert told[0] == (
        "identical: cut has the same 5 rows as a (as recorded; blocks not read); "
        "cut is not complete"
    )
    assert told[1].endswith("; cut is not complete")
    assert told[2].endswith("; cut and other are not complete")


def test_several_streams_are_counted_together() -> None:
    streams = [
        StreamResult(
            name="train", verdict=Verdict.CHANGED, coverage=1.0, differences=Counts(missing=1)
        ),
        StreamResult(
            name="val", verdict=Verdict.CHANGED, coverage=0.0, differences=Counts(missing=3)
        ),
    ]

    assert "has 6 of the 10 records of a" in headline(audited(Counts(missing=1), streams=streams))


def test_a_stream_that_was_not_compared_takes_part_in_no_count() -> None:
    streams = [
        StreamResult(
            name="train", verdict=Verdict.CHANGED, coverage=1.0, differences=Counts(missing=1)
        ),
        StreamResult(name="val", verdict=Verdict.INCONCLUSIVE, coverage=0.0, differences=Counts()),
    ]

    assert headline(audited(Counts(missing=1), streams=streams)) == (
        "changed: b differs from a: lacks 1 record; stream val could not be compared"
    )


def test_digests_that_differ_are_no_equal_records() -> None:
    told = headline(audited(Counts(), coverage=0.0, reason="digests of record differ"))

    assert told == "changed: b differs from a: digests of record differ"


def test_a_difference_that_no_counter_counts_names_its_column() -> None:
    first = FirstDifference(row=0, epoch=0, batch=None, column="split", a="x", b="y")

    assert headline(audited(Counts(), first_difference=first)) == (
        "changed: b has the records of a, with other values in split"
    )


def test_several_runs_say_which_were_compared_in_part() -> None:
    whole = audited(Counts(), verdict=Verdict.IDENTICAL)
    cut = audited(Counts(), verdict=Verdict.IDENTICAL, coverage=0.5)
    both = msgspec.structs.replace(whole, comparisons=[whole, cut, whole])

    assert headline(both) == (
        "identical: 3 runs compared with a: 2 identical, 1 identical as far as both were recorded"
    )


def test_a_verdict_on_a_part_keeps_its_colour() -> None:
    cut = audited(Counts(), verdict=Verdict.IDENTICAL, coverage=0.5)

    assert render("text", cut, color=True).startswith("\x1b[1;32midentical\x1b[0m as far as")
