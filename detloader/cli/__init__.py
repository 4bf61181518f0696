"""The command line, the outermost layer.

A command is a file of this package with a `command`; it is loaded when it is
asked for, and imports what it works with only when it runs. What the exit
status says is in `status`.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import NoReturn

import click

from detloader.cli.status import guarded

__all__ = ["commands", "main"]


class _Commands(click.Group):
    """Commands found by listing this package; `import_.py` holds the command `import`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        modules = (module.name.rstrip("_") for module in pkgutil.iter_modules(__path__))
        return sorted(name for name in modules if self.get_command(ctx, name) is not None)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command; None where there is none of that name."""
        for module in pkgutil.iter_modules(__path__):
            if module.name.rstrip("_") == cmd_name:
                loaded = importlib.import_module(f"{__name__}.{module.name}")
                return getattr(loaded, "command", None)
        return None


@click.group(cls=_Commands, no_args_is_help=False)
@click.version_option(package_name="detloader", message="%(prog)s %(version)s")
def _program() -> None:
    """Did two runs see the same data, in the same order, with the same draws?"""


def commands() -> click.Group:
    """Return the program with all its commands."""
    return _program


def main() -> NoReturn:
    """Run the command that the program's arguments name, and exit with its status."""
    sys.exit(guarded(_program, sys.argv[1:]))
