"""A folder on the import path of a recorded program's processes; see `sitecustomize`."""

from __future__ import annotations

__all__: list[str] = []
