"""What evidence shows of long lists: their beginning, and how long they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue, RecordId

__all__ = ["SHOWN", "listed", "show_records"]

SHOWN = 20
"""Records, epochs or pairs that the evidence of a finding names."""

NAMED = 5
"""Records that a sentence names."""


def show_records(name: str, view: StreamView, codes: Integers) -> dict[str, JsonValue]:
    """Give the IDs of the first records under a name, and beside it how many there are."""
    return {name: [*view.identify(codes[:SHOWN])], f"{name}_count": len(codes)}


def listed(names: Sequence[RecordId], count: int) -> str:
    """Name the first of so many records in a sentence, such as "3, 1, 4, 1, 5, …"."""
    shown = names[:NAMED]
    return ", ".join(map(str, shown)) + (", …" if count > len(shown) else "")
