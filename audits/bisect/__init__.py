"""Bisect: which release of a package changed what a frozen experiment delivers.

    engine        the control first, then releases on either side of the frozen one
    search        where along a list something changes, in as few trials as there can be
    answer        the result that reports render

Each trial is an environment with another release in it, made and recorded in by
`detloader.audits.environments`.
"""

from __future__ import annotations

from detloader.audits.bisect.engine import bisect

__all__ = ["bisect"]
