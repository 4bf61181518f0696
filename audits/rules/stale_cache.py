"""A cache gives what another configuration made.

## What it catches

Two cached runs whose configurations differ in an entry that should matter, and
whose samples are nevertheless equal, byte for byte.

## Why it hurts

The config says one thing and the model is trained on another. The experiment that
was meant to compare two settings compares one setting with itself.

## Example

    run a   config {"scale": 2.0}, cache on   content of record 7: 1925
    run b   config {"scale": 3.0}, cache on   content of record 7: 1925

## How to mend it

Put all that a transform depends on into the key of its cache: parameters, the values
that it closes over, versions. Clear the cache and run again. Entries that change no
sample are listed in the configuration under "inert".

## Evidence

- `config`: the entries that differ, each with the value of the baseline and of the
  other run.
- `cache`: what each run declares of its cache.
- `rows`: rows whose content is equal.
- `raw`: whether the raw bytes were recorded, and are equal too.

## Limits

Needs a declared `cache` that is on in both runs, a declared `config`, and `content`. A
recording of `tf.data`'s `cache(filename)` or `snapshot` declares none, for an entry such as
a seed need not change what is stored: say `declared={"cache": True}` where entries should.
Entries that are known to set buffers and threads, where results go, or how a model is
trained (such as `lr` and `output_dir`) are never held against a run.

## Seen in

huggingface/datasets#2775, #8228; allenai/open-instruct#1518.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UnsetType

from detloader.audits.headers import unequal_digests
from detloader.audits.measures.conditions import config_differences
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.compare import Comparison
    from detloader.audits.rule import Known
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Stream

__all__ = ["EXAMPLE", "STAGE", "compare_headers", "compare_runs"]

STAGE = Stage.OUTPUT

EXAMPLE = Example(
    baseline={"record": [0, 1, 2], "content": [70, 71, 72]},
    faulty={"record": [0, 1, 2], "content": [70, 71, 72]},
    mended={"record": [0, 1, 2], "content": [80, 81, 82]},
    declared={"shuffle": False, "cache": True, "config": {"scale": 3.0}},
    baseline_declared={"config": {"scale": 2.0}},
)


def compare_headers(a: Stream, b: Stream) -> list[Fault]:
    """Find equal content under unequal configurations, from the digests alone."""
    changed = _changed_config(a, b)
    if not changed:
        return []
    if "content" not in a.columns or "content" not in b.columns:
        raise CannotTell("content")
    unequal = unequal_digests(a, b)
    if unequal is None or "content" in unequal or a.rows != b.rows:
        return []
    _require_cache(a, b)
    return [_fault(a, b, changed, a.rows, same_raw="raw" not in unequal)]


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:  # noqa: ARG001 - the order may differ for any reason
    """Find equal content, record by record, where the order differs."""
    a, b = comparison.a.stream, comparison.b.stream
    changed = _changed_config(a, b)
    if not changed or "content" not in comparison.a.compared or compare_headers(a, b):
        return []
    rows_a, rows_b = comparison.alignment.rows_a, comparison.alignment.rows_b
    columns = comparison.a.compared, comparison.b.compared
    same = columns[0]["content"].take(rows_a).equals(columns[1]["content"].take(rows_b))
    if not len(same) or not same.all():
        return []
    _require_cache(a, b)
    same_raw = "raw" not in columns[0] or bool(
        columns[0]["raw"].take(rows_a).equals(columns[1]["raw"].take(rows_b)).all()
    )
    return [_fault(a, b, changed, len(same), same_raw=same_raw)]


def _changed_config(a: Stream, b: Stream) -> dict[str, JsonValue]:
    """Give the entries that a cache should have been made anew for."""
    caches = [stream.declared.cache for stream in (a, b)]
    if any(not cache and not isinstance(cache, UnsetType) for cache in caches):
        return {}
    if all(caches) and any(isinstance(each.declared.config, UnsetType) for each in (a, b)):
        raise CannotTell("config")
    return config_differences(a, b)


def _require_cache(a: Stream, b: Stream) -> None:
    """Make sure that both runs had a cache: without, what changed may have had no effect."""
    if isinstance(a.declared.cache, UnsetType) or isinstance(b.declared.cache, UnsetType):
        raise CannotTell("cache")


def _cache(stream: Stream) -> bool | str:
    cache = stream.declared.cache
    return False if isinstance(cache, UnsetType) else cache


def _fault(
    a: Stream, b: Stream, changed: dict[str, JsonValue], rows: int, *, same_raw: bool
) -> Fault:
    shown = "; ".join(f"{name} {_both(values)}" for name, values in list(changed.items())[:3])
    evidence: dict[str, JsonValue] = {
        "config": changed,
        "cache": [_cache(a), _cache(b)],
        "rows": rows,
    }
    if "raw" in a.columns and "raw" in b.columns:
        evidence["raw"] = same_raw
    return Fault(
        severity=Severity.FAIL,
        message=f"The configuration changed ({shown}) and all {rows} samples stayed the same: "
        "both runs read a cache.",
        cause="The key of the cache leaves out what changed, so old samples come back.",
        evidence=evidence,
    )


def _both(values: JsonValue) -> str:
    before, after = values if isinstance(values, list) else (None, None)
    return f"from {before!r} to {after!r}"
