"""`detloader record -- PROGRAM`: every loader of a program, recorded without a change to it.

launch    starts the program, so that `startup` runs in each of its Python processes
startup   a folder on their import path; its `sitecustomize` calls `begin`
process   begins to record in such a process, and says so if nothing came of it
"""

from __future__ import annotations

__all__: list[str] = []
