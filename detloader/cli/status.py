"""Exit statuses, and errors as one line.

| status | means |
|---|---|
| 0 | the same, as alike as was asked, clean, accepted, or done |
| 1 | a difference that counts, or a finding at or above `--fail-on` |
| 2 | could not judge: inconclusive, bad usage, no such run, damage, a bug |
| 130 | interrupted |
| 141 | whoever read the output went away |
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from enum import IntEnum
from typing import TYPE_CHECKING

import click

from detloader.errors import DetloaderError
from detloader.findings import Outcome, Verdict
from detloader.reports.plain import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.audits.equivalence import Equivalence
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


_BY_OUTCOME = {
    Outcome.ACCEPTED: Status.SAME,
    Outcome.UNKNOWN: Status.UNJUDGED,
    Outcome.BROKEN: Status.DIFFERENT,
}
_BY_VERDICT = {
    Verdict.IDENTICAL: Status.SAME,
    Verdict.EQUIVALENT: Status.SAME,
    Verdict.CLEAN: Status.SAME,
    Verdict.FINDINGS: Status.SAME,
    Verdict.INCONCLUSIVE: Status.UNJUDGED,
}


def status_of(result: Result, fail_on: Severity, rule: Equivalence | None = None) -> Status:
    """Return what a result means for whoever asked: for a shell, a script, a CI job.

    Args:
        result: what came out.
        fail_on: mildest finding that counts.
        rule: the equivalence that was asked for.
    """
    statuses = {_status(one, fail_on, rule) for one in result.comparisons or [result]}
    by_weight = (Status.DIFFERENT, Status.UNJUDGED, Status.SAME)
    return next(status for status in by_weight if status in statuses)


def _status(result: Result, fail_on: Severity, rule: Equivalence | None) -> Status:
    if result.outcome in _BY_OUTCOME:
        return _BY_OUTCOME[result.outcome]
    findings, otherwise = result.findings, _BY_VERDICT.get(result.verdict, Status.DIFFERENT)
    if rule is not None and result.outcome is Outcome.HOLDS:
        from detloader.audits.equivalence import unexcused

        findings, otherwise = unexcused(result, rule), Status.SAME
    loud = any(finding.severity.rank >= fail_on.rank for finding in findings)
    return Status.DIFFERENT if loud else otherwise


def guarded(command: click.Command, arguments: Sequence[str]) -> int:
    """Run a command; whatever goes wrong is one line on standard error and a status."""
    try:
        status = _invoked(command, arguments)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return Status.INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return Status.PIPE_CLOSED
    except OSError as error:
        _drop_output()
        return _fail(_refused(error), None)
    return status


def _drop_output() -> None:
    """Give up what could not be written: the interpreter would try again at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    except OSError as error:
        return _fail(_refused(error), context)
    except Exception as error:  # noqa: BLE001 - a bug must never look like a difference
        return _fail(_bug(error), context)
    return Status.SAME


def _fail(message: str, context: click.Context | None) -> Status:
    if context is not None and DEBUG in context.meta:
        traceback.print_exc()
    # Where nobody can be told, the status still says it.
    with contextlib.suppress(OSError):
        click.echo(f"detloader: {printable(message)}", err=True)
    return Status.UNJUDGED


def _usage(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{message} See {error.ctx.command_path} --help."
    return message


def _refused(error: OSError) -> str:
    """Say what the operating system refused: that is no bug."""
    names = (name for name in (error.filename, error.filename2) if name is not None)
    files = " and ".join(os.fsdecode(name) for name in names if not isinstance(name, int))
    # Arrow's errors have a number, and a text of several sentences.
    what = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    return f"{files or 'reading or writing failed'}: {what}; {_mend(error)}"


def _mend(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return "free some space, or write elsewhere"
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return "check the permissions, or name another place"
    return "check the path, or name another"


def _bug(error: Exception) -> str:
    return (
        f"a bug in detloader, or in what it ran: {type(error).__name__}: {error}; "
        "--debug shows where"
    )
