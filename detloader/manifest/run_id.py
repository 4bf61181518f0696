"""Which run a rank belongs to, and which rank it is."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import msgspec

from detloader.manifest.layout import HEADER

__all__ = ["choose_run_id", "rank_from_environment"]

_RUN_IDS = ("DETLOADER_RUN_ID", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")


class _RunId(msgspec.Struct):
    run_id: str


def choose_run_id(run: Path) -> str:
    """Return the ID that the ranks and streams of a run share.

    It is `DETLOADER_RUN_ID`, else the launcher's job, else that of a rank that was
    there first, else a new one. The new one comes from the operating system's entropy,
    so that no generator of the program moves.
    """
    for name in _RUN_IDS:
        if value := os.environ.get(name):
            return value
    for header in sorted(run.glob(f"*/rank-*/{HEADER}")):
        try:
            return msgspec.json.decode(header.read_bytes(), type=_RunId).run_id
        except (OSError, msgspec.DecodeError):
            continue
    return uuid.uuid4().hex


def rank_from_environment() -> int:
    """Return this process's data-parallel rank as its launcher set it, else 0."""
    for name in _RANKS:
        if (value := os.environ.get(name, "")).isdecimal():
            return int(value)
    return 0
