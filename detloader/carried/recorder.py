"""Builds a loader, iterates it, and sends what it delivers, as plain bytes, to whoever asked.

Run as `python recorder.py JOB.json DESCRIPTOR`: the job names the factory, and the plain
stream goes to the file descriptor. It is lines of JSON; behind an element's line come its bytes:

    {"loader": NAME, "source_sha256": …, "environment": {…}}
                                            first, once there is a loader
    {"element": TREE, "bytes": N}           each element, and N bytes
    {"elements": N}                         last, where all went well
    {"died": SENTENCE}                      last, where it did not

A TREE is None, a number, text, a list of trees (of a list or a tuple), or one of

    {"mapping": {KEY: TREE}}                of a mapping, or of the fields of a structured array
    {"array": [DTYPE, SHAPE]}               an array: its bytes in C order
    {"scalar": DTYPE}                       a number of NumPy's: its bytes
    {"bytes": N}                            N bytes
    {"text": N}                             text that is no UTF-8: N bytes, with surrogates
    {"opaque": TYPE}                        what has no bytes of its own

whose bytes follow in the order in which they are named.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import itertools
import json
import os
import platform
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

__all__ = ["encode", "surroundings"]


def surroundings(packages: Iterable[str], variables: Iterable[str]) -> dict[str, Any]:
    """Describe the running process; nothing that is not loaded yet is imported for it.

    Args:
        packages: names of those whose versions are told, where they are installed.
        variables: names of environment variables that are told.

    Returns:
        The fields of a manifest's environment.
    """
    return {
        "versions": _versions(packages),
        "env": {name: os.environ.get(name) for name in variables},
        "platform": f"{platform.system()}-{platform.machine()}",
        "cpu_features": _cpu_features(),
        "byteorder": sys.byteorder,
    }


def encode(element: object) -> tuple[Any, list[bytes]]:
    """Return the tree of an element, and the bytes of its leaves."""
    pieces: list[bytes] = []
    return _tree(element, pieces), pieces


def _versions(packages: Iterable[str]) -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    if (h5py := sys.modules.get("h5py")) is not None:
        versions["hdf5"] = str(h5py.version.hdf5_version)
    return versions


def _cpu_features() -> list[str]:
    try:
        configuration: Any = np.show_config(mode="dicts")
    except TypeError:
        return []  # NumPy tells it since 1.25
    extensions = configuration.get("SIMD Extensions", {})
    return sorted({*extensions.get("baseline", []), *extensions.get("found", [])})


def _tree(value: Any, pieces: list[bytes]) -> Any:
    if isinstance(value, Mapping):
        return {"mapping": {str(key): _tree(child, pieces) for key, child in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_tree(child, pieces) for child in value]
    if value is None or isinstance(value, str):
        return _text(value, pieces) if value else value
    if isinstance(value, bytes):
        pieces.append(value)
        return {"bytes": len(value)}
    if isinstance(value, (int, float)) and not isinstance(value, np.generic):
        # JSON has one NaN, of the many that there are.
        return value if value == value else _numbers(np.float64(value), pieces)  # noqa: PLR0124
    return _numbers(value, pieces)


def _text(value: str, pieces: list[bytes]) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:
        # Of two surrogates, which JSON would make one character.
        pieces.append(value.encode("utf-8", "surrogatepass"))
        return {"text": len(pieces[-1])}
    return value


def _numbers(value: Any, pieces: list[bytes]) -> Any:
    kind = type(value).__name__
    if isinstance(value, complex):
        value = np.complex128(value)
    elif not isinstance(value, (np.ndarray, np.generic)):
        try:
            value = np.asarray(value)
        except (TypeError, ValueError, RuntimeError):
            return {"opaque": kind}
    if value.dtype.names is not None:
        return {"mapping": {name: _tree(value[name], pieces) for name in value.dtype.names}}
    code = value.dtype.str
    # Types from other packages, such as bfloat16, have no code of their own.
    if value.dtype.hasobject or np.dtype(code) != value.dtype:
        return {"opaque": kind}
    pieces.append(value.tobytes())
    return {"array": [code, value.shape]} if isinstance(value, np.ndarray) else {"scalar": code}


def _work(job: dict[str, Any], stream: BinaryIO) -> None:
    """Do the job, and tell its end."""
    try:
        _send(stream, {"elements": _iterate(job, stream)})
    except BrokenPipeError:
        return
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the factory's code may raise anything
        traceback.print_exc()
        told = f": {error}" if str(error) else ""
        _send(stream, {"died": f"{job['factory']} failed: {type(error).__name__}{told}"})


def _iterate(job: dict[str, Any], stream: BinaryIO) -> int:
    factory = _find(job["factory"])
    loader = factory(**job["arguments"])
    beginning = {
        "loader": type(loader).__qualname__,
        "source_sha256": _source_sha256(factory),
        "environment": surroundings(job["packages"], job["variables"]),
    }
    _send(stream, beginning)
    count = 0
    for element in itertools.islice(loader, job["elements"]):
        tree, pieces = encode(element)
        _send(stream, {"element": tree, "bytes": sum(map(len, pieces))}, pieces)
        count += 1
    return count


def _find(name: str) -> Callable[..., Any]:
    module, _, attributes = name.partition(":")
    if module.endswith(".py"):
        sys.path.insert(0, str(Path(module).absolute().parent))
        module = Path(module).stem
    found: Any = importlib.import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found  # type: ignore[no-any-return]


def _source_sha256(factory: Callable[..., Any]) -> str | None:
    try:
        path = inspect.getsourcefile(inspect.unwrap(factory))
    except TypeError:
        return None
    return None if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _send(stream: BinaryIO, line: dict[str, Any], pieces: Iterable[bytes] = ()) -> None:
    stream.write(json.dumps(line).encode() + b"\n")
    stream.writelines(pieces)
    # At once: a process that the loader forks would send what is left a second time.
    stream.flush()


if __name__ == "__main__":
    # In place of the folder of this file, which is no program's.
    sys.path[0] = str(Path.cwd())
    with os.fdopen(int(sys.argv[2]), "wb") as plain:
        _work(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), plain)
