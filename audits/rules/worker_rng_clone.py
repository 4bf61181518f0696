"""Two workers, or two ranks, use one random stream.

## What it catches

Draws of two workers (or ranks) that are the same from place to place within an
epoch, for other records: one random generator was copied, or seeded alike.

## Why it hurts

With W workers only one in W augmentations is a new one. No error is raised, and
the loss looks normal.

## Example

A generator stored on the data set is copied when workers are forked:

    worker 0   records 0 2 4   draws 71 35 90
    worker 1   records 1 3 5   draws 71 35 90

## How to mend it

Derive each sample's generator from (seed, epoch, record), or seed each worker from
(seed, epoch, rank, worker) when it starts. Seeding the global generators is not enough
where a data set or a transform keeps a generator of its own. Draws that are meant to be
shared are declared: `config.shared_draws` true, or the name of the column whose equal
values share a draw, such as a clip.

## Evidence

- `column`: the draws that are copied; `healthy`: columns of draws that are not.
- `between`: "workers", "ranks" or "workers and ranks".
- `pairs`: who equals whom, 20 at most; `pairs_count`: all such pairs.
- `matched` of `compared`: draws that agree, in the pair that agrees least.
- `distinct`: different draws among `rows` rows that have a draw.
- `epochs`: where it was seen.
- `log10_chance`: decimal logarithm of the chance of that pair.

## Limits

Needs `draws`, and `worker` or several ranks. Rows without a draw, and equal records
at equal places, count for nothing. The chance that two draws agree is estimated from how
often draws repeat within a stream: eight records that take one of many draws are enough,
coin flips need about 80. One in twenty may break the match, for filters shift a stream. The first
65,536 draws of a stream and epoch are compared.
A draw that is one for a whole global
batch is shared by its rows on purpose.

## Seen in

pytorch/pytorch#5059 and a dozen projects after it; xingyizhou/CenterNet#233.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import replay_again, show
from detloader.audits.measures.clones import find_families
from detloader.audits.measures.deliverers import deliverers_of
from detloader.audits.measures.draws import draw_columns
from detloader.audits.measures.layouts import layouts_of_streams
from detloader.audits.measures.shown import SHOWN
from detloader.audits.measures.source import without_padding
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.measures.clones import Family
    from detloader.audits.measures.deliverers import Deliverers
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue


__all__ = ["EXAMPLE", "OF_PARTS", "STAGE", "check_run"]


STAGE = Stage.STREAMS
OF_PARTS = True


_STREAM = [71, 35, 90, 12, 58, 44, 83, 67, 29, 16]


EXAMPLE = Example(
    faulty={"worker": [0] * 10 + [1] * 10, "record": list(range(20)), "draws": _STREAM * 2},
    mended={
        "worker": [0] * 10 + [1] * 10,
        "record": list(range(20)),
        "draws": [*_STREAM, *(draw + 100 for draw in _STREAM)],
    },
    declared={"workers": 2, "shuffle": False, "source_size": 20},
)


@dataclass(slots=True)
class _Clones:
    """Copies of one column's streams, and the epochs in which they were seen.

    Attributes:
        families: the most that one layout shows.
        epochs: where copies were seen.
        doubtful: whether streams are equal that chance may have made so.
    """

    families: list[Family] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    doubtful: bool = False


def check_run(view: StreamView, known: Known) -> list[Fault]:  # noqa: ARG001 - explains no other
    """Find workers and ranks that share a stream of draws."""
    names = draw_columns(view)
    if view.config("shared_draws") is True:
        return []
    rows = without_padding(view)
    deliverers = deliverers_of(rows)
    if len(deliverers) < 2:  # noqa: PLR2004
        raise CannotTell("worker" if not view.has("worker") else "at least 2 workers or ranks")
    found = {name: _find(rows, name, deliverers) for name in names}
    healthy = [name for name, clones in found.items() if not clones.families]
    copied = [name for name in found if name not in healthy]
    if not copied and any(clones.doubtful for clones in found.values()):
        raise CannotTell("more draws: streams are equal, but chance may have made them so")
    if "draws" in copied:  # it covers all draws
        copied = ["draws"]
    return [_fault(rows, name, deliverers, found[name], healthy) for name in copied]


def _find(view: StreamView, name: str, deliverers: Deliverers) -> _Clones:
    layouts = list(layouts_of_streams(view, name, deliverers))
    pairs = len(deliverers) * (len(deliverers) - 1) // 2
    clones = _Clones()
    for epochs, streams in layouts:
        if clones.families and len(epochs) > 1:
            break
        families, doubtful = find_families(streams, pairs * len(layouts))
        clones.doubtful |= doubtful
        if families:
            clones.epochs += epochs
            clones.families = max(clones.families, families, key=_pair_count)
    return clones


def _pair_count(families: list[Family]) -> int:
    return sum(len(family.members) * (len(family.members) - 1) // 2 for family in families)


def _fault(
    view: StreamView, name: str, deliverers: Deliverers, clones: _Clones, healthy: list[str]
) -> Fault:
    pairs = [
        (one, other)
        for family in clones.families
        for place, one in enumerate(family.members)
        for other in family.members[place + 1 :]
    ]
    weakest = max((family.agreement for family in clones.families), key=lambda a: a.log_chance)
    between = _between(deliverers, pairs)
    drawn = view.compared[name].values[~view.compared[name].missing()]
    distinct = len(np.unique(drawn))
    evidence: dict[str, JsonValue] = {
        "column": name,
        "healthy": [*healthy],
        "between": between,
        "pairs": [[deliverers.show(one), deliverers.show(other)] for one, other in pairs[:SHOWN]],
        "pairs_count": len(pairs),
        "matched": weakest.matched,
        "compared": weakest.compared,
        "distinct": distinct,
        "rows": len(drawn),
        "epochs": [*clones.epochs],
        "log10_chance": round(weakest.log_chance / math.log(10), 1),
    }
    who = _who(deliverers, pairs, between)
    what = "draws" if name == "draws" else f"draws of {name.removeprefix('draws_')}"
    return Fault(
        severity=Severity.FAIL,
        message=f"{who} have the same {what}, place by place: {weakest.matched} of "
        f"{weakest.compared} agree, and {len(drawn)} rows have {distinct} different draws.",
        cause=f"The {between} hold copies of one random generator, or seed theirs alike.",
        evidence=evidence,
        confirm=show(view.path, epoch=clones.epochs[0])
        if between == "ranks"
        else replay_again(view.path, view.stream, workers=1),
    )


def _who(deliverers: Deliverers, pairs: list[tuple[int, int]], between: str) -> str:
    """Count who has copies: workers of several ranks are more than these."""
    numbers = {number for pair in pairs for number in pair}
    ranks = {deliverers.ranks[number] for number in numbers}
    if between == "workers" or len(numbers) == len(ranks):
        return f"{len(numbers)} {between}"
    return f"{len(numbers)} workers of {len(ranks)} ranks"


def _between(deliverers: Deliverers, pairs: list[tuple[int, int]]) -> str:
    same_rank = [deliverers.ranks[one] == deliverers.ranks[other] for one, other in pairs]
    if all(same_rank):
        return "workers"
    return "workers and ranks" if any(same_rank) else "ranks"
