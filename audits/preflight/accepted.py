"""The frozen file of a change that was accepted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.frozen.form import Migration
from detloader.audits.preflight.decision import Decision
from detloader.errors import UsageError

if TYPE_CHECKING:
    from detloader.audits.frozen import Frozen
    from detloader.audits.preflight.engine import Preflight

__all__ = ["accepted", "beside", "in_words"]


def in_words(reason: str) -> str:
    """Return a reason with its white space evened out.

    Raises:
        UsageError: it is empty.
    """
    words = " ".join(reason.split())
    if not words:
        raise UsageError("the reason is empty: say why the change is accepted")
    return words


def accepted(preflight: Preflight, reason: str) -> Frozen:
    """Return the frozen form of what the candidate delivers, as the child of what was frozen.

    Raises:
        UsageError: there is no change that could be accepted.
    """
    decision, candidate = preflight.result.decision, preflight.candidate
    if decision == Decision.KEEP:
        raise UsageError("what was frozen comes out: there is no change to accept")
    if decision is None:
        raise UsageError(f"nothing can be accepted: {preflight.result.reason}")
    if candidate is None:
        raise UsageError(
            "nothing can be accepted: the candidate does not deliver the same rows twice"
        )
    migration = Migration(
        parent=preflight.frozen.fingerprint,
        order_policy=_order_policy(preflight.frozen, candidate),
        reason=reason,
    )
    return msgspec.structs.replace(candidate, migration=migration)


def _order_policy(frozen: Frozen, candidate: Frozen) -> str:
    """Name the new order: as its loader does, else by the versions that made it."""
    (before,), (now,) = frozen.streams.values(), candidate.streams.values()
    declared = now.declared
    if named := declared.order_policy or declared.stream_mode:
        return named
    moved = [
        f"{name}=={version}"
        for name, version in now.packages.items()
        if before.packages.get(name, version) != version
    ]
    return ", ".join(moved) or declared.loader or "another"


def beside(file: str, child: Frozen) -> str:
    """Name a file for a child beside its parent's, by its fingerprint."""
    path = Path(file)
    return str(path.with_name(f"{path.stem}-{child.fingerprint[:8]}{path.suffix}"))
