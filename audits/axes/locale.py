"""Locale: how texts are sorted, written and read."""

from __future__ import annotations

import locale
import subprocess

import msgspec

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import Job
from detloader.audits.rule import Stage
from detloader.errors import UsageError
from detloader.findings import JsonValue

__all__ = ["ASKS", "STAGE", "values", "vary"]

STAGE = Stage.SOURCE_ORDER
ASKS = Asks.SAME_ROWS

_TELLING = ("tr_TR", "et_EE", "de_DE", "en_US")
"""Locales that sort or spell unlike C, the most unlike first."""


def values(_job: Job) -> list[JsonValue]:
    """Name the locale that every system has, and another one where there is one."""
    others = sorted(
        (name for name in _installed() if name.startswith(_TELLING)),
        key=lambda name: _TELLING.index(name[:5]),
    )
    return ["C", *others[:1]]


def vary(job: Job, value: JsonValue) -> Job:
    """Set the variables that stand above all others."""
    if not _is_here(str(value)):
        raise UsageError(f"locale={value} is none here: name one that `locale -a` lists")
    variables = {**job.variables, "LC_ALL": str(value), "LANG": str(value), "LANGUAGE": None}
    return msgspec.structs.replace(job, variables=variables)


def _is_here(name: str) -> bool:
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return True


def _installed() -> list[str]:
    try:
        listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False)  # noqa: S607 - where it lies differs
    except OSError:
        return []
    return listed.stdout.split()
