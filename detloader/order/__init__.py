"""Orders as pure functions: which record stands where, and how loaders change that.

=============== ==========================================================================
permutation     one pass's permutation at any position; the order of a stream of epochs
partition       contiguous parts of a list: whole, or floored with the remainder dropped
interleave      the older loader's merge of parts as a model, and how to recognise it
schedule        generators of record IDs: weighted draws without end, uniform cycles
seeds           seeds for independent repeats, which neighbouring integers are not
=============== ==========================================================================

Import from the modules themselves. They need NumPy alone. Only the generators of
record IDs touch global random state: they draw from `random`, as published, where
no generator is given to them.
"""

from __future__ import annotations

__all__: list[str] = []
