"""Whether a run tells parts of its source apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detloader.audits.view import StreamView

__all__ = ["has_shards"]


def has_shards(view: StreamView) -> bool:
    """Tell whether records are known to lie in several shards: one shard says nothing of order."""
    if not view.has("shard"):
        return False
    shard = view.source.read("shard").values  # of all rows: those at hand may be of one by chance
    return len(shard) > 0 and bool((shard != shard[0]).any())
