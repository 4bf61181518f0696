"""Blocks of frames, as they are stored.

blocks      the table of all samples: which frames of which file
records     what its rows are called
reading     the bytes of one block; cache: kept in memory
digests     what tells it from any other
"""

from __future__ import annotations

__all__: list[str] = []
