"""Every error that detloader raises on purpose.

DetloaderError
├── UsageError            what was asked for makes no sense
├── LogError              an order log cannot be imported
├── LoaderError           a loader broke its contract while it ran
│   ├── SampleError       … on one record, which it names
│   ├── RangeError        … where a sample's values are not what was promised
│   └── BatchError        … where samples do not fit into one batch
├── FileError             a data file cannot be used; it is named
│   ├── MissingFileError  it is not there, or no longer
│   ├── MissingKeyError   it holds no such dataset
│   └── FormatError       it is not laid out as its format asks
├── RunError              a run folder cannot be used
│   ├── RunExistsError    recording would overwrite it
│   ├── RunNotFoundError  there is none
│   └── DamageError       its bytes are not those that were recorded
├── FrozenError           a frozen file cannot be used
├── FactoryError          a factory named on the command line cannot be used
├── InstallError          an environment of the versions asked for cannot be made
│   ├── ConflictError     two of them exclude each other
│   ├── NoVersionError    there is no such version, or none for that Python
│   └── NoIndexError      nobody answers where packages come from
└── MissingExtraError     a part of detloader needs a package that is not installed

A message is one line: what is wrong, where, and how to mend it.
"""

from __future__ import annotations

__all__ = [
    "BatchError",
    "ConflictError",
    "DamageError",
    "DetloaderError",
    "FactoryError",
    "FileError",
    "FormatError",
    "FrozenError",
    "InstallError",
    "LoaderError",
    "LogError",
    "MissingExtraError",
    "MissingFileError",
    "MissingKeyError",
    "NoIndexError",
    "NoVersionError",
    "RangeError",
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
        record: index of the record in its source, or its ID where it has no index.
        position: place of the record in the stream, counted over all epochs.
    """

    def __init__(self, message: str, record: object, position: int) -> None:
        """Name the record in the message, and keep both numbers."""
        super().__init__(message)
        self.record = record
        self.position = position

    def __reduce__(self) -> tuple[type[SampleError], tuple[str, object, int]]:
        """Survive the way back from a worker process."""
        return type(self), (str(self), self.record, self.position)


class BatchError(LoaderError, ValueError):
    """Samples of one batch differ in structure or shape."""


class RangeError(LoaderError, ValueError):
    """A sample's values lie outside the range that was promised."""


class FileError(DetloaderError):
    """A data file cannot be used.

    Attributes:
        path: the file.
    """

    def __init__(self, message: str, path: str) -> None:
        """Name the file in the message, and keep its path."""
        # A file's name may hold line ends and terminal codes; a message is one line.
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)
        super().__init__(line)
        self.path = path

    def __str__(self) -> str:
        # A KeyError would show its message in quotes.
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[FileError], tuple[str, str]]:
        """Survive the way back from a worker process."""
        return type(self), (str(self), self.path)


class MissingFileError(FileError, FileNotFoundError):
    """A data file is not there, or no longer."""


class MissingKeyError(FileError, KeyError):
    """A data file holds no dataset of that name."""


class FormatError(FileError, ValueError):
    """A data file is not laid out as its format asks."""


class RunError(DetloaderError):
    """A run folder cannot be used."""


class RunExistsError(RunError, FileExistsError):
    """Recording would overwrite a run."""


class RunNotFoundError(RunError, FileNotFoundError):
    """There is no run in that folder."""


class DamageError(RunError):
    """The bytes of a run are not those that were recorded."""


class FrozenError(DetloaderError):
    """A frozen file cannot be used."""


class FactoryError(DetloaderError):
    """A factory named on the command line cannot be used."""


class InstallError(DetloaderError):
    """An environment of the versions asked for cannot be made."""


class ConflictError(InstallError):
    """Two packages exclude each other in the versions asked for."""


class NoVersionError(InstallError):
    """There is no such version of a package or of Python, or none for that Python."""


class NoIndexError(InstallError):
    """Nobody answers where packages come from."""


class MissingExtraError(DetloaderError, ImportError):
    """A part of detloader needs a package that is not installed."""
