"""Which stream of one run is compared with which of another.

A stream has the name that the program gave its loader, or the line that made it. A name is the
same in two runs. A line moves when the program is edited above it, so that streams of one file
are paired by the order of their lines.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from typing import TYPE_CHECKING

from detloader.manifest.reader import Run, Stream

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["doubts_of", "name_of_pair", "paired", "tell_doubt", "tell_doubtful"]

_PLACE = re.compile(r"(.+):(\d+)((?:@[\w.=]+)?(?:-\d+)?(?:\+restart\d+)?)")
"""File and line of a loader, then which child of the program, loader of that line, and restart."""

_NUMBER = re.compile(r"-\d+(?=$|\+restart)")
"""Which loader of its line it is."""


def paired(a: Run, b: Run) -> Run:
    """Return b, its streams under the names in a of those that they are to be compared with.

    Where both runs have streams of as many lines of a file, the lines are paired in ascending
    order; all other streams keep the names that they have.
    """
    lines_a, lines_b = _lines(a.streams), _lines(b.streams)
    line_in_a = {
        (file, line): in_a
        for file, lines in lines_b.items()
        if len(lines) == len(lines_a.get(file, []))
        for line, in_a in zip(lines, lines_a[file], strict=True)
    }
    if all(line == in_a for (_, line), in_a in line_in_a.items()):
        return b

    def name_in_a(name: str) -> str:
        if (place := _PLACE.fullmatch(name)) is None:
            return name
        file, line, which = place.groups()
        return f"{file}:{line_in_a.get((file, int(line)), line)}{which}"

    return dataclasses.replace(
        b, streams={name_in_a(name): stream for name, stream in b.streams.items()}
    )


def name_of_pair(a: Stream, b: Stream) -> str:
    """Name what was compared: one name, or both where they are unlike."""
    return a.name if a.name == b.name else f"{a.name} and {b.name}"


def doubts_of(a: Run, b: Run) -> dict[str, str]:
    """Say of each file, and each line, whose loaders may be paired wrongly why.

    Args:
        a: the baseline.
        b: the other run, paired with it.
    """
    return _moved_files(a, b) | _renumbered_lines(a, b)


def _moved_files(a: Run, b: Run) -> dict[str, str]:
    lines_a, lines_b = _lines(a.streams), _lines(b.streams)
    return {
        file: (
            f"the loaders of {file} are at other lines, and at {len(lines_b[file])} in place of "
            f"{len(lines_a[file])}: name them by detloader.name, and they are paired wherever "
            "they are"
        )
        for file in lines_a.keys() & lines_b.keys()
        if lines_a[file] != lines_b[file]
    }


def _renumbered_lines(a: Run, b: Run) -> dict[str, str]:
    counts_a, counts_b = _counts(a.streams), _counts(b.streams)
    return {
        line: (
            f"the loaders that {line} made are {counts_b[line]} in place of {counts_a[line]}, "
            "numbered as they came: name each by detloader.name, and it is paired with its own"
        )
        for line in counts_a.keys() & counts_b.keys()
        if counts_a[line] != counts_b[line]
    }


def tell_doubtful(name: str) -> str | None:
    """Say why streams of unlike lines may be no pair; None where the lines are the same."""
    first, _, second = name.partition(" and ")
    if not second or first == second:
        return None
    return (
        "its lines moved, and files of one base name are taken for one, so that the pair may be "
        "wrong: name the loaders by detloader.name"
    )


def tell_doubt(name: str, doubts: dict[str, str]) -> str | None:
    """Say why a stream of this name may be paired wrongly; None where nothing speaks for that."""
    name_in_a = name.partition(" and ")[0]
    place = _PLACE.fullmatch(name_in_a)
    if place is None:
        return None
    return doubts.get(place[1]) or doubts.get(_NUMBER.sub("", name_in_a))


def _lines(names: Iterable[str]) -> dict[str, list[int]]:
    """Return the lines of each file at which streams were made, in ascending order."""
    found: dict[str, set[int]] = {}
    for place in filter(None, map(_PLACE.fullmatch, names)):
        found.setdefault(place[1], set()).add(int(place[2]))
    return {file: sorted(lines) for file, lines in found.items()}


def _counts(names: Iterable[str]) -> Counter[str]:
    """Count the streams that have one name but for the number."""
    return Counter(_NUMBER.sub("", name) for name in names if _PLACE.fullmatch(name))
