"""The pages that are made from the program: `python -m detloader.cli.manual DOCS`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from detloader import cli
from detloader.audits import all_rules
from detloader.audits.equivalence import Equivalence
from detloader.cli import status
from detloader.reports.schema import schema_text

__all__ = ["pages"]

_NOTE = "<!-- Made by `python -m detloader.cli.manual docs`: change the program, not this page. -->"
_SECTION = re.compile(r"^## ", re.MULTILINE)


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
    parts += ["## Exit status", table, errors, "## Equivalence", _equivalences()]
    parts += ["## Settings", _SETTINGS]
    return "\n\n".join(parts) + "\n"


def rules_page() -> str:
    """Return the page on the rules: an index, then the page of each rule."""
    rules = all_rules()
    index = "\n".join(
        ["| rule | what it says |", "|---|---|"]
        + [f"| [{rule.name}](#{rule.name}) | {rule.summary} |" for rule in rules]
    )
    intro = (
        "In causal order. `detloader rules RULE` prints the page of one rule. "
        "[Writing rules](writing-rules.md) says how to add one."
    )
    parts = ["# The rules", _NOTE, intro, index]
    for rule in rules:
        parts += [f"## {rule.name}", _SECTION.sub("### ", rule.page.strip())]
    return "\n\n".join(parts) + "\n"


def _equivalences() -> str:
    """Return what each equivalence asks for, and what it costs not to meet it."""
    rows = [f"| `{rule}` | {rule.meaning} |" for rule in Equivalence]
    table = "\n".join(["| `--equivalence` | asks for |", "|---|---|", *rows])
    return f"{table}\n\n{_EQUIVALENCE}"


_EQUIVALENCE = """Draws and content have to agree in all of them; draws that merely follow the
position do agree. The measured verdict stays as it is, and a decision follows it. Where the
rule holds, the exit status is 0, and findings that concern only what the rule allows to differ
do not count. Where it does not hold, it is 1. It is 2 where that cannot be told, as from
digests alone, or from a run that is not complete."""

_SETTINGS = """`[tool.detloader]` in the nearest `pyproject.toml`, from the current folder upwards.
What the command line says stands above it. An unknown key is an error.

```toml
[tool.detloader]
select = []              # the only rules to ask; all of them where it is empty
ignore = ["race"]        # rules to leave out
fail-on = "fail"         # note, warn or fail: the mildest finding that gives exit status 1
limit = 10               # rows and IDs that text shows
equivalence = "same-set" # how alike audited runs have to be; identical or equivalent without it
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
