"""`detloader report`: render a result again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detloader.cli.options import cli_command, report_options

if TYPE_CHECKING:
    from detloader.cli.output import Output

__all__ = ["command"]


@cli_command("report")
@click.argument("result", metavar="RESULT")
@report_options
def command(*, result: str, output: Output) -> None:
    """Render a result again, without comparing anything.

    RESULT is what `--json` wrote. Pictures are drawn where it was written with `--pictures`,
    or beside `--html`. The runs may be gone. The exit status is 0 whatever the verdict.
    """
    from pathlib import Path

    from detloader.audits.acceptance import read_result

    output.write(read_result(Path(result)))
