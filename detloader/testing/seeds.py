"""Another seed, another order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from detloader.errors import UsageError
from detloader.manifest.reader import Run
from detloader.testing.context import Context
from detloader.testing.factory import Factory, label
from detloader.testing.invariance import made_under
from detloader.testing.told import Made, look_further

__all__ = ["check_seeds"]


def check_seeds(context: Context, factory: Factory, seeds: Sequence[int]) -> str:
    """Require that each two seeds give records in another order.

    Raises:
        AssertionError: two seeds give the same order.
        UsageError: the factory takes no seed, or there are no two to compare.
    """
    if factory.argument("seed") is None:
        raise UsageError(f"{factory.name} takes no seed, which could not matter then")
    if len(set(seeds)) < max(len(seeds), 2):
        raise UsageError("name two seeds or more, all of them different, as seeds=[0, 1]")
    with context.folder() as folder:
        made = [
            Made(made_under(factory, {"seed": seed}, folder), label({"seed": seed}))
            for seed in seeds
        ]
        orders = [_order(each.run) for each in made]
        for (a, order), (b, other) in combinations(zip(made, orders, strict=True), 2):
            if order == other:
                raise AssertionError(_same(factory, a, b))
    return f"{len(made)} seeds, {made[0].run.rows:,} rows each"


def _order(run: Run) -> Any:
    (stream,) = run.streams.values()
    names = [name for name in ("epoch", "record") if name in stream.columns]
    return stream.table(names).select(names).to_pydict()


def _same(factory: Factory, a: Made, b: Made) -> str:
    other = a.run.fingerprint != b.run.fingerprint
    what = "draws or content follow it, but the order does not" if other else "it has no effect"
    return "\n".join(
        [
            f"{factory.name} gives one order with {a.name} and with {b.name}: {what}",
            "",
            f"  the same           {a.run.rows:,} rows",
            look_further("audit", a, b),
        ]
    )
