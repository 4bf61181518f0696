"""What a project keeps of its audits, and the day by which it is judged."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from detloader.audits.acceptance import FILE_NAME
from detloader.cli.settings import project_folder

__all__ = ["accepted_file", "today"]


def accepted_file() -> Path:
    """Return where the project that the current folder belongs to keeps what it accepts."""
    return project_folder(Path.cwd()) / FILE_NAME


def today() -> dt.date:
    """Return the day it is here."""
    return dt.datetime.now().astimezone().date()
