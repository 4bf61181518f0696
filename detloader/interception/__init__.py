"""Loaders that are recorded without being wrapped: each as it is first iterated.

hooks       wait for frameworks to be imported
frameworks  what is done to each then: one framework, one file
changes     the way back
graphs      datasets that TensorFlow iterates by itself
fits        what Keras's `fit` takes
session     the run that loaders go to, one stream for each
aside       what is iterated, and is no training
places      where a loader was made, which names its stream
block       `record_all`: a session for as long as a block or a function runs

`detloader.program` begins a session in each process of a program.
"""

from __future__ import annotations

__all__: list[str] = []
