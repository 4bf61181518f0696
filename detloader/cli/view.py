"""A run as `show` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from detloader.audits.sampled import tell_part
from detloader.cli.table import table_lines
from detloader.errors import UsageError
from detloader.manifest.schema import Level
from detloader.reports.plain import listed, plural, printable, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from detloader.manifest.reader import Rank, Run, Stream

__all__ = ["matching_rows", "row_lines", "run_lines", "stream_lines"]

_LABEL = 14


def run_lines(run: Run) -> list[str]:
    """Describe the run as a whole."""
    state = "complete" if run.complete else "incomplete"
    return [
        wrap(f"{run.path}: {plural(run.rows, 'row')}, {state}"),
        _labelled("fingerprint", run.fingerprint or "none, the run is open"),
        _labelled("run ID", run.run_id),
    ]


def stream_lines(stream: Stream) -> list[str]:
    """Describe one loader of the run."""
    epochs = _epochs(stream)
    facts = [
        plural(stream.rows, "row"),
        *([plural(epochs, "epoch")] if epochs else []),
        plural(len(stream.ranks), "rank"),
        f"level {stream.level}",
        "complete" if stream.complete else "incomplete",
    ]
    lost = sum(rank.header.seen.lost for rank in stream.ranks)
    if lost:
        facts.append(f"{plural(lost, 'row')} lost")
    if stream.skipped:
        facts.append(f"{plural(stream.skipped, 'row')} left out")
    lines = [wrap(f"stream {stream.name}: {', '.join(facts)}", hanging="  ")]
    lines += [_labelled(label, told) for label, told in _as_kept(stream) if told]
    if stream.recipe is not None:
        arguments = ", ".join(f"{k}={_value(v)}" for k, v in stream.recipe.arguments.items())
        lines.append(_labelled("recipe", f"{stream.recipe.factory}({arguments})"))
    if declared := _facts(msgspec.to_builtins(stream.declared)):
        lines.append(_labelled("declared", declared))
    if environment := _facts(msgspec.to_builtins(stream.environment)):
        lines.append(_labelled("environment", environment))
    return lines


def _as_kept(stream: Stream) -> Iterator[tuple[str, str]]:
    """Yield how the rows that are there were kept, where that is not as usual."""
    keys = sorted(key for key in stream.id_hashes if key)
    digesting = sorted(name for name in stream.roundings if name)
    yield "recorded", "; ".join(tell_part(stream))
    yield "record IDs", f"digests under key {', '.join(keys)}" if keys else ""
    yield "content", ", ".join(digesting)


def _epochs(stream: Stream) -> int:
    if "epoch" not in stream.columns:
        return 0
    return max(map(_epochs_of, stream.ranks))


def _epochs_of(rank: Rank) -> int:
    """Count the epochs of a rank; the header of one that was never sealed does not know them."""
    if rank.header.state == "complete" or rank.header.level is Level.DIGEST:
        return rank.header.seen.epochs
    return len(rank.table(["epoch"])["epoch"].unique())


def matching_rows(stream: Stream, wanted: Mapping[str, int | str]) -> pa.Table | None:
    """Return the rows that have the wanted values, with their numbers; None if none were kept.

    Raises:
        UsageError: if the run has no such column.
        RunError: if rows are wanted that were not kept.
    """
    if stream.level is Level.DIGEST and not wanted:
        return None
    import pyarrow as pa

    rows = stream.table()
    rows = rows.add_column(0, "row", pa.array(range(len(rows)), pa.int64()))
    for column, value in wanted.items():
        rows = rows.filter(_mask(rows, stream.name, column, value))
    return rows


def row_lines(rows: pa.Table | None, limit: int, width: int) -> list[str]:
    """Return the first rows as a table that is no wider than the width, where that can be."""
    if rows is None:
        return ["The rows were not kept, for the run was recorded at level digest."]
    shown = rows.slice(0, limit)
    columns = {name: shown[name].to_pylist() for name in shown.column_names}
    lines = table_lines(columns, _value, width)
    if not len(rows):
        lines.append("(no rows)")
    elif len(rows) > limit:
        lines.append(f"… and {plural(len(rows) - limit, 'more row')}; --limit shows more")
    return lines


def _mask(rows: pa.Table, stream: str, column: str, value: int | str) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    if column not in rows.column_names:
        option = "step" if column == "batch" else column
        raise UsageError(
            f"--{option} needs a column {column}, and stream {stream} has none: leave it out"
        )
    kind = rows[column].type
    if pa.types.is_integer(kind) and isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            raise UsageError(f"--record {value}: the IDs of this run are integers") from None
    try:
        return compute.equal(rows[column], pa.scalar(value, kind))
    except OverflowError:
        raise UsageError(f"--{column} {value} is out of range: give one that int64 holds") from None


def _facts(values: Mapping[str, Any]) -> str:
    """Return all that is known as `name value`, in one line."""
    facts = []
    for name, value in values.items():
        if isinstance(value, dict):
            inner = _facts(value)
            facts += [f"{name} ({inner})"] if inner else []
        elif value is not None and value != []:
            facts.append(f"{name} {_value(value)}")
    return ", ".join(facts)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{listed([_value(item) for item in value], 8)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "-" if value is None else printable(str(value))


def _labelled(label: str, text: str) -> str:
    return wrap(text, indent=f"  {label:{_LABEL - 1}} ", hanging=" " * (_LABEL + 2))
