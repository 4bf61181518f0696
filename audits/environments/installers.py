"""Makes a virtual environment: with `uv` where it is there, else with `venv` and pip.

Packages whose version is asked for come as wheels alone: what has none for a Python would
be compiled for minutes, and mostly in vain. What they depend on may be built.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from packaging.version import Version

from detloader.audits.environments import own
from detloader.audits.environments.interpreter import find_python
from detloader.audits.environments.refusals import refusal
from detloader.errors import InstallError, NoVersionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["executable_of", "make"]

_ELSEWHERE = frozenset({"PYTHONHOME", "PYTHONPATH"})


def executable_of(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / "bin" / "python"


def make(
    folder: Path, python: str, versions: Mapping[str, str], on_progress: Callable[[str], None]
) -> None:
    """Make an environment in a folder that is not there.

    Args:
        folder: its place; it cannot be moved later.
        python: version of its Python.
        versions: of the packages that it gets, by their names.
        on_progress: is told each line that the installer prints.

    Raises:
        InstallError: it cannot be made, and why; what was made of it is left.
    """
    for command in _commands(folder, python, versions):
        status, output = _run(command, on_progress)
        if status:
            raise refusal(output, python, versions)
    if own.is_carried(versions):
        own.carry_into(folder)


def _commands(folder: Path, python: str, versions: Mapping[str, str]) -> Iterator[list[str]]:
    base = find_python(python)
    wanted = _wanted(versions)
    if (uv := shutil.which("uv")) is not None:
        fetched = python if base is None else base.executable
        yield [uv, "venv", "--quiet", "--python", fetched, str(folder)]
        yield [uv, "pip", "install", "--python", str(executable_of(folder)), *wanted]
        return
    if importlib.util.find_spec("pip") is None:
        raise InstallError("there is neither uv nor pip here to make environments: install uv")
    if base is None:
        raise NoVersionError(f"there is no Python {python} here: install it, or uv to fetch it")
    yield [base.executable, "-m", "venv", "--without-pip", str(folder)]
    words = ["--no-compile", "--prefer-binary", "--progress-bar", "off"]
    yield [*_pip(folder), "install", *words, *wanted]


def _wanted(versions: Mapping[str, str]) -> list[str]:
    """Return what to install, in the words that uv and pip have in common."""
    carried = own.is_carried(versions)
    fetched = {name: v for name, v in versions.items() if not (carried and name == own.OWN)}
    # Local labels, such as that of 2.13.0+cpu, are no index's.
    pins = [f"{name}=={Version(version).public}" for name, version in fetched.items()]
    wheels = [word for name in fetched for word in ("--only-binary", name)]
    # The small recorder's own need.
    return [*wheels, *pins, "numpy", *(own.needs() if carried else ())]


def _pip(folder: Path) -> Sequence[str]:
    """Let the pip that is here install for there."""
    quiet = ["--no-input", "--disable-pip-version-check", "--retries", "2"]
    return [sys.executable, "-m", "pip", "--python", str(executable_of(folder)), *quiet]


def _run(command: Sequence[str], on_progress: Callable[[str], None]) -> tuple[int, str]:
    lines = []
    with subprocess.Popen(  # noqa: S603 - the installers' own words, and versions
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # Packages of another place would count as installed.
        env={name: value for name, value in os.environ.items() if name not in _ELSEWHERE},
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line)
                on_progress(line.strip())
        except BaseException:
            process.kill()
            raise
    return process.returncode, "".join(lines)
