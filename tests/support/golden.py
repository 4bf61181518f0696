"""What every format gives for every sample: `python -m tests.support.golden` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

from detloader.reports import formats
from tests.support.samples import rendered_sample, samples

__all__ = ["GOLDEN", "golden_texts"]

GOLDEN = Path(__file__).parents[1] / "reports" / "golden"

_ENDINGS = {"text": "txt", "markdown": "md", "junit": "xml", "github": "txt"}
# Every release of matplotlib draws a little differently, and the style sheet is a file of its own.
_DRAWN = re.compile(r"(<svg\b)[^>]*>.*?(</svg>)|(<style>).*?(</style>)", re.DOTALL)


def golden_texts() -> dict[str, str]:
    """Give the text of each golden file, without drawings, by its name."""
    return {
        f"{name}.{format_}.{_ENDINGS.get(format_, format_)}": _DRAWN.sub(
            lambda drawn: "".join(filter(None, drawn.groups())), rendered_sample(name, format_)
        )
        for name in samples()
        if name != "hostile"
        for format_ in formats()
    }


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for old in GOLDEN.iterdir():
        old.unlink()
    for name, text in golden_texts().items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
