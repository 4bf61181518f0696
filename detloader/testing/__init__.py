"""Assertions about loaders: what the pytest plugin's fixture `detloader` is, without pytest.

    assertions              `Assertions`, the object with all of them
    context                 what surrounds one: where runs go, the project's settings, who is told
    options, factory        a factory of loaders: what it takes, and what it is given
    runs, fresh             a loader recorded, in this process or in one of its own
    left_behind             processes that a loader should have ended
    comparison, repeats     two runs that should be alike, and are made again where they are not
    invariance, seeds, reproduction, resuming, coverage, weights, matching, cleanness
                            one assertion each
    orders                  the frozen orders beside a test
    search, pasted          the smallest case that fails, and the test that shows it
    marked                  tests that are marked `seed_invariant`
    told                    what a failure says

The plugin itself is `detloader.pytest_plugin`.

>>> from detloader.testing import Assertions
>>> Assertions().assert_invariant(lambda workers=0: range(10), over={"workers": [0, 2]})
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detloader.testing.assertions import Assertions

__all__ = ["Assertions"]


def __getattr__(name: str) -> object:
    """Load the class when it is first asked for."""
    if name == "Assertions":
        from detloader.testing.assertions import Assertions

        return Assertions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
