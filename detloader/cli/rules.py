"""`detloader rules`: what is asked, and why."""

from __future__ import annotations

import difflib

import click

from detloader.cli.options import cli_command
from detloader.errors import UsageError

__all__ = ["command"]


@cli_command("rules")
@click.argument("rule", metavar="[RULE]", required=False)
def command(*, rule: str | None) -> None:
    """List the rules, or explain one with its example."""
    from detloader.audits import all_rules
    from detloader.cli.page import page_text
    from detloader.reports.plain import wrap

    rules = {known.name: known for known in all_rules()}
    if rule is None:
        width = max(map(len, rules), default=0)
        for known in rules.values():
            name = f"{known.name:{width}}  "
            click.echo(wrap(known.summary, indent=name, hanging=" " * len(name)))
    elif rule in rules:
        click.echo(f"{rule}\n{'=' * len(rule)}\n\n{page_text(rules[rule].page)}")
    else:
        near = difflib.get_close_matches(rule, rules)
        mend = f"did you mean {near[0]}?" if near else "detloader rules lists them"
        raise UsageError(f"there is no rule {rule}: {mend}")
