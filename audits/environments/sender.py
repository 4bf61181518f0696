"""The process in which the small recorder runs, and what it sends."""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from detloader.audits.environments.plain import CutOffError, decode, read_line
from detloader.audits.replay.process import Process, how_it_ended
from detloader.carried import recorder
from detloader.errors import FactoryError
from detloader.manifest.environment import PACKAGES, VARIABLES
from detloader.manifest.schema import Environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from detloader.audits.environments.interpreter import Interpreter
    from detloader.manifest.schema import Recipe

__all__ = ["Beginning", "Sender"]


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """What is known once the factory has given a loader.

    Attributes:
        loader: name of its class.
        source_sha256: SHA-256 of the factory's source file.
        environment: what the process runs on.
    """

    loader: str
    source_sha256: str | None
    environment: Environment


class Sender:
    """Runs a recipe's factory in another environment, and gives what its loader delivers."""

    def __init__(
        self,
        interpreter: Interpreter,
        recipe: Recipe,
        *,
        folder: str,
        variables: Mapping[str, str],
        seconds: float | None,
    ) -> None:
        """Start the process.

        Args:
            interpreter: the environment's.
            recipe: how the loader is made.
            folder: its working folder.
            variables: its environment.
            seconds: time after which it is given up; None for never.
        """
        self._name = f"{recipe.factory} ({interpreter})"
        self._seconds = seconds
        self._temporary = tempfile.TemporaryDirectory(prefix="detloader-")
        job = Path(self._temporary.name) / "job.json"
        job.write_bytes(msgspec.json.encode(_job(recipe)))
        reading, writing = os.pipe()
        self._plain = os.fdopen(reading, "rb")
        self._process = Process(
            [interpreter.executable, str(recorder.__file__), str(job), str(writing)],
            folder=folder,
            variables=variables,
            descriptors=[writing],
        )
        os.close(writing)
        self._status: int | None = None
        self._waiting = threading.Thread(target=self._wait, daemon=True)
        self._waiting.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, and whatever it left behind."""
        self._process.__exit__()
        self._waiting.join()
        self._plain.close()
        self._temporary.cleanup()

    def beginning(self) -> Beginning:
        """Wait for the loader.

        Raises:
            FactoryError: there is none.
        """
        return msgspec.convert(self._line(), Beginning)

    def elements(self) -> Iterator[Any]:
        """Yield what the loader delivers.

        Raises:
            FactoryError: it failed, its process died, or it did not end in time.
        """
        while "element" in (line := self._line()):
            yield decode(line["element"], line.get("pieces", b""))

    def _line(self) -> dict[str, Any]:
        try:
            line = read_line(self._plain)
        except CutOffError as error:
            raise FactoryError(self._end()) from error
        if "died" in line:
            raise FactoryError(f"{self._name}: {' '.join(line['died'].split())}")
        return line

    def _wait(self) -> None:
        """Wait for the end, and end what else would hold the pipe open."""
        self._status = self._process.wait(self._seconds)
        self._process.end()

    def _end(self) -> str:
        """Say how a process ended that did not send all that it should."""
        self._waiting.join()
        if self._status is None:
            return f"{self._name}: it did not end within {self._seconds:g} seconds"
        printed = "".join(f"; it printed: {line}" for line in self._process.last_lines[-1:])
        return f"{self._name}: its process ended {how_it_ended(self._status)}{printed}"


def _job(recipe: Recipe) -> dict[str, Any]:
    return {
        "factory": recipe.factory,
        "arguments": recipe.arguments,
        "elements": recipe.elements or None,
        "packages": PACKAGES,
        "variables": VARIABLES,
    }
