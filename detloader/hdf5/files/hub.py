"""Datasets on the Hugging Face hub: `hf://org/repo[/path]`, pinned to a commit.

A branch moves; what is downloaded, cached and recorded is the commit that it stood at.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from detloader.errors import MissingFileError, UsageError
from detloader.extras import require

__all__ = ["PREFIX", "Snapshot", "fetch_snapshot"]

PREFIX = "hf://"

_SUFFIXES = (".hdf5", ".h5")


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Files of one commit of a dataset, in the hub's cache on this machine.

    Attributes:
        path: the file, or the folder with the HDF5 files. They are links to where the cache
            keeps their content, under other names: do not resolve them.
        repository: org/repo.
        commit: the commit's hash.
    """

    path: Path
    repository: str
    commit: str


def fetch_snapshot(path: str, revision: str | None = None) -> Snapshot:
    """Download the HDF5 files under a path of a dataset on the hub, as far as they are not cached.

    The revision is looked up once, and all files come from the commit that it is at. Where
    the hub cannot be reached, or HF_HUB_OFFLINE is set, the commit is the one at which the
    cache last saw the revision, with the files that the cache has of it; huggingface_hub 2
    refuses where some are missing.

    Args:
        path: hf://org/repo for a whole dataset, hf://org/repo/path for a folder or file in it.
        revision: a branch, a tag or a commit's hash; by default the branch main.

    Raises:
        UsageError: the path is not of that form.
        MissingFileError: there is no such dataset, revision or path, or no access to it; or
            the hub cannot be reached, and the cache does not have it.
        MissingExtraError: huggingface_hub is not installed.
    """
    repository, inside = _parts(path)
    folder = _download(path, repository, revision, _patterns(inside))
    found = folder / inside
    if not _has_files(found):
        at = f"at commit {folder.name}"
        raise MissingFileError(f"{path} has no file named *.h5 or *.hdf5 {at}", path)
    return Snapshot(path=found, repository=repository, commit=folder.name)


def _parts(path: str) -> tuple[str, str]:
    parts = path.removeprefix(PREFIX).rstrip("/").split("/")
    if not path.startswith(PREFIX) or len(parts) < 2 or not set(parts).isdisjoint(("", ".", "..")):  # noqa: PLR2004
        raise UsageError(f"{path!r} names no dataset on the hub: write hf://org/repo/path")
    return "/".join(parts[:2]), "/".join(parts[2:])


def _patterns(inside: str) -> list[str]:
    """Return the patterns of huggingface_hub for a path, where a star stands for slashes, too."""
    literal = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in inside)
    below = f"{literal}/*" if inside else "*"
    whole = [literal] if inside.endswith(_SUFFIXES) else []
    return [*whole, *(below + suffix for suffix in _SUFFIXES)]


def _download(path: str, repository: str, revision: str | None, patterns: list[str]) -> Path:
    """Return the folder of the snapshot, whose name is the commit's hash."""
    hub = require("huggingface_hub", extra="hub")
    known = require("huggingface_hub.errors", extra="hub")
    try:
        folder = hub.snapshot_download(
            repository, repo_type="dataset", revision=revision, allow_patterns=patterns
        )
    except known.HFValidationError as error:
        raise UsageError(f"{path!r} names no dataset on the hub: {error}") from error
    except (known.HfHubHTTPError, known.LocalEntryNotFoundError) as error:
        raise MissingFileError(_reason(path, revision, error, known), path) from error
    return Path(folder)


def _reason(path: str, revision: str | None, error: Exception, known: Any) -> str:
    if isinstance(error, known.RevisionNotFoundError):
        return f"{path} has no revision {revision!r}"
    if isinstance(error, known.RepositoryNotFoundError):
        return f"{path} is not there, or not for you: check its name, and log in for a private one"
    summary = str(error).strip().partition("\n")[0]
    return f"{path} cannot be fetched, and is not in the cache: {summary}"


def _has_files(path: Path) -> bool:
    return path.is_file() or any(found.name.endswith(_SUFFIXES) for found in path.rglob("*"))
