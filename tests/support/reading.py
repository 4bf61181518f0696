"""Reads runs and tells what that cost: `python -m tests.support.reading RUN …`.

It prints a line of JSON for each run: what came of it, the time, the memory, and whether
anything was imported, unpickled or started.
"""

from __future__ import annotations

import json
import sys
import time

from detloader import audit, check
from detloader.errors import DetloaderError
from detloader.manifest.verify import verify_run
from tests.support.memory import most_megabytes

__all__: list[str] = []

WATCHED = ("import", "pickle.find_class", "marshal.loads", "exec", "subprocess.Popen", "os.exec")
_events: list[str] = []


def note(event: str, arguments: tuple[object, ...]) -> None:
    if event in WATCHED:
        _events.append(f"{event} {arguments[:1]}")


def read(run: str) -> dict[str, object]:
    outcomes = []
    started = time.process_time()
    for ask in (verify_run, check, lambda path: audit(path, path)):
        try:
            ask(run)
            outcomes.append("read")
        except DetloaderError as error:
            outcomes.append(type(error).__name__)
    return {
        "run": run,
        "outcome": ", ".join(outcomes),
        "processor_seconds": time.process_time() - started,
        "most_megabytes": most_megabytes(),
        "events": [*_events],
    }


if __name__ == "__main__":
    # What reading needs is loaded for the first run, which is sound; from then on nothing is.
    for path in sys.argv[1:]:
        _events.clear()
        sys.stdout.write(json.dumps(read(path)) + "\n")
        if path == sys.argv[1]:
            sys.addaudithook(note)
