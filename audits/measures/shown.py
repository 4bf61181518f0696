"""What evidence shows of long lists: their beginning, and how long they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["SHOWN", "show_records"]

SHOWN = 20
"""Records, epochs or pairs that the evidence of a finding names."""


def show_records(name: str, view: StreamView, codes: Integers) -> dict[str, JsonValue]:
    """Give the IDs of the first records under a name, and beside it how many there are."""
    return {name: [*view.identify(codes[:SHOWN])], f"{name}_count": len(codes)}
