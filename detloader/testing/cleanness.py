"""No rule finds fault with what a loader delivers."""

from __future__ import annotations

from typing import Any

from detloader.audits.engine import check
from detloader.reports import headline
from detloader.reports.plain import wrap
from detloader.testing.context import Context
from detloader.testing.options import Recording
from detloader.testing.runs import exhaust, record_loader, run_folder
from detloader.testing.told import Made, finding_lines, look_further

__all__ = ["check_cleanness"]


def check_cleanness(context: Context, loader: Any, epochs: int, options: Recording) -> str:
    """Ask all rules that one run can answer; the project's settings say which ones count.

    Raises:
        AssertionError: there is a finding at or above the project's `fail-on`.
    """
    settings = context.settings
    name = type(loader).__name__

    def consume(twin: Any) -> None:
        for _ in range(epochs):
            exhaust(iter(twin), options.get("elements"), name)

    with context.folder() as folder:
        run = record_loader(loader, run_folder(folder, "run"), options, name=name, consume=consume)
        made = Made(run, name)
        result = check(made.named, select=settings.select, ignore=settings.ignore)
        loud = [each for each in result.findings if each.severity.rank >= settings.fail_on.rank]
        if loud:
            lines = [wrap(headline(result)), *finding_lines(loud), look_further("check", made)]
            raise AssertionError("\n".join(lines))
    return f"{made.run.rows:,} rows, {len(result.not_checked)} rules could not be asked"
