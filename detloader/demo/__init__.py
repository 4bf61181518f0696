"""The main job on real input, in a few seconds: record, audit, report.

Handwritten digits are grouped into subjects, and subjects are drawn by weight. The
schedule goes through a model of the older loader and through `to_grain`.
"""

from __future__ import annotations

__all__: list[str] = []
