"""The HDF5 Dataloader, along the way of the data.

loader                   the class; settings and arguments are what it was given
files, hub               which files there are, and in which order
building                 the only time that all files are looked at; validation of their format
blocks, order, epochs    rows of frames; which of them stands where; in which epoch
records                  what rows are called
handles, opening         files that are open; what they take from others (outside); watching them
reading, cache           blocks of frames, as they are stored
samples                  what is made of them: placement, ranges, resize (fitting, interpolation)
batches, draws, digests  elements of an epoch, by their number, in any thread or process
finishing, tensors       augmentation and tensors, in order and in one place
readers, turns           threads that read ahead, in turn
read_ahead, stream       Grain's datasets; state: iterators that can be taken up again
plan                     all of this, for any epoch
summary                  what the loader prints
"""

from __future__ import annotations

__all__: list[str] = []
