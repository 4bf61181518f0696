"""Executors by name: `processes:2`, `dask://scheduler:8786`."""

from __future__ import annotations

import contextlib
import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import TYPE_CHECKING, cast

from detloader.errors import UsageError
from detloader.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["executor_named"]

_DASK = "dask://"
_PROCESSES = "processes:"


@contextlib.contextmanager
def executor_named(name: str) -> Iterator[Executor]:
    """Give an executor, and end it afterwards.

    Args:
        name: "processes:N" for N processes here, "dask://HOST:PORT" for the workers of a Dask
            scheduler.

    Raises:
        UsageError: the name says neither, or there is no such scheduler.
        MissingExtraError: Dask is not installed.
    """
    if name.startswith(_DASK):
        with _dask(name) as executor:
            yield executor
        return
    count = name.removeprefix(_PROCESSES)
    if not name.startswith(_PROCESSES) or not count.isdecimal() or int(count) < 1:
        raise UsageError(f"there is no executor {name}: name processes:N or {_DASK}HOST:PORT")
    # Not forked: what this process holds open, and its threads, are its own.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(int(count), mp_context=context) as pool:
        yield pool


@contextlib.contextmanager
def _dask(name: str) -> Iterator[Executor]:
    distributed = require("distributed", extra="dask")
    try:
        client = distributed.Client(f"tcp://{name.removeprefix(_DASK)}", timeout=10)
    except (OSError, ValueError) as error:
        raise UsageError(f"{name} does not answer: {error}; start `dask scheduler`") from error
    with client, client.get_executor() as executor:
        yield cast("Executor", executor)
