"""What is done to each framework: one framework, one file.

A module of this package defines `MODULE`, the name of the framework's module that is
changed, and `install(module, changes)`. It is imported when a process starts, so it imports the
framework inside its functions alone.
"""

from __future__ import annotations

__all__: list[str] = []
