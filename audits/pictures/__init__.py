"""The pictures, one file each; `detloader.audits.picture` says what a picture is."""

from __future__ import annotations

__all__: list[str] = []
