"""The audits: they ask questions of recorded runs and name the cause of a difference.

What happens, in the order of a question's way:

    engine       opens the runs, pairs their streams, asks, and puts the answer together
    compare      two streams: their rows side by side, counted by kind of difference
    columns      values of a stream as arrays; strings stand as codes
    alignment    which row of one run is which row of the other
    batches      what a batch is, where labels are only labels
    verdict      the first verdict that fits
    view         one stream of one run, as the rules see it
    rule         what a rule is, and where rules are found
    statistics   the one error chance, and the tests that keep it
    rules/       one rule, one file, one name

Nothing here runs recorded code, and nothing here imports a training framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detloader.audits.engine import audit, check
    from detloader.audits.rule import all_rules

__all__ = ["all_rules", "audit", "check"]


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    if name == "all_rules":
        from detloader.audits.rule import all_rules

        return all_rules
    if name in {"audit", "check"}:
        from detloader.audits import engine

        return getattr(engine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
