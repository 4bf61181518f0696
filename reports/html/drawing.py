"""What pictures are drawn with: matplotlib, made to give equal bytes and the page's colours.

Pictures hold numbers and words of our own alone. What comes from a manifest stands in the
page, where it is escaped.
"""

from __future__ import annotations

import io
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from detloader.reports.plain import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from detloader.findings import JsonValue, Picture

__all__ = [
    "FAULT",
    "INK",
    "MUTED",
    "RUN",
    "color_of",
    "counts",
    "drawn",
    "drawn_strips",
    "number",
    "runs_of",
    "shade",
    "ticks",
    "words",
]

INK, MUTED, LINE = "#010a01", "#010a02", "#010a03"
BASELINE, RUN, FAULT = "#010a04", "#010a05", "#010a06"
_VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    BASELINE: "var(--baseline)",
    RUN: "var(--run)",
    FAULT: "var(--fault)",
}
"""Colours that stand for the page's own, so that pictures are dark where the page is."""

SHADES = 6
"""Steps from no row to the most rows."""

LONGEST = 60
"""Characters of a text in a picture."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "detloader",
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "text.parse_math": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": LINE,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.constrained_layout.use": True,
}
_WIDTH = 3.6
"""Inches: so narrow that its words can be read on a phone."""

_UNUSED = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>\s*|<style.*?</style>\s*", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_LINK = re.compile(r'(url\(|href=")#([^)"]*)')
_ID = re.compile(r' id="([^"]*)"')
_LONG_NUMBER = re.compile(r"\d+\.\d{3,}")
_FONT = re.compile(r"font: ([\d.]+)px [^;\"]*")


class Drawing:
    """A figure that is being drawn, and then its SVG."""

    def __init__(self, figure: Figure, axes: list[Axes]) -> None:
        """Take a figure and its axes, from the top, or from the left."""
        self.figure = figure
        self.axes = axes
        self.svg = ""


@contextmanager
def drawn(
    name: str, *, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> Iterator[Drawing]:
    """Give axes to draw on; the SVG is there when they are left.

    Args:
        name: what the picture is called; IDs inside it begin with that.
        height: of the picture, in inches.
        rows: axes one below the other.
        columns: axes side by side.
        options: of matplotlib's `Figure.subplots`.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        figure = Figure(figsize=(_WIDTH, height))
        axes = figure.subplots(rows, columns, squeeze=False, **options)
        drawing = Drawing(figure, [*axes.flat])
        yield drawing
        drawing.svg = _to_svg(figure, name)


def drawn_strips(
    name: str, strips: Mapping[str, Sequence[object]]
) -> AbstractContextManager[Drawing]:
    """Begin a drawing of strips, one below the other, those of each run under its title.

    Args:
        name: that of the picture.
        strips: by run, what there is a strip for.
    """
    heights = [len(rows) for rows in strips.values()]
    return drawn(
        name,
        height=0.9 + 0.35 * len(strips) + 0.22 * sum(heights),
        rows=len(strips),
        sharex=True,
        height_ratios=heights,
    )


def number(picture: Picture, name: str) -> float:
    """Give a number that drawing takes.

    Raises:
        TypeError: it is none.
    """
    value = picture.axes[name]
    if not isinstance(value, int | float):
        raise TypeError(f"{name} is no number")
    return float(value)


def words(text: object) -> str:
    """Give a text that every font has."""
    return printable(str(text))[:LONGEST].encode("ascii", "replace").decode()


def counts(rows: Sequence[Sequence[JsonValue]], first: int) -> npt.NDArray[np.float64]:
    """Give the cells of rows from a column on; shape (rows, columns), float64."""
    return np.array([row[first:] for row in rows], np.float64)


def runs_of(picture: Picture) -> dict[str, list[list[JsonValue]]]:
    """Give the rows of each run, which the first column names."""
    runs: dict[str, list[list[JsonValue]]] = {}
    for row in picture.rows:
        runs.setdefault(words(row[0]), []).append(row)
    return runs


def color_of(run: str) -> str:
    """Give the colour that a run has in every picture."""
    return BASELINE if run == "the baseline" else RUN


def shade(axes: Axes, cells: npt.NDArray[np.float64], color: str, most: float) -> None:
    """Fill cells, the lowest row at the bottom: the more they count, the stronger.

    Args:
        axes: where to draw; a cell is 1 by 1.
        cells: shape (rows, columns), float64.
        color: what to fill with.
        most: the count of the strongest shade.
    """
    steps = np.ceil(cells / most * SHADES).astype(int) if most else np.zeros(cells.shape, int)
    for step in range(1, SHADES + 1):
        corners = [(column, row) for row, column in np.argwhere(steps == step)]
        if corners:
            squares = [_square(column, row) for column, row in corners]
            patch = PathPatch(Path.make_compound_path(*squares), lw=0, fc=color)
            patch.set_alpha(0.12 + 0.88 * step / SHADES)
            patch.set_clip_on(False)
            axes.add_patch(patch)
    axes.set_xlim(0, cells.shape[1])
    axes.set_ylim(0, cells.shape[0])


def ticks(axes: Axes, *, across: float, up: float | None = None, low: float = 0) -> None:
    """Label axes of cells with the numbers that these stand for.

    Args:
        axes: axes whose cells are 1 by 1.
        across: numbers along the x-axis, from 0.
        up: numbers along the y-axis; None leaves it as it is.
        low: the first number on the y-axis.
    """
    _scale(axes.xaxis, axes.get_xlim()[1], across, 0)
    if up is not None:
        _scale(axes.yaxis, axes.get_ylim()[1], up, low)


def _scale(axis: Any, cells: float, numbers: float, low: float) -> None:
    width = np.ceil(numbers / cells)
    places = MaxNLocator(nbins=4, integer=True, steps=[1, 2, 5, 10]).tick_values(low, low + numbers)
    inside = [place for place in places if low <= place <= low + numbers]
    write = StrMethodFormatter("{x:,.0f}")
    axis.set_ticks([(place - low) / width for place in inside], [write(place) for place in inside])


def _square(column: float, row: float) -> Path:
    corners = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
    return Path(np.add(corners, (column, row)), closed=True)


def _to_svg(figure: Figure, name: str) -> str:
    """Give SVG to stand in a page, where IDs are unique and the page decides on size and font."""
    figure.canvas = FigureCanvasSVG(figure)
    written = io.StringIO()
    figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    svg = _UNUSED.sub("", written.getvalue())
    used = {*re.findall(r"url\(#([^)]*)\)", svg), *re.findall(r'href="#([^"]*)"', svg)}
    svg = _TAG.sub(lambda tag: _tidy(tag[0], name, used), svg)
    head = f'<svg \\1 role="img" aria-labelledby="{name}-shows">'
    return re.sub(r'<svg[^>]*?(viewBox="[^"]*")[^>]*>', head, svg, count=1).strip()


def _tidy(tag: str, name: str, used: set[str]) -> str:
    """Give a tag with no more digits than can be seen, the page's colours, and IDs of its own."""
    tag = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", tag)
    tag = _FONT.sub(r"font-size: \1px", tag)
    for color, variable in _VARIABLES.items():
        tag = tag.replace(color, variable)
    tag = _ID.sub(lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", tag)
    return _LINK.sub(lambda found: f"{found[1]}#{name}-{found[2]}", tag)
