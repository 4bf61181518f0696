"""detloader itself in an environment, for factories that use it: the files that are installed here.

The small recorder needs none of it. What detloader depends on comes in any version that the
other packages leave.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from detloader.audits.environments.interpreter import installed
from detloader.carried import recorder

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OWN", "carry_into", "is_carried", "needs"]

OWN = "detloader"

FILES = Path(recorder.__file__).parents[1]
"""Where its files are."""


def is_carried(versions: Mapping[str, str]) -> bool:
    """Tell whether the version that is here is asked for; any other comes from the index."""
    return OWN in versions and versions[OWN] == installed(OWN)


def needs() -> list[str]:
    """Return the names of the packages that it depends on."""
    requirements = map(Requirement, metadata.requires(OWN) or ())
    return [each.name for each in requirements if each.marker is None]


def carry_into(folder: Path) -> None:
    """Give an environment the files that are here."""
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / OWN).symlink_to(FILES)
