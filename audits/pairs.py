"""Two streams brought side by side: which columns and which rows can be compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.batches import place_in_epoch
from detloader.audits.continued import from_restart, later
from detloader.audits.headers import goes_on
from detloader.audits.integers import distinct
from detloader.audits.measures.conditions import config_differences
from detloader.audits.sampled_rows import rows_of_both
from detloader.audits.view import StreamView, load_views
from detloader.manifest.tables import count_in_groups

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.manifest.reader import Stream

__all__ = ["NO_COMMON_ROWS", "Pair", "load_pair"]

NO_COMMON_ROWS = "no rank has rows in both runs yet: audit them when they have"
"""Why two streams, of which one is not complete, could not be compared."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Pair:
    """Two streams, whole and as far as they can be compared.

    Attributes:
        a: all rows of the baseline that the other run was to record, too.
        b: those of the other run; its `baseline` is `a`.
        common_a: the rows and columns of the baseline that can be compared.
        common_b: those of the other run.
        coverage: compared rows over the rows of the longer run, 0 to 1.
        before: rows of one run that come before the other one goes on with it, and were not
            compared.
        later: by how many the numbers of that other one's epochs were raised, to be the same.
    """

    a: StreamView
    b: StreamView
    common_a: StreamView
    common_b: StreamView
    coverage: float
    before: int
    later: int

    def tell_restart(self) -> str | None:
        """Say from where on the runs were compared, where one of them goes on with the other."""
        if not self.before:
            return None
        whole, resumed = self._whole_and_resumed()
        return f"{resumed.path} goes on after the first {self.before:,} rows of {whole.path}"

    def tell_numbering(self) -> str | None:
        """Say which epoch the first one of a run is that counts its epochs anew."""
        if not self.later:
            return None
        whole, resumed = self._whole_and_resumed()
        first = int(resumed.epoch[0])
        return f"epoch {first - self.later} of {resumed.path} is epoch {first} of {whole.path}"

    def _whole_and_resumed(self) -> tuple[StreamView, StreamView]:
        whole, resumed = sorted((self.a, self.b), key=lambda view: goes_on(view.stream))
        return whole, resumed


def load_pair(path_a: str, stream_a: Stream, path_b: str, stream_b: Stream) -> Pair:
    """Read two streams of one type of record ID, at least one of which has rows."""
    sources = [(path_a, stream_a), (path_b, stream_b)]
    views = load_views([source for source in sources if source[1].rows])
    a = views[0] if stream_a.rows else _emptied(views[0], path_a, stream_a)
    b = views[-1] if stream_b.rows else _emptied(views[-1], path_b, stream_b)
    a, b = rows_of_both(a, b)
    otherwise = config_differences(stream_a, stream_b)
    a, b = replace(a, otherwise=otherwise), replace(b, otherwise=otherwise)
    late_a, late_b, raised = from_restart(*_common_columns(a, b))
    a, b = map(later, (a, b), raised)
    common_a, common_b = _common_rows(late_a, late_b)
    longer = max(stream_a.delivered, stream_b.delivered)
    return Pair(
        a=a,
        b=replace(b, baseline=a),
        common_a=common_a,
        common_b=common_b,
        coverage=max(common_a.rows, common_b.rows) / longer,
        before=max(a.rows - late_a.rows, b.rows - late_b.rows),
        later=max(raised),
    )


def _emptied(view: StreamView, path: str, stream: Stream) -> StreamView:
    """Give a view of no row, where a run without rows has no columns either."""
    return replace(view.take(np.zeros(0, np.int64)), path=path, stream=stream)


def _common_columns(a: StreamView, b: StreamView) -> tuple[StreamView, StreamView]:
    shared = a.compared.keys() & b.compared.keys()
    epochs = not (a.rows and b.rows) or a.has("epoch") == b.has("epoch")
    return _only(a, shared, epochs=epochs), _only(b, shared, epochs=epochs)


def _only(view: StreamView, names: set[str], *, epochs: bool) -> StreamView:
    """Keep these columns; canonical order is another where epochs or batches go."""
    kept = replace(
        view,
        compared=view.compared.only(filter(names.__contains__, view.compared), view.selection),
        epoch=view.epoch if epochs else np.broadcast_to(np.int64(0), view.rows),
    )
    if view.ranks < 2 or (epochs and ("batch" in names or "batch" not in view.compared)):  # noqa: PLR2004
        return kept
    if "batch" in names:
        order = np.lexsort((kept.position, kept.rank, kept.compared["batch"].values, kept.epoch))
    else:
        order = np.lexsort((kept.rank, place_in_epoch(kept), kept.epoch))
    return kept.take(order)


def _common_rows(a: StreamView, b: StreamView) -> tuple[StreamView, StreamView]:
    """Cut the longer one where the shorter one is only the beginning of a run.

    Ranks that are the same in both are cut one by one, for none waits for another.
    """
    ranks = np.union1d(distinct(a.rank), distinct(b.rank))
    if len(ranks) > 1 and _same_world(a, b):
        limits = {int(rank): _limit(a, b, int(rank)) for rank in ranks}
        return _cut_ranks(a, limits), _cut_ranks(b, limits)
    limit = _limit(a, b, None)
    return a.take(slice(limit)), b.take(slice(limit))


def _same_world(a: StreamView, b: StreamView) -> bool:
    declared = a.declared("world_size") == b.declared("world_size")
    return declared or a.stream.ranks_told == b.stream.ranks_told


def _limit(a: StreamView, b: StreamView, rank: int | None) -> int:
    rows_a = a.rows if rank is None else int((a.rank == rank).sum())
    rows_b = b.rows if rank is None else int((b.rank == rank).sum())
    shorter = a if rows_a < rows_b else b
    if rows_a == rows_b or shorter.stream.complete:
        return max(rows_a, rows_b)
    return min(rows_a, rows_b)


def _cut_ranks(view: StreamView, limits: dict[int, int]) -> StreamView:
    ranks, rank_of_row, counts = np.unique(view.rank, return_inverse=True, return_counts=True)
    limit: Integers = np.array([limits[int(rank)] for rank in ranks], np.int64)
    if (counts <= limit).all():
        return view
    # Not by position: rows that the other run was not to record are no rows of the view.
    place = count_in_groups(np.lexsort((view.position, view.rank)), view.rank)
    return view.take(place < limit[rank_of_row])
