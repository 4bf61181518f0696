"""Runs on disk, written from columns in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa

from detloader.audits import audit, check
from detloader.manifest.schema import Declared, Environment, Level
from detloader.manifest.writer import RankWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from detloader.findings import Result

__all__ = ["audit_rows", "check_rows", "write_run"]

DIGESTS = ("draws", "content", "raw")


def write_run(
    path: Path,
    rows: Mapping[str, Sequence[Any] | np.ndarray],
    declared: Mapping[str, Any] | None = None,
    *,
    stream: str = "main",
    level: Level = Level.FULL,
    seal: bool = True,
) -> Path:
    """Write rows in delivery order; a `rank` column deals them to ranks."""
    ranks = np.asarray(rows.get("rank", np.zeros(len(rows["record"]), np.int64)))
    table = pa.table({name: _array(name, rows[name]) for name in rows if name != "rank"})
    meant = msgspec.convert(dict(declared or {}), Declared)
    for rank in np.unique(ranks) if len(ranks) else [0]:
        writer = RankWriter(
            path,
            stream=stream,
            rank=int(rank),
            level=level,
            declared=meant,
            environment=Environment(),
            run_id="test",
        )
        mine = table.filter(pa.array(ranks == rank))
        if len(mine):
            writer.append(mine)
        if seal:
            writer.close()
    return path


def check_rows(path: Path, rows: Mapping[str, Any], **declared: Any) -> Result:
    """Check a run of these rows."""
    return check(write_run(path / "run", rows, declared))


def audit_rows(path: Path, a: Mapping[str, Any], b: Mapping[str, Any], **declared: Any) -> Result:
    """Audit two runs of these rows, under one declaration."""
    return audit(write_run(path / "a", a, declared), write_run(path / "b", b, declared))


def _array(name: str, values: Sequence[Any] | np.ndarray | pa.Array[Any]) -> pa.Array[Any]:
    if isinstance(values, pa.Array):
        return values
    if name.startswith(DIGESTS) and not any(isinstance(value, str) for value in values):
        digests: pa.Array[Any] = pa.array(values, pa.uint64())
        return digests
    found: pa.Array[Any] = pa.array(values)
    return found
