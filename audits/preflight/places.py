"""A place to run a recipe in: this environment, or one that is made."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from detloader.audits.frozen.form import FrozenStream

__all__ = ["HERE", "Place", "candidate", "origin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An environment: this one, or one that is made.

    Attributes:
        packages: versions of the packages that it holds; None for this environment.
        python: version of its Python, such as "3.12"; None for the one that runs here.
    """

    packages: Mapping[str, str] | None = field(default=None, hash=False)
    python: str | None = None

    def version(self, package: str) -> str | None:
        """Return the version that it holds of a package; None where it has none."""
        return _installed(package) if self.packages is None else self.packages.get(package)

    def has_python(self, version: str | None) -> bool:
        """Tell whether its Python is of that version, as far as that is known."""
        here = ".".join(platform.python_version_tuple()[:2])
        return version is None or version == (self.python or here)


HERE = Place()


def origin(stream: FrozenStream) -> Place:
    """Return the place where a run was frozen."""
    return _known(Place(packages=stream.packages, python=stream.python))


def candidate(stream: FrozenStream, asked: Mapping[str, str], python: str | None) -> Place:
    """Return the place to try: what was frozen with other versions, or here where none is asked."""
    if not asked and python is None:
        return HERE
    versions = stream.packages | {canonicalize_name(name): asked[name] for name in asked}
    return _known(Place(packages=versions, python=python or stream.python))


def _known(place: Place) -> Place:
    """Return this environment where it is that place."""
    packages = place.packages or {}
    same = all(_installed(name) == version for name, version in packages.items())
    return HERE if same and HERE.has_python(place.python) else place


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
