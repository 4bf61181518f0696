"""What surrounds an assertion: where its runs go, the project's settings, and who is told."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from detloader.cli.settings import Settings
from detloader.testing.factory import no_fixture
from detloader.testing.orders import Orders

__all__ = ["Context"]


def _nobody(_name: str, _value: str) -> None:
    pass


def _temporary() -> Path:
    return Path(tempfile.mkdtemp(prefix="detloader-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What assertions need of whoever makes them.

    Attributes:
        new_folder: makes an empty folder for the runs of one assertion.
        settings: those of the project.
        orders: the frozen orders beside the test.
        module: name of the test's module.
        fixture: gives an argument of a factory, by its name, or raises LookupError.
        note: is told a property of the test, and its value.
        remarks: what else a failure must say.
    """

    new_folder: Callable[[], Path] = _temporary
    settings: Settings = field(default_factory=Settings)
    orders: Orders = field(default_factory=Orders)
    module: str | None = None
    fixture: Callable[[str], Any] = no_fixture
    note: Callable[[str, str], None] = _nobody
    remarks: Sequence[str] = ()

    @contextlib.contextmanager
    def folder(self) -> Iterator[Path]:
        """Give a folder for runs; after a failure they stay there, and the error says where."""
        folder = self.new_folder()
        try:
            yield folder
        except Exception as error:
            if any(folder.iterdir()):
                error.add_note(f"runs are kept in {folder}")
                self.note("detloader.runs", str(folder))
            for remark in self.remarks:
                error.add_note(remark)
            raise
        shutil.rmtree(folder, ignore_errors=True)
