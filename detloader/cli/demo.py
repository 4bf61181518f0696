"""`detloader demo`: the main job on real input."""

from __future__ import annotations

import click

from detloader.cli.options import cli_command

__all__ = ["command"]


@cli_command("demo")
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    default="detloader-demo",
    show_default=True,
    help="Folder to make.",
)
def command(*, folder: str) -> None:
    """Record and audit a small real data set, in seconds.

    Handwritten digits go through a model of the older loader and through to_grain.
    """
    from pathlib import Path

    from detloader.cli.output import wants_color
    from detloader.cli.progress import waiting
    from detloader.demo.job import run_demo
    from detloader.demo.story import tell

    with waiting("recording three loaders and comparing them"):
        outcome = run_demo(Path(folder))
    click.echo(tell(outcome, color=wants_color()))
