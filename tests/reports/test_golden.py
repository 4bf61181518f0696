from __future__ import annotations

import pytest

from tests.support.golden import GOLDEN, golden_texts


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return golden_texts()


def test_every_format_has_a_golden_text_of_every_sample(texts: dict[str, str]) -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(texts)


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir()))
def test_a_report_is_what_it_was(texts: dict[str, str], name: str) -> None:
    told = "see the difference, then: python -m tests.support.golden"

    assert texts[name] == (GOLDEN / name).read_text(encoding="utf-8"), told
