"""What headers tell of runs of which only a part was recorded on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from detloader.audits.headers import several
from detloader.errors import UsageError
from detloader.findings import Counts, Verdict

if TYPE_CHECKING:
    from detloader.findings import StreamResult
    from detloader.manifest.reader import Stream
    from detloader.manifest.schema import Sampling

__all__ = [
    "is_thinned",
    "joined",
    "require_every_row",
    "require_ids",
    "tell_part",
    "tell_thinned",
    "tell_unlike_steps",
    "with_thinned",
]


def require_ids(stream: Stream) -> None:
    """Make sure that a run holds the IDs of its records, and the arguments of its factory.

    Raises:
        UsageError: it holds keyed digests of them, and no argument.
    """
    if stream.id_hashes != {None}:
        raise UsageError(
            f"record IDs of stream {stream.name} are keyed digests, and the arguments of its "
            "factory were not kept: only a run recorded without --id-hash can be made again"
        )


def require_every_row(stream: Stream) -> None:
    """Make sure that the rows of a stream are all that was delivered.

    Raises:
        UsageError: only a part was recorded, so that no row's number is its place in the loader.
    """
    if stream.samplings != [None]:
        raise UsageError(
            f"of stream {stream.name} only a part was recorded, so that its rows do not stand at "
            "their places in the loader: record all of it for that"
        )


def joined(*reasons: str | None) -> str | None:
    """Put reasons together; None where there is none."""
    return "; ".join(reason for reason in reasons if reason) or None


def with_thinned(
    result: StreamResult, path_a: str, a: Stream, path_b: str, b: Stream
) -> StreamResult:
    """Add to the reason which part of each run was to be recorded."""
    uncounted = result.verdict is Verdict.CHANGED and result.differences == Counts()
    if result.verdict is Verdict.INCONCLUSIVE or uncounted:
        return result
    told = [tell_thinned(path_a, a), tell_thinned(path_b, b)]
    if a.samplings == b.samplings:
        told = [tell_thinned("both", a)]
    if result.verdict is Verdict.CHANGED and (is_thinned(a) or is_thinned(b)):
        told.append("a record that is lacking may stand in a batch that was not recorded")
    return msgspec.structs.replace(result, reason=joined(result.reason or None, *told))


def is_thinned(stream: Stream) -> bool:
    """Tell whether rows of the epochs that were recorded were left out."""
    return any(sampling is not None and sampling.every for sampling in stream.samplings)


def tell_thinned(path: str, stream: Stream) -> str | None:
    """Say which part of a run was to be recorded; None where that is all of it."""
    told = "; ".join(tell_part(stream))
    return f"recorded of {path}: {told}" if told else None


def tell_part(stream: Stream) -> list[str]:
    """Say which parts of a stream were to be recorded; nothing where that is all of it."""
    return [_tell(sampling, stream) for sampling in stream.samplings if sampling is not None]


def _tell(sampling: Sampling, stream: Stream) -> str:
    told = []
    if epochs := sampling.epochs or []:
        told.append(several("epoch", epochs, len(epochs)))
    if sampling.every:
        told.append(f"one {'batch' if 'batch' in stream.columns else 'row'} in {sampling.every}")
    if sampling.then:
        told.append("draws and content of the first epoch alone")
    return ", ".join(told)


def tell_unlike_steps(path_a: str, a: Stream, path_b: str, b: Stream) -> str | None:
    """Say why the n-th batches of two runs are not the same places; None where they are."""
    if not (is_thinned(a) or is_thinned(b)):
        return None
    sizes = [stream.declared.batch_size or None for stream in (a, b)]
    if None not in sizes and sizes[0] != sizes[1]:
        return (
            f"not every batch was recorded, and batches have {sizes[0]} rows in {path_a} and "
            f"{sizes[1]} in {path_b}: record both with every=1"
        )
    mixed = len(a.samplings) > 1 or len(b.samplings) > 1
    if ("batch" in a.columns) != ("batch" in b.columns) or (mixed and "batch" not in a.columns):
        return (
            f"not every row was recorded, and nothing tells which rows of {path_a} and {path_b} "
            "stand at one place: record both with every=1"
        )
    return None
