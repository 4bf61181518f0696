"""Every error that detloader raises on purpose.

DetloaderError
├── UsageError            what was asked for makes no sense
├── LogError              an order log cannot be imported
├── LoaderError           a loader broke its contract while it ran
│   ├── SampleError       … on one record, which it names
│   └── BatchError        … where samples do not fit into one batch
├── RunError              a run folder cannot be used
│   ├── RunExistsError    recording would overwrite it
│   ├── RunNotFoundError  there is none
│   └── DamageError       its bytes are not those that were recorded
└── FactoryError          a factory named on the command line cannot be used

A message is one line: what is wrong, where, and how to mend it.
"""

from __future__ import annotations

__all__ = [
    "BatchError",
    "DamageError",
    "DetloaderError",
    "FactoryError",
    "LoaderError",
    "LogError",
    "RunError",
    "RunExistsError",
    "RunNotFoundError",
    "SampleError",
    "UsageError",
]


class DetloaderError(Exception):
    """Base of all errors that detloader raises on purpose."""


class UsageError(DetloaderError, ValueError):
    """What was asked for makes no sense."""


class LogError(DetloaderError):
    """An order log cannot be imported."""


class LoaderError(DetloaderError):
    """A loader broke its contract while it ran."""


class SampleError(LoaderError):
    """A source or a transform failed on one record.

    Attributes:
        record: index of the record in its source.
        position: place of the record in the stream, counted over all epochs.
    """

    def __init__(self, message: str, record: int, position: int) -> None:
        """Name the record in the message, and keep both numbers."""
        super().__init__(message)
        self.record = record
        self.position = position

    def __reduce__(self) -> tuple[type[SampleError], tuple[str, int, int]]:
        """Survive the way back from a worker process."""
        return type(self), (str(self), self.record, self.position)


class BatchError(LoaderError, ValueError):
    """Samples of one batch differ in structure or shape."""


class RunError(DetloaderError):
    """A run folder cannot be used."""


class RunExistsError(RunError, FileExistsError):
    """Recording would overwrite a run."""


class RunNotFoundError(RunError, FileNotFoundError):
    """There is no run in that folder."""


class DamageError(RunError):
    """The bytes of a run are not those that were recorded."""


class FactoryError(DetloaderError):
    """A factory named on the command line cannot be used."""
