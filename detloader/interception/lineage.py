"""Which child of the program a process is: part of the names of its streams.

Children are numbered as their parent starts them, so that streams of two runs are paired by
what they are, and not by who came first. A first child's streams have the names that they would
have without it: a program that starts one other is named as that one would be alone. Commands
that are hardly a training, such as `git`, are counted apart, and have their own names.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from multiprocessing.process import current_process
from pathlib import Path
from types import FrameType

from detloader.interception.places import is_installed, is_library
from detloader.manifest.run_id import ranks_told

__all__ = ["CHILD", "count_anew", "is_starting", "keep_number", "lineage", "starting"]

CHILD = "DETLOADER_PROGRAM_CHILD"
"""Which child of a recorded program this is: 2.1 is the first one of the second."""

_MAY_TRAIN = re.compile(r"(python|pypy)[\w.]*|env|(ba|da|k|z)?sh(\.exe)?", re.IGNORECASE)
"""Commands that run Python, or what a program tells them to: they are counted with forks."""

_ASKED = "torch.multiprocessing"
"""A library that starts what its caller asks for, as Python's own do."""

_NUMBER = "_detloader_child"
"""The same, of a process that multiprocessing started: it travels with the process's object."""


class _Thread(threading.local):
    """What this thread is starting: whether a child has its number, or is forked with one."""

    busy = False
    forked: str | None = None


class _Own:
    """What this process knows of itself, and counts of its children."""

    def __init__(self) -> None:
        self.number = os.environ.get(CHILD, "")
        self.ranks = ranks_told(os.environ)
        self.ranks_of_last = self.ranks
        self.counts: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))


_thread = _Thread()
_own = _Own()


def lineage() -> str:
    """Return which child this is: "2" of a second child, "2.3" of its third, "" of a first."""
    numbers = _place().split(".")
    while numbers and numbers[-1] in {"", "1"}:
        numbers.pop()
    return ".".join(numbers)


@contextlib.contextmanager
def starting(
    command: str | None = "", environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Number a child that starts in this block, which is told by the environment, too.

    Args:
        command: name of what is started; "" of a copy of this process. None has the number of
            its parent.
        environment: the child's own; that of this process by default.

    Yields:
        Which child it is.
    """
    environment = os.environ if environment is None else environment
    number = _place() if command is None else _next(command, environment)
    told = CHILD in os.environ
    _thread.busy = True
    if told:
        os.environ[CHILD] = number
    try:
        yield number
    finally:
        _thread.busy = False
        if told:
            os.environ[CHILD] = _number()


def is_starting() -> bool:
    """Tell whether this thread starts a child that has its number."""
    return _thread.busy


def count_anew() -> None:
    """Let the next child be the first: of another block, which is compared with the one before."""
    _own.counts.clear()
    _own.ranks_of_last = ranks_told(os.environ)


def keep_number(process: object, number: str) -> None:
    """Let a process that multiprocessing starts know which child it is."""
    vars(process)[_NUMBER] = number


def _place() -> str:
    """Return the number; of a rank, by its launcher or its own words, nothing more is needed."""
    return "" if ranks_told(os.environ) != _own.ranks else _number()


def _number() -> str:
    number: str = vars(current_process()).get(_NUMBER, _own.number)
    return number


def _next(command: str, environment: Mapping[str, str]) -> str:
    ranks, _own.ranks_of_last = _own.ranks_of_last, ranks_told(environment)
    if ranks != _own.ranks_of_last:
        return ""  # a launcher's: its rank tells it apart
    kind = _kind(command)
    count = next(_own.counts[kind])
    child = kind if kind and count == 1 else "=".join(filter(None, (kind, str(count))))
    return f"{_place()}.{child}".lstrip(".")


def _kind(command: str) -> str:
    """Return what else the child's number is to say: "" where it is the program's own training.

    What libraries start, such as compilers and workers, and which commands a program looks for
    its machine with, depends on more than the program.
    """
    own = command in {"", Path(sys.executable).name} or _MAY_TRAIN.fullmatch(command)
    return re.sub(r"\W", "_", " ".join(filter(None, (_starter(), "" if own else command))))


def _starter() -> str:
    """Return the module that starts a child; "" where it is the program's own."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - as in `places`
    while frame is not None:
        name = frame.f_code.co_filename
        module = str(frame.f_globals.get("__name__"))
        if is_installed(name) and not module.startswith(_ASKED):
            return module
        if not name.startswith("<frozen") and not is_library(name):
            break
        frame = frame.f_back
    return ""


def _before_fork() -> None:
    if not _thread.busy:
        _thread.forked = _next("", os.environ)


def _in_parent() -> None:
    _thread.forked = None


def _in_child() -> None:
    number, _thread.forked, _thread.busy = _thread.forked, None, False
    count_anew()
    if number is not None:
        keep_number(current_process(), number)
        if CHILD in os.environ:
            os.environ[CHILD] = number


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
