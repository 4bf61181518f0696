"""Settings of a project: `[tool.detloader]` in the nearest pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import msgspec

from detloader.audits.equivalence import Equivalence
from detloader.errors import UsageError
from detloader.findings import Severity

__all__ = ["Settings", "project_folder", "read_settings"]


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """What holds where the command line says nothing.

    Attributes:
        select: the only rules to ask; all of them where it is empty.
        ignore: rules to leave out.
        fail_on: mildest finding that gives exit status 1.
        limit: rows and IDs that text shows.
        equivalence: how alike audited runs have to be; None for identical or equivalent.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: Severity = Severity.FAIL
    limit: Annotated[int, msgspec.Meta(ge=1)] = 10
    equivalence: Equivalence | None = None


def read_settings(folder: Path) -> Settings:
    """Return the settings of the project that a folder belongs to.

    Raises:
        UsageError: if the file is no TOML, or has an unknown key or a wrong value.
    """
    path = _project_file(folder)
    return Settings() if path is None else _settings(path)


def project_folder(folder: Path) -> Path:
    """Return the folder of the project that a folder belongs to; itself where there is none."""
    path = _project_file(folder)
    return folder if path is None else path.parent


def _project_file(folder: Path) -> Path | None:
    paths = (parent / "pyproject.toml" for parent in (folder, *folder.parents))
    return next((path for path in paths if path.is_file()), None)


def _settings(path: Path) -> Settings:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    tool = content.get("tool", {})
    table = tool.get("detloader", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{path}: tool.detloader is no table: write [tool.detloader]")
    known = Settings.__struct_encode_fields__
    for key in table:
        if key not in known:
            raise UsageError(
                f"{path}: [tool.detloader] has an unknown key {key}: "
                f"the keys are {', '.join(known)}"
            )
    try:
        return msgspec.convert(table, Settings)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: [tool.detloader]: {error}") from error
