"""Working folder: a loader may read from it, but what it delivers must not follow its name.

The value "elsewhere" is a new folder with links to all that the present one holds, so that
relative paths lead where they did. Any other value is a folder that there is.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import ELSEWHERE, Job
from detloader.audits.rule import Stage
from detloader.errors import UsageError
from detloader.findings import JsonValue

__all__ = ["ASKS", "STAGE", "VALUES", "vary"]

STAGE = Stage.SOURCE_ORDER
ASKS = Asks.SAME_ROWS
VALUES = (ELSEWHERE,)


def vary(job: Job, value: JsonValue) -> Job:
    """Go to another folder; modules are still imported from the present one."""
    folder = str(value)
    if folder != ELSEWHERE and not Path(folder).is_dir():
        raise UsageError(f"cwd={folder} is no folder: name one, or {ELSEWHERE}")
    importable = [*job.importable, job.folder]
    changed = folder if folder == ELSEWHERE else str(Path(folder).absolute())
    return msgspec.structs.replace(job, folder=changed, importable=importable, home=job.folder)
