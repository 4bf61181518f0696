"""Which installed packages a piece of code has loaded.

A recipe names them, so that an environment can be made that holds these and no others.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["loaded_since"]

_OWN = "detloader"


def loaded_since(modules: Collection[str]) -> dict[str, str]:
    """Return packages by name, with their versions: those that code has loaded, and what it needs.

    What was loaded before is among them only where one of the others requires it, and so is
    NumPy. detloader itself is one where the code has loaded modules of it. Whatever else was not
    installed from an index is left out.

    Args:
        modules: names of the modules that were loaded before, of `sys.modules`.
    """
    providers = metadata.packages_distributions()
    loaded = _packages(providers, sys.modules) - {_OWN}
    found = loaded - _packages(providers, modules) | loaded & {"numpy"}
    waiting = [*found]
    while waiting:
        needed = (_required(waiting.pop()) & loaded) - found
        found |= needed
        waiting += needed
    if any(name.startswith(f"{_OWN}.") for name in sys.modules.keys() - modules):
        found.add(_OWN)
    return {
        name: metadata.version(name) for name in sorted(found) if name == _OWN or _is_indexed(name)
    }


def _packages(providers: Mapping[str, list[str]], modules: Collection[str]) -> set[str]:
    tops = {module.partition(".")[0] for module in modules}
    return {canonicalize_name(name) for top in tops for name in providers.get(top, ())}


def _required(package: str) -> set[str]:
    """Name what a package says that it requires, whatever for."""
    needs = metadata.requires(package) or []
    return {canonicalize_name(match[0]) for need in needs if (match := re.match(r"[\w.-]+", need))}


def _is_indexed(package: str) -> bool:
    origin = metadata.distribution(package).read_text("direct_url.json")
    return origin is None
