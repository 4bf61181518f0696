"""What pip and uv say when they cannot install something, as one line of ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from detloader.errors import ConflictError, InstallError, NoIndexError, NoVersionError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["refusal"]

_DEPENDS = re.compile(r"([\w.-]+)(?:==| )(\d[\w.+!]*) depends on ([\w.-]+)([^\n,]*)")
_YOU_REQUIRE = " and you require"
_UNREACHABLE = re.compile(r"NewConnectionError|Retry\(total=|Failed to fetch|dns error", re.ASCII)
_NO_VERSION = re.compile(
    r"satisfies the requirement ([\w.-]+)\S* .*\(from versions: (.*)\)"
    r"|there is no version of ([\w.-]+)"
    r"|Because ([\w.-]+)\S* (?:was not found|has no usable wheels|has no wheels)"
)
_SHOWN = 5


def refusal(output: str, python: str, versions: Mapping[str, str]) -> InstallError:
    """Return the error that an installer's output stands for.

    Args:
        output: all that it printed.
        python: version of the Python to install for.
        versions: what it was to install.
    """
    if conflict := _conflict(output, versions):
        return conflict
    if _UNREACHABLE.search(output):
        return NoIndexError(
            "the package index does not answer: check the network, or the index that pip or uv "
            "is set up with"
        )
    if "No interpreter found" in output:
        return NoVersionError(f"there is no Python {python} here, and uv knows of none: install it")
    if missing := _NO_VERSION.search(output):
        return _no_version(missing, python, versions)
    lines = [line for line in output.splitlines() if "error" in line.lower()] or [output.strip()]
    asked = ", ".join(f"{name} {version}" for name, version in versions.items())
    return InstallError(f"{asked} cannot be installed for Python {python}: {lines[-1].strip()}")


def _conflict(output: str, versions: Mapping[str, str]) -> ConflictError | None:
    """Name the two that exclude each other."""
    found = _DEPENDS.findall(output)
    if not found or not re.search("conflicting|incompatible|unsatisfiable", output):
        return None
    name, version, dependency, wanted = found[0]
    wanted = wanted.partition(_YOU_REQUIRE)[0].strip()
    reason = f"{name} {version} needs {dependency}{wanted}"
    pinned = versions.get(canonicalize_name(dependency))
    if pinned is not None:
        other = f"{dependency} {pinned}"
    else:
        others = (f"{n} {v}" for n, v, needed, _ in found[1:] if needed == dependency != n != name)
        other = next(others, dependency)
    return ConflictError(f"{name} {version} and {other} exclude each other: {reason}")


def _no_version(found: re.Match[str], python: str, versions: Mapping[str, str]) -> NoVersionError:
    name = next(filter(None, (found[1], found[3], found[4])))
    named = " ".join(filter(None, [name, versions.get(canonicalize_name(name))]))
    known = [each for each in (found[2] or "").split(", ") if each not in {"", "none"}]
    has = f"the index has {', '.join(known[-_SHOWN:])}" if known else "check name and version"
    return NoVersionError(f"there is no {named} for Python {python}: {has}")
