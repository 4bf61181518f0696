"""Whether a file is laid out as the zea format asks: its structure alone, and nothing is written.

A file has its data in a group `data`, at the root or in each group under `tracks`. What may
be in there depends on its age: a file without the root attribute `zea_version` was made
before zea 0.1.0.

- Before, `data` holds some of six known names, and `raw_data` or `aligned_data` needs a group
  `scan` beside `data`.
- Since, `data` holds groups, of any name, and as the only plain dataset `raw_data`.

Source: `validate_file` of zea 0.1.0. Unlike there, a folder's files are treated as a file
alone is, no verdict is kept, and all that is wrong is said at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from detloader.errors import FormatError
from detloader.extras import require

__all__ = ["faults", "refuse"]

_CHANNEL_DATA = ("raw_data", "aligned_data")
_BEFORE_0_1_0 = (*_CHANNEL_DATA, "beamformed_data", "envelope_data", "image", "image_sc")

_MOST_NAMED = 5
"""Files that an error names; there may be thousands."""


def faults(file: Any) -> tuple[str, ...]:
    """Tell what keeps an open HDF5 file from being of the zea format.

    Args:
        file: an `h5py.File`, open for reading. None of its arrays is read.

    Returns:
        One phrase a fault; none for a valid file.
    """
    return tuple(_faults(file))


def refuse(faults_by_path: Mapping[str, Sequence[str]]) -> None:
    """Refuse files that have faults, all of them in one error.

    Args:
        faults_by_path: what `faults` found in each file; files without faults may be there.

    Raises:
        FormatError: a file has faults. It names the first five such files, each with its
            faults, and counts the others; its `path` is the first.
    """
    invalid = {path: found for path, found in faults_by_path.items() if found}
    if not invalid:
        return
    named = [f"{path} ({', '.join(found)})" for path, found in list(invalid.items())[:_MOST_NAMED]]
    rest = f" and {len(invalid) - len(named)} more" if len(invalid) > len(named) else ""
    count = (
        f"{len(invalid)} of {len(faults_by_path)} files" if len(faults_by_path) > 1 else "a file"
    )
    message = f"{count} not of the zea format: {'; '.join(named)}{rest}"
    raise FormatError(f"{message}: validate=False reads any HDF5 file", next(iter(invalid)))


def _faults(file: Any) -> Iterator[str]:
    holders = _holders(file)
    if not holders:
        yield "no group data, at the root or in tracks/track_0"
    for holder in holders:
        name = f"{holder.name}/data".strip("/")
        if not _has_group(holder, "data"):
            yield f"no group {name}"
        elif "zea_version" in file.attrs:
            yield from _faults_since(holder["data"], name)
        else:
            yield from _faults_before(holder, name)


def _holders(file: Any) -> list[Any]:
    """Return the groups that should have a group `data`."""
    if "tracks" not in file:
        return [file] if "data" in file else []
    tracks = file["tracks"] if _has_group(file, "tracks") else {}
    return [tracks[name] for name in tracks if _has_group(tracks, name)]


def _faults_before(holder: Any, name: str) -> Iterator[str]:
    data = holder["data"]
    if any(kind in data for kind in _CHANNEL_DATA) and "scan" not in holder:
        yield "no group scan"
    for key in data:
        if key not in _BEFORE_0_1_0:
            yield f"{name}/{key} is of no known kind"


def _faults_since(data: Any, name: str) -> Iterator[str]:
    for key in data:
        if key != "raw_data" and not _has_group(data, key):
            yield f"{name}/{key} is no group"


def _has_group(holder: Any, name: str) -> bool:
    h5py = require("h5py", extra="hdf5")
    # A link that leads nowhere gives None.
    return isinstance(holder.get(name), h5py.Group)
