"""The page: what stands where is in the templates, what is said is here.

Every text goes through `_clean` and is escaped by the template engine, whatever it holds;
the only markup that passes is our own drawings.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
import shlex
import warnings
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from detloader.findings import Severity, Verdict
from detloader.reports.evidence import first_difference_text, measurements
from detloader.reports.html import pictures
from detloader.reports.parts import ASPECTS, aspects, excused, lacking, rows_told, streams_of
from detloader.reports.plain import LONGEST, plural, shortened
from detloader.reports.sentences import headline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from detloader.findings import Finding, JsonValue, Picture, Result, StreamResult

__all__ = ["page"]

ROWS = 200
"""Rows and columns of a table that is drawn, and rows that are shown of one."""

MOST = 1_950_000
"""Bytes of a page, whatever was audited: it stays below 2 MB."""

_LISTED = MOST // 8
"""Bytes of the matrix, and of the list of runs."""

_COMPARED = MOST // 2
"""Bytes of the comparisons before any picture; those have what all else leaves."""

DRAWN = 60
"""Pictures of a page at most, for drawing takes time."""

_GOOD = frozenset({Verdict.IDENTICAL, Verdict.EQUIVALENT, Verdict.CLEAN})
_DIFFERENT = frozenset({Verdict.REGROUPED, Verdict.REORDERED, Verdict.CHANGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A picture, and what it is called in links."""

    picture: Picture
    name: str

    @property
    def rows(self) -> list[list[JsonValue]]:
        """Give the rows of its table that are shown."""
        return self.picture.rows[:ROWS]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """One stream of one comparison, as the page shows it.

    Attributes:
        number: of the section, for links to it.
        title: what is compared, where the page has several sections.
        result: the comparison.
        stream: the stream.
        cause: the finding that is shown as the cause.
        others: the other findings.
        pictures: what pictures show of it.
        command: audits this run alone, where the page has several.
    """

    number: int
    title: str | None
    result: Result
    stream: StreamResult
    cause: Finding | None
    others: list[Finding]
    pictures: list[_Shown]
    command: str | None


def page(result: Result, limit: int) -> str:
    """Return the page of a result, with the pictures that there is room for."""
    sections = [*_sections(result)]
    told = _told(result, sections, limit)
    parts: Any = _environment().get_template("parts.html").make_module(told)
    compared = sections[: _count((parts.comparison(each, {}) for each in sections), _COMPARED)]
    matrix = [parts.matrix_row(each, each.number <= len(compared)) for each in sections]
    runs = [parts.run_row(run, number == 0) for number, run in enumerate(result.runs)]
    told["matrix"] = matrix[: _count(matrix, _LISTED)]
    told["runs"] = runs[: _count(runs, _LISTED)]

    def written(figures: Mapping[str, str]) -> str:
        told["comparisons"] = [parts.comparison(each, figures) for each in compared]
        return _environment().get_template("page.html").render(told) + "\n"

    shown = [each for section in compared for each in section.pictures]
    return written(_figures(shown, parts, MOST - len(written({}).encode())))


def _told(result: Result, sections: list[_Section], limit: int) -> dict[str, Any]:
    """Give what the templates are filled with."""
    claim, _, meaning = headline(result).partition(": ")
    explained = next((section for section in sections if section.cause), None)
    return {
        "result": result,
        "claim": claim,
        "meaning": meaning,
        "tone": _tone(result),
        "sections": sections,
        "cause": explained and explained.cause,
        "culprit": explained and explained.result.runs[-1].path,
        "aspects": ASPECTS,
        "limit": limit,
        "style": Markup(_style()),  # noqa: S704 - a file of our own
    }


def _count(parts: Iterable[str], room: int) -> int:
    """Count the parts, from the first one on, for which so many bytes are enough."""
    ends = itertools.accumulate(len(part.encode()) for part in parts)
    return sum(1 for _ in itertools.takewhile(lambda end: end <= room, ends))


def _figures(shown: Iterable[_Shown], parts: Any, room: int) -> dict[str, str]:
    """Draw the first pictures, until the next one has no room."""
    figures: dict[str, str] = {}
    for each in itertools.islice(shown, DRAWN):
        figure = parts.figure(each, *_drawing(each.picture, each.name))
        room -= len(figure.encode())
        if room < 0:
            break
        figures[each.name] = figure
    return figures


def _sections(result: Result) -> Iterator[_Section]:
    for number, (one, stream) in enumerate(streams_of(result), 1):
        loud = [finding for finding in stream.findings if finding.severity is not Severity.NOTE]
        yield _Section(
            number=number,
            title=_title(result, one, stream),
            result=one,
            stream=stream,
            cause=loud[0] if loud else None,
            others=[finding for finding in stream.findings if finding not in loud[:1]],
            pictures=[
                _Shown(picture=picture, name=f"p{number}-{place}")
                for place, picture in enumerate(stream.pictures or [])
            ],
            command=_command(one) if result.comparisons else None,
        )


def _command(one: Result) -> str:
    paths = (one.runs[0].path, one.runs[-1].path)
    return shlex.join(["detloader", one.command, *paths, "--html", "page.html"])


def _title(result: Result, one: Result, stream: StreamResult) -> str | None:
    if result.comparisons:
        title = f"{one.runs[-1].path} against {one.runs[0].path}"
        return f"{title}, stream {stream.name}" if len(one.streams) > 1 else title
    return f"Stream {stream.name}" if len(one.streams) > 1 else None


def _drawing(picture: Picture, name: str) -> tuple[Markup | None, str]:
    """Give the drawing of a picture, and how it is read; of some there is only the table."""
    module = _modules().get(picture.name)
    if module is None or not picture.rows:
        return None, ""
    if max(len(picture.rows), len(picture.columns)) > ROWS:
        return None, "Not drawn: the table is too large."
    drawer = importlib.import_module(module)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            warnings.simplefilter("error", RuntimeWarning)
            svg = drawer.draw(picture, name)
    except (TypeError, ValueError, LookupError, ArithmeticError, Warning) as error:
        return None, f"Not drawn, for its table is not as it should be: {error}"
    return Markup(svg), drawer.KEY  # noqa: S704 - drawings hold words of our own alone


@functools.cache
def _modules() -> dict[str, str]:
    """Give the modules that draw, by the name of their picture."""
    found = pkgutil.iter_modules(pictures.__path__, f"{pictures.__name__}.")
    return {module.name.rpartition(".")[2].replace("_", "-"): module.name for module in found}


def _tone(result: Result) -> str:
    if result.verdict in _GOOD or excused(result):
        return "good"
    if result.verdict is Verdict.INCONCLUSIVE:
        return "unsure"
    return "bad"


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("detloader.reports.html"),
        autoescape=True,
        finalize=_clean,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "evidence": measurements,
        "difference": first_difference_text,
        "lacking": lacking,
        "aspects": aspects,
        "plural": plural,
        "tone": _tone,
    }
    environment.globals |= {"different": _DIFFERENT, "rows_told": rows_told}
    return environment


def _clean(value: Any) -> Any:
    """Give what is shown of a value: nothing invisible, and nothing endless."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return shortened(str(value), LONGEST)


def _style() -> str:
    return resources.files("detloader.reports.html").joinpath("style.css").read_text("utf-8")
