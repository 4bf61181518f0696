"""Starts a program so that its loaders are recorded: in its place, with its own status."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from detloader.errors import RunExistsError, UsageError
from detloader.interception.lineage import CHILD
from detloader.manifest.folders import find_ranks
from detloader.manifest.layout import check_address, is_remote, rank_name, whole_address
from detloader.manifest.run_id import (
    PROGRAM,
    rank_from_environment,
    ranks_told,
    stream_of_attempt,
)

__all__ = ["OPTIONS", "PROCESS", "RUN", "STARTUP", "launch"]

RUN = "DETLOADER_PROGRAM_RUN"
"""Folder of the run, absolute."""
OPTIONS = "DETLOADER_PROGRAM_OPTIONS"
"""What `record` is told for each loader, as JSON."""
PROCESS = "DETLOADER_PROGRAM_PROCESS"
"""Number of the process that was launched: the one that says whether anything was recorded."""
ERRORS = "DETLOADER_PROGRAM_STDERR"
"""Which file its standard error is; what a program writes elsewhere, it may read itself."""
STARTUP = Path(__file__).parent / "startup"

# Flags of Python in one argument, and at its end one that has a value, joined to it or behind it.
_FLAGS = re.compile(r"-(?!$)([^cmWX-]*)(?:([cmWX]|-check-hash-based-pycs)(.*))?", re.DOTALL)


def launch(run: str, program: Sequence[str], options: Mapping[str, object]) -> NoReturn:
    """Become the program, its loaders recorded; signals, output and status are its own.

    Args:
        run: folder to write.
        program: the command and its arguments.
        options: what `record` is told for each loader.

    Raises:
        RunExistsError: there is something in the folder.
        UsageError: there is no such command, or the folder has no name.
    """
    check_address(run)
    if _is_taken(run):
        raise RunExistsError(f"{run} exists: record into another folder, or remove it first")
    command = shutil.which(program[0])
    if command is None:
        message = f"{program[0]} is no command and no factory: write MODULE:FACTORY, or a program"
        raise UsageError(message)
    if _is_isolated(command, program[1:]):
        sys.stderr.write(
            f"detloader: {program[0]} is told to ignore its environment, so that what it iterates "
            "is not recorded: leave out -I, -E and -S\n"
        )
    os.execvpe(command, list(program), _environment(whole_address(run), options))  # noqa: S606 - what was asked for


def _is_isolated(command: str, arguments: Sequence[str]) -> bool:
    """Tell whether this is a Python that runs no `sitecustomize`, or not ours."""
    if not re.fullmatch(r"python[0-9.]*t?", Path(command).name):
        return False
    rest = iter(arguments)
    for argument in rest:
        found = _FLAGS.fullmatch(argument)
        if found is None:
            return False  # the program
        flags, valued, value = found.groups()
        if re.search("[IES]", flags):
            return True
        if valued in {"c", "m"}:
            return False  # the program, too
        if valued and not value:
            next(rest, None)
    return False


def _is_taken(run: str) -> bool:
    there = [*find_ranks(run)]
    if there and _is_rank():
        # Others of the launcher may have begun; whose run it is, their ID will tell.
        mine, attempt = rank_name(rank_from_environment()), stream_of_attempt("")
        return any(folder.name == mine and folder.stream.endswith(attempt) for folder in there)
    if is_remote(run):
        return bool(there)
    target = Path(run)
    return target.exists() and (not target.is_dir() or any(target.iterdir()))


def _environment(run: str, options: Mapping[str, object]) -> dict[str, str]:
    environment = dict(os.environ)
    paths = [str(STARTUP), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    environment[RUN] = run
    environment[OPTIONS] = json.dumps(options)
    # The process keeps its number when it becomes the program.
    environment[PROCESS] = str(os.getpid())
    environment[CHILD] = ""
    with contextlib.suppress(OSError):  # one that is closed
        errors = os.fstat(2)
        environment[ERRORS] = f"{errors.st_dev}:{errors.st_ino}"
    # Child processes belong together, whichever of them comes first; ranks of a launcher
    # outside would each have an ID of their own.
    if not _is_rank():
        environment.setdefault(PROGRAM, uuid.uuid4().hex)
    return environment


def _is_rank() -> bool:
    """Tell whether a launcher started this process as one rank of several."""
    return any(ranks_told(os.environ))
