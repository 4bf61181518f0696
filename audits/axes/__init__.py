"""What a replay varies: one axis, one file, one name; `detloader.audits.replay.axis` reads them."""

from __future__ import annotations

__all__: list[str] = []
