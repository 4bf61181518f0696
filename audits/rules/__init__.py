"""The rules: one rule, one file, one name. `detloader.audits.rule` says what a rule is."""

from __future__ import annotations

__all__: list[str] = []
