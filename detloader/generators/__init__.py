"""Random generators that are watched, and never moved.

state       a generator's state in a few bytes, by public ways
memory      the fast way to the same bytes, and the proof that they are the same
search      the generators that an object holds
witness     looks at them before and after each sample of a batch
looks       what was seen, and the digests of what was drawn in between
folding     one digest for draws that were taken one after another
listening   a generator that tells of every number that is drawn of it
"""

from __future__ import annotations

__all__: list[str] = []
