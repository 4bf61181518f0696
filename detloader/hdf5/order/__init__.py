"""Which sample stands where, and what is drawn for it.

sample_order  the permutation of each pass, and its shards
epochs        which seed each epoch has
draws         what keys the random numbers of its samples
"""

from __future__ import annotations

__all__: list[str] = []
