"""One environment for each set of versions, made once and kept.

Environments lie where the platform keeps what can be made again, such as
`~/.cache/detloader/environments`, or in `DETLOADER_CACHE_DIR`, each in a folder named after
the whole set and the Python. A lock lets one process make it while others wait, and a file
that is written last says that it is whole: what was left half-made is made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from filelock import FileLock, Timeout
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from platformdirs import user_cache_path

from detloader.audits.environments import own
from detloader.audits.environments.installers import executable_of, make
from detloader.audits.environments.interpreter import Interpreter, here
from detloader.errors import NoVersionError
from detloader.manifest.layout import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["environment", "packages_of"]

_WHOLE = "environment.json"


def packages_of(versions: Mapping[str, str]) -> dict[str, str]:
    """Return the packages among the versions that a run recorded.

    Python and the HDF5 library are none, and detloader is named only where a factory loads it.
    """
    others = {"python", "hdf5", "detloader"}
    return {name: version for name, version in versions.items() if name not in others}


def environment(
    packages: Mapping[str, str],
    *,
    python: str | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Interpreter:
    """Return an interpreter that has these packages in these versions, and what they need.

    Args:
        packages: version of each package.
        python: version of Python, such as "3.12"; by default the one that runs this.
        on_progress: is told what is done, line by line.

    Raises:
        ConflictError: two of the versions exclude each other.
        NoVersionError: there is no such version, or none for that Python.
        NoIndexError: nobody answers where packages come from.
        InstallError: the environment cannot be made, for whatever other reason.
    """
    versions = {str(canonicalize_name(name)): _checked(name, packages[name]) for name in packages}
    wanted = Interpreter(executable="", python=python or here().python, versions=versions)
    folder = _cache() / "environments" / _key(wanted)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder, on_progress):
        return _found(folder) or _made(folder, wanted, on_progress)


def _key(wanted: Interpreter) -> str:
    files = str(own.FILES) if own.is_carried(wanted.versions) else ""
    asked = msgspec.json.encode([wanted, files], order="sorted")
    return hashlib.sha256(asked).hexdigest()[:16]


def _cache() -> Path:
    named = os.environ.get("DETLOADER_CACHE_DIR")
    return Path(named).absolute() if named else user_cache_path("detloader", appauthor=False)


def _checked(name: str, version: str) -> str:
    try:
        Version(version)
    except InvalidVersion as error:
        raise NoVersionError(f"{name} {version} is no version: write numbers, as 1.2.3") from error
    return version


@contextlib.contextmanager
def _locked(folder: Path, on_progress: Callable[[str], None]) -> Iterator[None]:
    lock = FileLock(folder.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        on_progress("waiting for another process that makes the same environment")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _found(folder: Path) -> Interpreter | None:
    """Return the interpreter of an environment that is whole, and whose Python is still there."""
    try:
        found = msgspec.json.decode((folder / _WHOLE).read_bytes(), type=Interpreter)
    except (OSError, msgspec.DecodeError):
        return None
    return found if Path(found.executable).exists() else None


def _made(folder: Path, wanted: Interpreter, on_progress: Callable[[str], None]) -> Interpreter:
    shutil.rmtree(folder, ignore_errors=True)
    on_progress(f"making an environment: {wanted}")
    try:
        make(folder, wanted.python, wanted.versions, on_progress)
        interpreter = msgspec.structs.replace(
            wanted,
            executable=str(executable_of(folder)),
            python=_version(executable_of(folder)),
        )
        write_atomically(folder / _WHOLE, msgspec.json.encode(interpreter))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return interpreter


def _version(executable: Path) -> str:
    script = "import platform; print(platform.python_version())"
    answered = subprocess.run(  # noqa: S603 - what was just made
        [executable, "-c", script], capture_output=True, text=True, check=True
    )
    return answered.stdout.strip()
