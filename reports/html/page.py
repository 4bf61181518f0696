"""The page: what stands where is in the templates, what is said is here.

Every text goes through `_clean` and is escaped by the template engine, whatever it holds;
the only markup that passes is our own drawings.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import warnings
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from detloader.findings import Severity, Verdict
from detloader.reports.evidence import first_difference_text, measurements
from detloader.reports.html import pictures
from detloader.reports.parts import ASPECTS, aspects, excused, lacking, streams_of
from detloader.reports.plain import LONGEST, plural, shortened
from detloader.reports.sentences import headline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.findings import Finding, JsonValue, Picture, Result, StreamResult

__all__ = ["page"]

ROWS = 200
"""Rows and columns of a table that is drawn, and rows that are shown of one."""

DRAWN = 60
"""Pictures of a page: with more it would be larger than 2 MB. Of the others it has the sentence."""

TOO_MANY = "Neither drawn nor shown as a table: a page of so many pictures would be too large."

_GOOD = frozenset({Verdict.IDENTICAL, Verdict.EQUIVALENT, Verdict.CLEAN})
_DIFFERENT = frozenset({Verdict.REGROUPED, Verdict.REORDERED, Verdict.CHANGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A picture on the page.

    Attributes:
        picture: what it shows.
        name: what it is called in links.
        drawing: SVG; None where the table is the picture.
        key: how the drawing is read, or why there is none.
        rows: the rows of the table that are shown.
    """

    picture: Picture
    name: str
    drawing: Markup | None
    key: str
    rows: list[list[JsonValue]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """One stream of one comparison, as the page shows it.

    Attributes:
        title: what is compared, where the page has several sections.
        result: the comparison.
        stream: the stream.
        cause: the finding that is shown as the cause.
        others: the other findings.
        pictures: what pictures show of it.
    """

    title: str | None
    result: Result
    stream: StreamResult
    cause: Finding | None
    others: list[Finding]
    pictures: list[_Shown]


def page(result: Result, limit: int) -> str:
    """Return the page of a result."""
    sections = [*_sections(result)]
    claim, _, meaning = headline(result).partition(": ")
    explained = next((section for section in sections if section.cause), None)
    text = (
        _environment()
        .get_template("page.html")
        .render(
            result=result,
            claim=claim,
            meaning=meaning,
            tone=_tone(result),
            sections=sections,
            cause=explained and explained.cause,
            culprit=explained and explained.result.runs[-1].path,
            aspects=ASPECTS,
            limit=limit,
            style=Markup(_style()),  # noqa: S704 - a file of our own
        )
    )
    return text + "\n"


def _sections(result: Result) -> Iterator[_Section]:
    left = DRAWN
    for number, (one, stream) in enumerate(streams_of(result)):
        loud = [finding for finding in stream.findings if finding.severity is not Severity.NOTE]
        shown = [
            _shown_picture(picture, f"p{number}-{place}", wanted=place < left)
            for place, picture in enumerate(stream.pictures or [])
        ]
        left -= len(shown)
        yield _Section(
            title=_title(result, one, stream),
            result=one,
            stream=stream,
            cause=loud[0] if loud else None,
            others=[finding for finding in stream.findings if finding not in loud[:1]],
            pictures=shown,
        )


def _shown_picture(picture: Picture, name: str, *, wanted: bool) -> _Shown:
    if not wanted:
        return _Shown(picture=picture, name=name, drawing=None, key=TOO_MANY, rows=[])
    drawing, key = _drawing(picture, name)
    return _Shown(picture=picture, name=name, drawing=drawing, key=key, rows=picture.rows[:ROWS])


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
    environment.globals |= {"different": _DIFFERENT}
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
