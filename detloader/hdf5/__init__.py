"""The HDF5 Dataloader, along the way of the data.

loader      the class; settings and arguments are what it was given, summary what it prints
building    the only time that all files are looked at
plan        what comes of that, for any epoch; stream: one of them, to iterate
files       which files there are; open, watched and validated
frames      the table of blocks of frames, and how they are read
order       which of them stands where, in each epoch and shard, and what it may draw
images      what is made of each
delivery    batches of them, read ahead, augmented, as tensors; what an iterator's state says
"""

from __future__ import annotations

__all__: list[str] = []
