"""Options that several commands share."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

import click

from detloader.cli.output import Output
from detloader.cli.status import DEBUG
from detloader.findings import Severity
from detloader.reports import formats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "batches_option",
    "cli_command",
    "limit",
    "output_options",
    "parameters_option",
    "pictures",
    "report_options",
    "timeout_option",
]

_Function = TypeVar("_Function", bound="Callable[..., Any]")


def cli_command(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a function a command with `--debug`; its docstring is the help."""

    def decorate(function: Callable[..., None]) -> click.Command:
        return click.command(name)(_debug(function))

    return decorate


def limit(function: _Function) -> _Function:
    """Offer `--limit`; None where it is not given."""
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        metavar="N",
        help="Rows and IDs that text shows; 10 by default.",
    )(function)


def pictures(function: _Function) -> _Function:
    """Offer `--pictures`."""
    return click.option(
        "--pictures",
        is_flag=True,
        help="Put into the result what pictures are drawn from; --html does it by itself.",
    )(function)


# Options of commands that call a factory; each command says in its own words what they do.
parameters_option = functools.partial(
    click.option, "-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE"
)
batches_option = functools.partial(
    click.option, "--batches", type=click.IntRange(min=1), metavar="N"
)
timeout_option = functools.partial(
    click.option,
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
)


def output_options(function: Callable[..., None]) -> Callable[..., None]:
    """Offer what to ask and how to answer; the function gets all of it as one `output`."""
    return _with_output(function, [*_answers(), *_questions()])


def report_options(function: Callable[..., None]) -> Callable[..., None]:
    """Offer how to answer, where nothing is asked any more."""
    return _with_output(function, _answers())


def _with_output(
    function: Callable[..., None], options: list[Callable[[Any], Any]]
) -> Callable[..., None]:
    @functools.wraps(function)
    def wrapped(**arguments: Any) -> None:
        chosen = {name: arguments.pop(name, unasked) for name, unasked in Output.OPTIONS.items()}
        files = {name: arguments.pop(name) for name in formats()}
        read = [*_read(arguments)]
        function(output=Output.chosen(files, read=read, **chosen), **arguments)

    for option in (*options, limit, *_destinations()):
        wrapped = option(wrapped)
    return wrapped


def _read(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the runs and files that the command line names for a command to read."""
    for parameter in click.get_current_context().command.params:
        if isinstance(parameter, click.Argument) or parameter.metavar in {"FILE", "RUN"}:
            named = arguments.get(parameter.name or "")
            yield from [named] if isinstance(named, str) else named or ()


def _debug(function: _Function) -> _Function:
    return click.option(
        "--debug",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_remember_debug,
        help="Show the traceback of an error.",
    )(function)


def _remember_debug(context: click.Context, _option: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click calls it so
    if value:
        context.meta[DEBUG] = True


def _answers() -> list[Callable[[_Function], _Function]]:
    return [
        click.option("--no-color", is_flag=True, help="No colours; NO_COLOR does the same."),
        click.option("--quiet", is_flag=True, help="One line on the terminal."),
    ]


def _questions() -> list[Callable[[_Function], _Function]]:
    return [
        click.option(
            "--fail-on",
            type=click.Choice([severity.value for severity in Severity]),
            help="Mildest finding that gives exit status 1; fail by default.",
        ),
        click.option("--ignore", multiple=True, metavar="RULE", help="Leave a rule out."),
        click.option("--select", multiple=True, metavar="RULE", help="Ask this rule only."),
    ]


def _destinations() -> list[Callable[[_Function], _Function]]:
    return [
        click.option(
            f"--{name}", metavar="FILE", help=f"Write {name} to a file; - is the terminal."
        )
        for name in reversed(formats())
    ]
