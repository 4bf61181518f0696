"""The pages that are made from the program: `python -m detloader.cli.manual DOCS`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from detloader import cli
from detloader.audits import all_rules
from detloader.cli import status
from detloader.reports.schema import schema_text

__all__ = ["pages"]

_NOTE = "<!-- Made by `python -m detloader.cli.manual docs`: change the program, not this page. -->"
_HEADING = re.compile(r"^(\S.*?):?\n-{3,}$", re.MULTILINE)


def pages() -> dict[str, str]:
    """Return the text of each page by its file's name."""
    return {
        "cli.md": cli_page(),
        "rules.md": rules_page(),
        "result.schema.json": schema_text(),
    }


def cli_page() -> str:
    """Return the page on the command line: every command, every option, every exit status."""
    group = cli.commands()
    context = click.Context(group)
    parts = ["# The command line", _NOTE, group.help or ""]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        parts += [f"## detloader {name}", *_command(name, command)]
    table = (status.__doc__ or "").partition("\n\n")[2].strip()
    errors = (
        "An error is one line on standard error, beginning with `detloader: `. "
        "`--debug` shows the traceback as well."
    )
    parts += ["## Exit status", table, errors, "## Settings", _SETTINGS]
    return "\n\n".join(parts) + "\n"


def rules_page() -> str:
    """Return the page on the rules: an index, then the page of each rule."""
    rules = all_rules()
    index = "\n".join(
        ["| rule | what it says |", "|---|---|"]
        + [f"| [{rule.name}](#{rule.name}) | {rule.summary} |" for rule in rules]
    )
    intro = "In causal order. `detloader rules RULE` prints the page of one rule."
    parts = ["# The rules", _NOTE, intro, index]
    for rule in rules:
        parts += [f"## {rule.name}", _HEADING.sub(r"### \1", rule.page.strip())]
    return "\n\n".join(parts) + "\n"


_SETTINGS = """`[tool.detloader]` in the nearest `pyproject.toml`, from the current folder upwards.
What the command line says stands above it. An unknown key is an error.

```toml
[tool.detloader]
select = []              # the only rules to ask; all of them where it is empty
ignore = ["race"]        # rules to leave out
fail-on = "fail"         # note, warn or fail: the mildest finding that gives exit status 1
limit = 10               # rows and IDs that text shows
```"""


def _command(name: str, command: click.Command) -> list[str]:
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    options = [p for p in command.params if isinstance(p, click.Option)]
    usage = " ".join(
        ["detloader", name, *(a.metavar or a.name or "" for a in arguments), "[OPTIONS]"]
    )
    rows = [f"| `{_spelling(option)}` | {option.help} |" for option in options]
    return [
        f"`{usage}`",
        re.sub(r"\s+", " ", command.help or ""),
        "\n".join(["| option | does |", "|---|---|", *rows]),
    ]


def _spelling(option: click.Option) -> str:
    value = ""
    if isinstance(option.type, click.Choice):
        value = " " + "/".join(option.type.choices)
    elif not option.is_flag:
        value = f" {option.metavar}"
    return ", ".join(option.opts) + value


if __name__ == "__main__":
    for file, text in pages().items():
        Path(sys.argv[1], file).write_text(text, encoding="utf-8")
