"""Keep, pin or migrate: of each finding, and of all together."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from detloader.audits.replay.control import ALIKE
from detloader.findings import Severity, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from detloader.findings import Finding

__all__ = ["Decision", "decide", "of_finding"]


class Decision(StrEnum):
    """What is to be done about a frozen experiment."""

    KEEP = "keep"
    """The candidate delivers what was frozen: nothing has to be done."""
    PIN = "pin"
    """It delivers something else, and mends nothing or brings in a fault: stay where you are."""
    MIGRATE = "migrate"
    """It delivers something else, for the frozen run has a fault that it mends."""


def of_finding(finding: Finding) -> Decision:
    """Say what one rule asks for.

    Args:
        finding: of an audit with the frozen run as the baseline.
    """
    if finding.severity is Severity.NOTE or finding.run is None:
        return Decision.KEEP
    return Decision.MIGRATE if finding.run == "a" else Decision.PIN


def decide(verdict: Verdict, findings: Iterable[Finding]) -> Decision:
    """Say what all rules together ask for, where the runs could be compared."""
    asked = {of_finding(finding) for finding in findings}
    if Decision.PIN in asked:
        return Decision.PIN
    if verdict in ALIKE:
        return Decision.KEEP
    return Decision.MIGRATE if Decision.MIGRATE in asked else Decision.PIN
