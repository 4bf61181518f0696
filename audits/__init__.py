"""The audits: they ask questions of recorded runs and name the cause of a difference.

What happens, in the order of a question's way:

    engine, streams, difference   open the runs, compare their streams, put the answer together
    pairing                       which stream of one run is compared with which of the other
    headers                       what is told before a row is read
    view, columns, reading        one stream of one run as arrays, read when they are asked for
    pairs                         two of them side by side
    alignment, increasing         which row of one run is which of the other; what moved
    batches, compare, integers    what a batch is; rows by kind of difference; tallies
    first                         the first difference, found by digests
    verdict                       the first verdict that fits
    equivalence                   whether two runs are as alike as was asked
    acceptance                    differences that a project knows of, and accepts for a time
    decisions                     what both of these say about several comparisons
    rule, asking                  what a rule is, and where it is found; rules in causal order
    confirm                       the command that would confirm a cause
    explain, operations, dealt    one order made of another by what loaders do
    extent                        which ranks, epochs or rows only one of two runs has
    measures/                     what rules measure
    rules/                        one rule, one file, one name
    replay/, axes/                a recorded recipe run again, and what is varied: one file an axis
    frozen/                       a run as a small text file; what differs from it, by digests
    preflight/                    a frozen run made again, and elsewhere: keep, pin or migrate
    bisect/                       the release of a package that changed what a frozen run delivers
    environments/                 other versions of packages and of Python, and recording there

Only `replay` and what is made of it run recorded code; an audit imports none of that. Nothing
here imports a training framework.
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
