"""What a picture is, and where pictures are found.

A picture is a module. Its name is the picture's, and it has a `TITLE`, a `PLACE` on the
page and a function `sketch(scene)` that gives what there is to draw of two streams, or of
one; None where the picture would show nothing. `detloader.reports.html.pictures` draws it.

Whatever the number of rows, a sketch has a few hundred cells, and a sentence that says
what they show.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from detloader.findings import Picture

if TYPE_CHECKING:
    from types import ModuleType

    from detloader.audits.compare import Comparison
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Stream

__all__ = ["Scene", "Sketch", "brief", "percent", "pictures_of_equal", "take_pictures"]


LONGEST = 120
"""Characters that a table shows of a text."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scene:
    """What pictures are taken of.

    Attributes:
        a: all rows of the baseline, or of the only run; at least one.
        b: all rows of the other run; None in a check.
        comparison: what differs between them; None in a check, and where nothing does.
    """

    a: StreamView
    b: StreamView | None = None
    comparison: Comparison | None = None

    @property
    def views(self) -> dict[str, StreamView]:
        """Give the streams by what they are called in tables and sentences."""
        if self.b is None:
            return {"the run": self.a}
        return {"the baseline": self.a, "the run": self.b}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """What there is to draw; the fields are those of `detloader.findings.Picture`."""

    sentence: str
    columns: list[str]
    rows: list[list[JsonValue]]
    axes: dict[str, JsonValue] = field(default_factory=dict)


class _Camera(Protocol):
    """What a picture's module offers."""

    TITLE: str
    PLACE: int

    def sketch(self, scene: Scene) -> Sketch | None: ...


def take_pictures(scene: Scene) -> list[Picture]:
    """Take every picture that shows something, in the order of the page."""
    if any(not view.rows for view in scene.views.values()):
        return []
    found = []
    for name, camera in sorted(_cameras().items(), key=lambda item: item[1].PLACE):
        sketch = camera.sketch(scene)
        if sketch is not None:
            found.append(
                Picture(
                    name=name,
                    title=camera.TITLE,
                    sentence=sketch.sentence,
                    columns=sketch.columns,
                    rows=sketch.rows,
                    axes=sketch.axes,
                )
            )
    return found


def pictures_of_equal(path_a: str, a: Stream, path_b: str, b: Stream) -> list[Picture]:
    """Take the pictures of two streams whose headers tell that they are equal."""
    from detloader.audits.view import load_views
    from detloader.manifest.schema import Level

    if Level.DIGEST in {a.level, b.level} or not (a.rows and b.rows):
        return []
    view_a, view_b = load_views([(path_a, a), (path_b, b)])
    return take_pictures(Scene(a=view_a, b=view_b))


def _cameras() -> dict[str, _Camera]:
    from detloader.audits import pictures

    modules = [module.name for module in pkgutil.iter_modules(pictures.__path__)]
    return {name.replace("_", "-"): _camera(pictures, name) for name in modules}


def _camera(package: ModuleType, name: str) -> _Camera:
    return cast("_Camera", importlib.import_module(f"{package.__name__}.{name}"))


def brief(value: JsonValue, most: int = LONGEST) -> JsonValue:
    """Give a value for a table: of a long text its beginning."""
    return f"{value[:most]}…" if isinstance(value, str) and len(value) > most else value


def percent(part: float, whole: float) -> str:
    """Give a share, which is neither "0%" nor "100%" where it is not."""
    if part in {0, whole}:
        return "100%" if part else "0%"
    return f"{min(max(part / whole, 0.001), 0.999):.1%}"
