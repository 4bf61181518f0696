"""Where a program made a loader: the name of its stream, such as `train.py:41`."""

from __future__ import annotations

import functools
import re
import sys
import sysconfig
from pathlib import Path
from types import FrameType

from detloader.manifest.layout import MOST_OF_NAME

__all__ = ["is_installed", "is_library", "place_of_caller"]

_ELSEWHERE = re.compile(r"[^A-Za-z0-9_.:=@+-]")

_OURS = str(Path(__file__).parent.parent)

_SENT = "<dynamic-code>"
"""What cloudpickle calls the file of a function that it brought from another process."""

_AUTOGRAPH = "__autograph_generated_file"
"""In the name of a file that TensorFlow writes a function to, and that nobody can find again."""


def place_of_caller() -> str:
    """Return file and line of the innermost frame that is the program's own.

    Where there is none, as in a program that is all library, it is that of the outermost. A
    program without a file is called `string`, as Python calls that of `python -c`, or `stdin`.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - costs a hundredth of inspect's
    place = "program"
    while frame is not None:
        name = frame.f_code.co_filename
        if name == _SENT:
            name = frame.f_globals.get("__file__", name)
        if _is_typed(frame):
            place = f"{name.strip('<>')}:{frame.f_lineno}"
            break
        if not name.startswith("<") and _AUTOGRAPH not in name:
            place = f"{Path(name).name}:{frame.f_lineno}"
            if not is_library(name):
                break
        frame = frame.f_back
    return _ELSEWHERE.sub("_", place)[-MOST_OF_NAME:].lstrip(".:=@+-") or "program"


def is_library(file: str) -> bool:
    """Tell whether this is no file of the program's own."""
    return file.startswith((_OURS, *_folders("stdlib", "platstdlib", "purelib", "platlib")))


def is_installed(file: str) -> bool:
    """Tell whether this is a file of a package beside Python and this one."""
    return file.startswith(_folders("purelib", "platlib")) and not file.startswith(_OURS)


def _is_typed(frame: FrameType) -> bool:
    """Tell whether this is a program without a file: that of `python -c`, or of its input."""
    name, known = frame.f_code.co_filename, frame.f_globals
    is_main = known.get("__name__") == "__main__"
    return name.startswith("<") and is_main and known.get("__file__", name) == name


@functools.cache
def _folders(*names: str) -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in names}
    return (*folders, *(str(Path(folder).resolve()) for folder in folders))
