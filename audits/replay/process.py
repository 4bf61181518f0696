"""A process that runs the user's code, and may do whatever it likes.

It may hang, print without end, leave others behind or vanish without a word: none of that
harms what goes on beside it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections import deque
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Process", "how_it_ended"]

_TAIL_BYTES = 4096
_TAIL_LINES = 5
_AT_ONCE = 1 << 16
_PATIENCE_SECONDS = 1.0


class Process:
    """A process in a session of its own, so that whatever it leaves behind can be ended."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: str,
        variables: Mapping[str, str],
        descriptors: Sequence[int] = (),
    ) -> None:
        """Start it.

        Args:
            command: program and arguments.
            folder: its working folder.
            variables: its environment.
            descriptors: open files that it inherits.
        """
        self._tail: deque[bytes] = deque(maxlen=2)
        self._process = subprocess.Popen(  # noqa: S603 - an interpreter and a program of ours
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(variables),
            pass_fds=descriptors,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End what is left of the session."""
        self.end()

    def end(self) -> None:
        """End the session; first so that it may still tidy up after itself."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            self._signal(number)
            patience = time.monotonic() + _PATIENCE_SECONDS
            while self._signal(0) and time.monotonic() < patience:
                self._process.poll()
                time.sleep(0.01)
        # A process that made a session of its own may hold the pipe open for ever.
        self._reader.join(_PATIENCE_SECONDS)

    def wait(self, seconds: float | None) -> int | None:
        """Wait for the end, and return its status; None where it had to be ended."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
            return None

    @property
    def last_lines(self) -> list[str]:
        """What it printed last."""
        text = b"".join(self._tail)[-_TAIL_BYTES:].decode(errors="replace")
        return [line.rstrip() for line in text.splitlines() if line.strip()][-_TAIL_LINES:]

    def _signal(self, number: int) -> bool:
        """Signal the whole session; tell whether there still is one."""
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _read(self, output: IO[bytes]) -> None:
        with output:
            while chunk := os.read(output.fileno(), _AT_ONCE):
                self._tail.append(chunk)


def how_it_ended(status: int) -> str:
    """Say how a process ended, by its status."""
    if status < 0:
        return f"by {signal.Signals(-status).name}"
    return f"with status {status}"
