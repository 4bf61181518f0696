"""Which run a rank belongs to, and which rank it is."""

from __future__ import annotations

import hashlib
import os
import platform
import uuid
from collections.abc import Mapping

import msgspec

from detloader.errors import RunExistsError
from detloader.manifest.canonical import MOST_BYTES
from detloader.manifest.folders import find_ranks
from detloader.manifest.layout import HEADER

__all__ = [
    "PROGRAM",
    "choose_run_id",
    "rank_from_environment",
    "ranks_from_environment",
    "ranks_told",
    "stream_of_attempt",
]

PROGRAM = "DETLOADER_PROGRAM_RUN_ID"
"""ID that a recorded program's processes share where neither user nor launcher gave one."""

_GIVEN = "DETLOADER_RUN_ID"
_ELASTIC = "TORCHELASTIC_RUN_ID"
_OTHERS = (_ELASTIC, "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", PROGRAM)
# A process's rank, and how many there are, as launchers set them.
_RANKS = {
    "RANK": "WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK": "PMI_SIZE",
    "PMIX_RANK": "PMIX_SIZE",
    "SLURM_PROCID": "SLURM_NTASKS",
}


class _RunId(msgspec.Struct):
    run_id: str


def choose_run_id(run: str, given: str | None = None) -> str:
    """Return the ID that the ranks and streams of a run share.

    It is the one given, else `DETLOADER_RUN_ID`, else the launcher's job (of a `torchrun` without
    `--rdzv-id`, the place where its ranks meet), else the recorded program's, else that of a rank
    that was there first, else a new one. The new one comes from the operating system's entropy, so
    that no generator of the program moves. Where a launcher runs within a job or a program, the ID
    of either is this process's own.

    Raises:
        RunExistsError: a rank that was there first belongs to another run.
    """
    there = _id_of_first_rank(run)
    mine = _own_ids(given)
    if there is None:
        return mine[0] if mine else uuid.uuid4().hex
    if mine and there not in mine:
        message = f"{run} holds run {there}, this is run {mine[0]}: choose another folder"
        raise RunExistsError(message)
    return there


def _own_ids(given: str | None) -> list[str]:
    """Return the IDs that a rank of this process's run may have, the one that it takes first."""
    if one := given or os.environ.get(_GIVEN):
        return [one]
    told = {name: os.environ.get(name) for name in _OTHERS}
    if told[_ELASTIC] == "none":
        told[_ELASTIC] = _id_of_meeting()
    return [*filter(None, told.values())]


def _id_of_meeting() -> str:
    """Return an ID made of where the ranks of a `torchrun` meet to which nobody gave one.

    All such jobs call themselves "none". Two at once cannot meet at one place; those of one node
    each may well name theirs alike.
    """
    size = os.environ.get("WORLD_SIZE")
    node = platform.node() if size == os.environ.get("LOCAL_WORLD_SIZE") else ""
    place = (node, os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT"))
    return hashlib.sha256(repr(place).encode()).hexdigest()[:32]


def _id_of_first_rank(run: str) -> str | None:
    for folder in sorted(find_ranks(run), key=str):
        try:
            return msgspec.json.decode(folder.read(HEADER, MOST_BYTES), type=_RunId).run_id
        except (OSError, msgspec.DecodeError):
            continue
    return None


def rank_from_environment() -> int:
    """Return this process's data-parallel rank as its launcher set it, else 0."""
    return next((_number(name) or 0 for name in _RANKS if _number(name) is not None), 0)


def ranks_from_environment() -> int | None:
    """Return how many ranks this process's launcher started; None where it does not say."""
    sizes = (_number(size) for rank, size in _RANKS.items() if _number(rank) is not None)
    return next(sizes, None) or None


def stream_of_attempt(stream: str) -> str:
    """Return the name that a stream has in this attempt of the launcher's.

    `torchrun` starts all ranks again where one failed: rows of the two attempts are not mixed.
    """
    restarts = _number("TORCHELASTIC_RESTART_COUNT")
    return f"{stream}+restart{restarts}" if restarts else stream


def ranks_told(environment: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return what an environment says of a process's rank, launcher by launcher."""
    return tuple(map(environment.get, _RANKS))


def _number(name: str) -> int | None:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else None
