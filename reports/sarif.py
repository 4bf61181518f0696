"""SARIF 2.1.0, as GitHub's code scanning takes it.

A finding stands at the manifest of the run that it is about, for a run has no source line:
the path is that of the run, made relative, as GitHub asks.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from detloader.findings import Severity, Verdict
from detloader.reports.parts import excused, in_full, pages_of, run_of, streams_of
from detloader.reports.plain import printable
from detloader.reports.sentences import decision, headline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.findings import Result, StreamResult

__all__ = ["render"]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

UNEXPLAINED = "unexplained-difference"
"""Stands for a difference of which no rule names the cause."""

_UNEXPLAINED_PAGE = "Two runs differ, and no rule names the cause."
_LEVELS = {Severity.FAIL: "error", Severity.WARN: "warning", Severity.NOTE: "note"}
_DIFFERENT = frozenset({Verdict.REGROUPED, Verdict.REORDERED, Verdict.CHANGED})


def render(result: Result, *, limit: int = 10, color: bool = False) -> str:  # noqa: ARG001 - SARIF is whole and plain
    """Return the log, of one run of the tool."""
    found = [each for one, stream in streams_of(result) for each in _results(one, stream)]
    names = [*dict.fromkeys(each["ruleId"] for each in found)]
    for each in found:
        each["ruleIndex"] = names.index(each["ruleId"])
    pages = pages_of(result)
    rules = [_rule(name, pages.get(name) or _UNEXPLAINED_PAGE) for name in names]
    run = {
        "tool": {"driver": {"name": "detloader", "rules": rules}},
        "invocations": [{"executionSuccessful": True}],
        "results": found,
        "columnKind": "unicodeCodePoints",
        "properties": {"command": result.command, "verdict": result.verdict},
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"


def _rule(name: str, page: str) -> dict[str, Any]:
    page = page.strip()
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in name.split("-")),
        "shortDescription": {"text": page.partition("\n")[0]},
        "fullDescription": {"text": page.partition("\n")[0]},
        "help": {"text": page, "markdown": page},
        "properties": {"tags": ["reproducibility"]},
    }


def _results(result: Result, stream: StreamResult) -> Iterator[dict[str, Any]]:
    for finding in stream.findings:
        yield _result(
            result,
            stream,
            rule=finding.rule,
            level=_LEVELS[finding.severity],
            text=printable(in_full(finding)),
            path=printable(run_of(result, finding).path),
            more={"confirm": printable(finding.confirm)} if finding.confirm else {},
        )
    explained = any(finding.severity is not Severity.NOTE for finding in stream.findings)
    if stream.verdict in _DIFFERENT and not explained:
        yield _result(
            result,
            stream,
            rule=UNEXPLAINED,
            level="error",
            text=headline(result),
            path=printable(result.runs[-1].path),
            more={},
        )


def _result(
    result: Result,
    stream: StreamResult,
    *,
    rule: str,
    level: str,
    text: str,
    path: str,
    more: dict[str, Any],
) -> dict[str, Any]:
    name = printable(stream.name)
    identity = msgspec.json.encode([rule, name, path, text])
    found: dict[str, Any] = {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [_location(path, name)],
        "partialFingerprints": {"detloaderFinding/v1": hashlib.sha256(identity).hexdigest()},
        "properties": {"stream": name, **more},
    }
    if excused(result):
        found["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": decision(result)}
        ]
    return found


def _location(path: str, stream: str) -> dict[str, Any]:
    uri = f"{_relative(path)}/{stream or 'main'}/rank-00000/manifest.json"
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(uri)},
            "region": {"startLine": 1},
        }
    }


def _relative(path: str) -> str:
    """Return a path without its root, and without the steps that lead out of the folder."""
    parts = PurePath(path).parts
    return "/".join(part for part in parts if part not in {"..", PurePath(path).anchor})
