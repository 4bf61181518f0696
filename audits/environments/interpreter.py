"""An interpreter, and the versions of the packages that it was given; Pythons by version."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

import msgspec

from detloader.errors import NoVersionError

__all__ = ["Interpreter", "find_python", "here", "installed"]

_NAMED = 4
"""Packages that are named, where there are no more."""


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """A Python with its packages.

    Attributes:
        executable: path of the program.
        python: its version, such as "3.11.7".
        versions: of the packages that were asked for; the others came along with these.
    """

    executable: str
    python: str
    versions: dict[str, str] = {}

    def __str__(self) -> str:
        if len(self.versions) > _NAMED:
            return f"Python {self.python} with {len(self.versions)} packages"
        return ", ".join([f"Python {self.python}", *map(" ".join, self.versions.items())])


def here() -> Interpreter:
    """Return the interpreter that runs this."""
    return Interpreter(executable=sys.executable, python=platform.python_version())


def installed(package: str) -> str | None:
    """Return the version of a package here; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def find_python(version: str) -> Interpreter | None:
    """Return a Python of this machine, None where there is none of that version.

    Args:
        version: two numbers, such as "3.12", or three.

    Raises:
        NoVersionError: the text is no version of Python.
    """
    numbers = version.split(".")
    if len(numbers) < 2 or not all(number.isdecimal() for number in numbers):  # noqa: PLR2004
        raise NoVersionError(f"Python {version} is no version: write two numbers, such as 3.12")
    if here().python.split(".")[: len(numbers)] == numbers:
        return here()
    from python_discovery import get_interpreter

    found = get_interpreter(version)
    if found is None or found.executable is None:
        return None
    return Interpreter(executable=found.executable, python=found.version_str)
