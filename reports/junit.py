"""JUnit's XML: a suite for each stream, a case for its verdict and for each rule asked."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from detloader.findings import AxisOutcome, Severity, Verdict
from detloader.reports.parts import excused, in_full, streams_of
from detloader.reports.plain import printable
from detloader.reports.sentences import headline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.findings import Finding, Result, StreamResult

__all__ = ["render"]

_BY_AXIS = {
    AxisOutcome.BROKEN: "failure",
    AxisOutcome.DIED: "error",
    AxisOutcome.NOT_RUN: "skipped",
}
_ALIKE = frozenset({Verdict.IDENTICAL, Verdict.EQUIVALENT, Verdict.CLEAN, Verdict.FINDINGS})


def render(result: Result, *, limit: int = 10, color: bool = False) -> str:  # noqa: ARG001 - XML is whole and plain
    """Return the document. A finding below `fail` is output of a case that passes.

    Differences that do not count, and rules that could not be asked, are skipped, and say why.
    """
    suites = [_suite(one, stream) for one, stream in streams_of(result)]
    root = ET.Element("testsuites", {"name": "detloader", **_sums(suites)})
    root.extend(suites)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _sums(suites: list[ET.Element]) -> dict[str, str]:
    names = ("tests", "failures", "errors")
    return {name: str(sum(int(suite.get(name, 0)) for suite in suites)) for name in names}


def _suite(result: Result, stream: StreamResult) -> ET.Element:
    cases = [_verdict(result, stream), *_rules(result, stream), *_conditions(result)]
    runs = " against ".join(printable(run.path) for run in reversed(result.runs))
    name = f"{result.command} of {runs}"
    if stream.name:
        name += f", stream {printable(stream.name)}"
    for case in cases:
        case.set("classname", name)
    suite = ET.Element("testsuite", name=name, tests=str(len(cases)))
    for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(kind, str(sum(case.find(tag) is not None for case in cases)))
    suite.extend(cases)
    return suite


def _verdict(result: Result, stream: StreamResult) -> ET.Element:
    case = ET.Element("testcase", name="verdict")
    told = headline(result) if len(result.streams) <= 1 else f"{stream.verdict}"
    if stream.verdict is Verdict.INCONCLUSIVE:
        _add(case, "error", told, stream.reason or "")
    elif stream.verdict in _ALIKE:
        _add(case, "system-out", None, told)
    elif excused(result):
        _add(case, "skipped", result.decision or told, told)
    else:
        _add(case, "failure", told, stream.reason or "")
    return case


def _rules(result: Result, stream: StreamResult) -> Iterator[ET.Element]:
    found: dict[str, list[Finding]] = {}
    for finding in stream.findings:
        found.setdefault(finding.rule, []).append(finding)
    unasked = {one.rule: one.missing for one in stream.not_checked}
    for rule in dict.fromkeys([*(stream.asked or []), *found, *unasked]):
        case = ET.Element("testcase", name=rule)
        if rule in unasked:
            _add(case, "skipped", f"needs {', '.join(unasked[rule])}", "")
        elif rule in found:
            _tell(case, result, found[rule])
        yield case


def _conditions(result: Result) -> Iterator[ET.Element]:
    """Yield a case for each replay under another condition."""
    for one in result.axes:
        settings = ", ".join(f"{name}={value}" for name, value in one.settings.items())
        case = ET.Element("testcase", name=printable(f"replay with {settings}"))
        if one.outcome in _BY_AXIS:
            _add(case, _BY_AXIS[one.outcome], one.reason or one.outcome, "\n".join(one.last_lines))
        yield case


def _tell(case: ET.Element, result: Result, findings: list[Finding]) -> None:
    text = "\n".join(line for finding in findings for line in _lines(finding))
    cause = findings[0].cause or findings[0].message
    if all(finding.severity is not Severity.FAIL for finding in findings):
        _add(case, "system-out", None, text)
    elif excused(result):
        _add(case, "skipped", result.decision or cause, text)
    else:
        _add(case, "failure", cause, text)


def _lines(finding: Finding) -> Iterator[str]:
    baseline = ", in the baseline" if finding.run == "a" else ""
    yield f"{finding.severity}{baseline}: {in_full(finding)}"
    if finding.confirm:
        yield f"confirm with: {finding.confirm}"


def _add(case: ET.Element, tag: str, message: str | None, text: str) -> None:
    element = ET.SubElement(case, tag)
    if message is not None:
        element.set("message", printable(message))
    if text:
        element.text = "\n".join(map(printable, text.split("\n")))
