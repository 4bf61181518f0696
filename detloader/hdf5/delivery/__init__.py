"""From samples to what the loop is given.

batches     elements of an epoch, by their number, in any thread or process
readers     threads that make them ahead
read_ahead  the same as a Grain dataset
finishing   augmentation, tensors and names, in order and in one place; tensors: of which framework
state       where an iteration stands
"""

from __future__ import annotations

__all__: list[str] = []
