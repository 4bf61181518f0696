"""The rules: one rule, one file, one name. `detloader.audits.rule` says what a rule is."""

from __future__ import annotations

__all__ = ["HEADER_RULES"]

HEADER_RULES: tuple[str, ...] = ()
"""Modules that compare headers, listed here so that auditing equal runs imports no other rule."""
