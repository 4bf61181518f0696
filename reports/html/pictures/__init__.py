"""How pictures are drawn, one file each, under the names of `detloader.audits.pictures`.

A module has a `KEY`, which says how its picture is read, and a function `draw(picture)`
that gives SVG. A picture without a module is its table.
"""

from __future__ import annotations

__all__: list[str] = []
