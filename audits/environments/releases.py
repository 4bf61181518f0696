"""Which releases of a package there are, as pip finds them on the index that it is set up with."""

from __future__ import annotations

import re
import subprocess
import sys

from packaging.version import Version

from detloader.audits.environments.refusals import refusal
from detloader.errors import NoVersionError

__all__ = ["releases"]


def releases(package: str, python: str) -> list[str]:
    """Return the releases of a package, in ascending order.

    Pre-releases are left out, and so are those that were yanked or have nothing for that Python.

    Args:
        package: its name.
        python: version of the Python that they are for.

    Raises:
        NoVersionError: there are none.
        NoIndexError: nobody answers where packages come from.
    """
    options = ["--python-version", python, "--no-input", "--disable-pip-version-check"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "index",
        "versions",
        package,
        *options,
        "--retries",
        "2",
    ]
    answered = subprocess.run(  # noqa: S603 - pip itself
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    found = re.search(r"^Available versions: (.*)$", answered.stdout, re.MULTILINE)
    if found is not None:
        return sorted(found[1].split(", "), key=Version)
    if "No matching distribution" in answered.stderr and "Retry(" not in answered.stderr:
        raise NoVersionError(f"the index has no releases of {package} for Python {python}")
    raise refusal(answered.stderr, python, {package: "releases"})
