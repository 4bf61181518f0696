"""SARIF 2.1.0, as GitHub's code scanning takes it.

A finding stands at the manifest of the run that it is about, for a run has no source line.
GitHub takes paths that are relative to the repository, and absolute ones of the scheme `file`
alone: with any other it refuses the whole log.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from detloader.findings import Severity, Verdict
from detloader.manifest.layout import HEADER, is_remote, rank_name
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
            path=run_of(result, finding).path,
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
            path=result.runs[-1].path,
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
    own_name = stream.name.split(" and ")[0 if path == result.runs[0].path else -1]
    identity = msgspec.json.encode([rule, name, printable(path), text])
    found: dict[str, Any] = {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [_location(path, own_name)],
        "partialFingerprints": {"detloaderFinding/v1": hashlib.sha256(identity).hexdigest()},
        "properties": {"stream": name, **more},
    }
    if excused(result):
        found["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": decision(result)}
        ]
    return found


def _location(run: str, stream: str) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {
                "uri": _address(run, f"{stream or 'main'}/{rank_name(0)}/{HEADER}")
            },
            "region": {"startLine": 1},
        }
    }


def _address(run: str, file: str) -> str:
    """Return the address of a file of a run: relative below the working folder, whole elsewhere.

    One in a store has no file on GitHub, whatever it is called; it has its name without the scheme.
    """
    if is_remote(run):
        return quote(f"{run.partition('://')[2].strip('/')}/{file}")
    named = Path(os.path.abspath(run))  # noqa: PTH100 - Path keeps the steps that lead back
    # A result may name what no file system takes; Path.exists would raise there.
    found = Path(run).resolve() if os.path.exists(run) else named  # noqa: PTH110 - as above
    for place in (named, found):
        if place.is_relative_to(Path.cwd()):
            return quote(os.fsencode((place.relative_to(Path.cwd()) / file).as_posix()))
    return (found / file).as_uri()
