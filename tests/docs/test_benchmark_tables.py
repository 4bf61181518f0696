"""The tables of docs/benchmarks.md are those of the results that were kept."""

from __future__ import annotations

from tests.benchmarks.results import PAGE, RESULTS, TABLES, read, with_tables


def test_the_page_shows_the_results_that_were_kept() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == with_tables(page, read(RESULTS)), "run: python -m tests.benchmarks --write"


def test_every_table_was_measured() -> None:
    assert read(RESULTS).keys() == TABLES.keys()
