"""The example package of docs/writing-rules.md, taken from the page."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["register", "write_package"]

PAGE = Path(__file__).parents[2] / "docs" / "writing-rules.md"
_FILE = re.compile(r"^`([\w.]+)` .*?\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def write_package(folder: Path) -> Path:
    """Write the files that the page shows, each under the name that stands before it."""
    folder.mkdir()
    for name, text in _FILE.findall(PAGE.read_text(encoding="utf-8")):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def register(folder: Path, package: str, **rules: str) -> None:
    """Write what an installer would: a package's metadata, with its rules' modules."""
    metadata = folder / f"{package}-1.0.dist-info"
    metadata.mkdir(parents=True)
    header = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
    (metadata / "METADATA").write_text(header, encoding="utf-8")
    entries = [f"{name.replace('_', '-')} = {module}" for name, module in rules.items()]
    text = "\n".join(["[detloader.rules]", *entries, ""])
    (metadata / "entry_points.txt").write_text(text, encoding="utf-8")
