"""Exit statuses, and errors as one line.

| status | means |
|---|---|
| 0 | the same, clean, or done |
| 1 | a difference, or a finding at or above `--fail-on` |
| 2 | could not judge: inconclusive, bad usage, no such run, damage, a bug |
| 130 | interrupted |
| 141 | whoever read the output went away |
"""

from __future__ import annotations

import os
import sys
import traceback
from enum import IntEnum
from typing import TYPE_CHECKING

import click

from detloader.errors import DetloaderError
from detloader.reports.plain import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.findings import Result, Severity

__all__ = ["DEBUG", "Status", "guarded", "status_of"]

DEBUG = "detloader.debug"
"""Key in the context's `meta`: whether tracebacks are wanted."""


class Status(IntEnum):
    """What the exit status of a command says."""

    SAME = 0
    DIFFERENT = 1
    UNJUDGED = 2
    INTERRUPTED = 130
    PIPE_CLOSED = 141


def status_of(result: Result, fail_on: Severity) -> Status:
    """Return what a result means for whoever asked: for a shell, a script, a CI job."""
    findings = [*result.findings]
    for comparison in result.comparisons or ():
        findings += comparison.findings
    if any(finding.severity.rank >= fail_on.rank for finding in findings):
        return Status.DIFFERENT
    match result.verdict:
        case "identical" | "equivalent" | "clean" | "findings":
            return Status.SAME
        case "inconclusive":
            return Status.UNJUDGED
    return Status.DIFFERENT


def guarded(command: click.Command, arguments: Sequence[str]) -> int:
    """Run a command; whatever goes wrong is one line on standard error and a status."""
    try:
        status = _invoked(command, arguments)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return Status.INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes once more at its exit, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Status.PIPE_CLOSED
    return status


def _invoked(command: click.Command, arguments: Sequence[str]) -> int:
    context: click.Context | None = None
    try:
        with command.make_context("detloader", [*arguments]) as context:
            command.invoke(context)
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.ClickException as error:
        return _fail(_usage(error), context)
    except DetloaderError as error:
        return _fail(str(error), context)
    except (click.Abort, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001 - a bug must never look like a difference
        return _fail(_bug(error), context)
    return Status.SAME


def _fail(message: str, context: click.Context | None) -> Status:
    if context is not None and DEBUG in context.meta:
        traceback.print_exc()
    click.echo(f"detloader: {printable(message)}", err=True)
    return Status.UNJUDGED


def _usage(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{message} See {error.ctx.command_path} --help."
    return message


def _bug(error: Exception) -> str:
    return (
        f"a bug in detloader, or in what it ran: {type(error).__name__}: {error}; "
        "--debug shows where"
    )
