"""What holds for every format."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.reports import formats, render
from tests.support.samples import HOSTILE, hostile, rendered_sample, samples


@pytest.mark.parametrize("format_", formats())
def test_every_format_renders_every_sample_and_ends_with_a_line_end(format_: str) -> None:
    for name in samples():
        assert rendered_sample(name, format_).endswith("\n")


@pytest.mark.parametrize("format_", sorted({*formats()} - {"json"}))
@pytest.mark.parametrize("text", [*HOSTILE, "\udc80"], ids=range(len(HOSTILE) + 1))
def test_no_format_shows_a_control_character_or_a_text_without_end(format_: str, text: str) -> None:
    shown = render(format_, hostile(text))

    assert all(c.isprintable() or c == "\n" for c in shown)
    shown.encode()


@pytest.mark.parametrize("format_", sorted({*formats()} - {"json"}))
@given(text=st.text())
@settings(max_examples=20)
def test_any_text_is_rendered(format_: str, text: str) -> None:
    render(format_, hostile(text)).encode()


def test_formats_load_nothing_before_they_are_used() -> None:
    program = (
        "import sys; from detloader.reports import formats; formats()\n"
        "print([n for n in ('jinja2', 'matplotlib', 'numpy', 'pyarrow') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )

    assert done.stdout == "[]\n"
