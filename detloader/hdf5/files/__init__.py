"""The files of a Dataloader.

discovery   which files there are, and in which order; hub: those of `hf://` paths
validation  whether they are of the zea format
opening     one that is open; outside: what it takes from other files
watching    whether it was changed meanwhile
handles     no more of them open than may be, and read in turn (turns)
"""

from __future__ import annotations

__all__: list[str] = []
