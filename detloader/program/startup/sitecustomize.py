"""Runs when each Python process of a recorded program starts, before the program does."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

__all__: list[str] = []


def _run_shadowed() -> None:
    """Run the `sitecustomize` that would have been found if this one were not before it."""
    here = Path(__file__).parent
    others = [path for path in sys.path if Path(path or ".").absolute() != here]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _begin() -> None:
    # Another Python, without this package or what it needs, may be among the program's processes.
    try:
        from detloader.program.process import begin

        begin()
    except (ImportError, SyntaxError) as error:
        if _is_read_by_user():
            sys.stderr.write(
                f"detloader: not recorded: {sys.executable} has no detloader that it can import "
                f"({error}); install it there\n"
            )


def _is_read_by_user() -> bool:
    """Tell whether standard error is the program's, and no pipe that the program reads."""
    try:
        errors = os.fstat(2)
    except OSError:
        return False
    # By its name, for `detloader.program.launch` cannot be imported here.
    return os.environ.get("DETLOADER_PROGRAM_STDERR") == f"{errors.st_dev}:{errors.st_ino}"


_run_shadowed()
_begin()
