"""What a rule is, and where rules are found.

A rule is a module. Its name is the rule's, its docstring is the rule's page, and
it has a `STAGE`, an `EXAMPLE`, and one function or more of these:

    check_run(view, known)             asks one stream of one run; in an audit, where rows
                                       differ, each run is asked, and `view.baseline` is the
                                       run that the other is compared with
    compare_runs(comparison, known)    asks two streams whose rows differ
    compare_headers(a, b)              asks two streams whether their rows differ or not

Each gives the faults that it found, in any number, or raises `CannotTell`. A rule whose
faults hold for a run wherever they are found in any part of its rows says `OF_PARTS = True`:
it is asked, too, where only every n-th batch was recorded. One that may find a fault of one
run that shows only where two differ already has `may_explain(comparison)`, which tells whether
such a fault may be why they do. Runs that are equal are told equal without NumPy: a module with
`compare_headers` must not import it.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from importlib.abc import InspectLoader
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from detloader.audits import rules
from detloader.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue, Severity
    from detloader.manifest.reader import Stream

__all__ = [
    "CannotTell",
    "Example",
    "Fault",
    "Known",
    "Rule",
    "Stage",
    "all_rules",
    "header_rules",
    "page_of",
    "rule_names",
]

ENTRY_POINTS = "detloader.rules"
"""Group in which other packages register a rule: its name, and the module that it is."""

QUESTIONS = ("check_run", "compare_runs", "compare_headers")
"""Functions of a rule's module, of which it has one or more."""


class Stage(IntEnum):
    """Stages of a loader in causal order: a fault in one explains differences in later ones."""

    SOURCE_SET = 1
    SOURCE_ORDER = 2
    SEED = 3
    PARTITION = 4
    SAMPLER = 5
    EPOCH = 6
    STREAMS = 7
    TOPOLOGY = 8
    VERSION = 9
    COUPLING = 10
    RACE = 11
    RESUME = 12
    COVERAGE = 13
    DRAWS = 14
    CONTENT = 15
    OUTPUT = 16


class CannotTell(Exception):  # noqa: N818 - an answer of a rule, not an error
    """A rule lacks a field, or has too little evidence.

    Attributes:
        missing: the fields, or the evidence, such as "at least 2 epochs".
    """

    def __init__(self, *missing: str) -> None:
        """Keep what is missing."""
        super().__init__(", ".join(missing))
        self.missing = list(missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A finding as a rule gives it: the rule's name and the run are added later.

    Attributes:
        of_baseline: whether two runs were compared, and the fault is that of the first.
        shared: whether headers were compared, and the fault is that of both runs alike.
    """

    severity: Severity
    message: str
    cause: str
    evidence: dict[str, JsonValue]
    confirm: str | None = None
    of_baseline: bool = False
    shared: bool = False


@dataclass(slots=True)
class Known:
    """What faults found so far already explain in one run.

    Attributes:
        missing: codes of the records whose absence is explained.
        places: positions in the source whose absence is explained, where these are known.
        drifted: codes of the records whose change of content is explained.
        causes: names of the rules that told these two runs apart; what runs share is not one.
        copied: whether streams of draws are copies in one of the two runs, which explains other
            draws, and nothing else.
        copies: how many parts each deliver the records that one of them was to.
    """

    missing: Integers | None = None
    places: Integers | None = None
    drifted: Integers | None = None
    causes: list[str] = field(default_factory=list)
    copied: bool = False
    copies: int = 1


class CheckRun(Protocol):
    """Asks one stream of one run."""

    def __call__(self, view: StreamView, known: Known) -> Iterable[Fault]: ...


class CompareRuns(Protocol):
    """Asks two streams whose rows differ."""

    def __call__(self, comparison: Comparison, known: Known) -> Iterable[Fault]: ...


class MayExplain(Protocol):
    """Tells whether a fault of one run alone may be why two streams differ."""

    def __call__(self, comparison: Comparison) -> bool: ...


class CompareHeaders(Protocol):
    """Asks the headers of two streams."""

    def __call__(self, a: Stream, b: Stream) -> Iterable[Fault]: ...


Rows: TypeAlias = Mapping[str, list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A tiny log that a rule must catch, and the mended twin that it must pass.

    Attributes:
        faulty: columns of the faulty run.
        mended: columns of its twin.
        declared: what both declare.
        baseline: columns of the run that both are compared with; None where one run is enough.
        baseline_declared: what the baseline declares otherwise.
    """

    faulty: Rows
    mended: Rows
    declared: Mapping[str, Any]
    baseline: Rows | None = None
    baseline_declared: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule, as its module defines it.

    Attributes:
        name: the module's name, with hyphens.
        page: the module's docstring.
        stage: where in a loader the fault lies.
        example: a faulty log and its mended twin.
        of_parts: whether what it finds in any part of the rows of a run is true of the run.
    """

    name: str
    page: str
    stage: Stage
    example: Example
    of_parts: bool
    check_run: CheckRun | None
    compare_runs: CompareRuns | None
    compare_headers: CompareHeaders | None
    may_explain: MayExplain | None

    @property
    def summary(self) -> str:
        """Give the first sentence of the page."""
        return self.page.partition("\n")[0]


def rule_names() -> list[str]:
    """Name all rules, without importing them."""
    own = [_name(module.name) for module in pkgutil.iter_modules(rules.__path__)]
    return own + [entry.name for entry in importlib.metadata.entry_points(group=ENTRY_POINTS)]


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Find all rules, our own and those of other packages, in causal order.

    Raises:
        UsageError: a rule of another package cannot be used.
    """
    own = [_own_rule(module.name) for module in pkgutil.iter_modules(rules.__path__)]
    return tuple(sorted((*own, *_foreign_rules()), key=lambda rule: (rule.stage, rule.name)))


@functools.cache
def header_rules() -> tuple[Rule, ...]:
    """Find the rules that are asked on equal runs too, in causal order.

    Raises:
        UsageError: a rule of another package cannot be used.
    """
    names = [module.name for module in pkgutil.iter_modules(rules.__path__)]
    own = [_own_rule(name) for name in names if _compares_headers(name)]
    found = [*own, *_foreign_rules()]
    asking = [rule for rule in found if rule.compare_headers is not None]
    return tuple(sorted(asking, key=lambda rule: (rule.stage, rule.name)))


def page_of(name: str) -> str:
    """Give the page of a rule; of one that was asked, no further module is loaded."""
    module = name.replace("-", "_")
    if importlib.util.find_spec(f"{rules.__name__}.{module}") is not None:
        return _own_rule(module).page
    return next(rule.page for rule in _foreign_rules() if rule.name == name)


def _compares_headers(name: str) -> bool:
    """Tell from its compiled code, without running it, whether a rule asks headers."""
    spec = importlib.util.find_spec(f"{rules.__name__}.{name}")
    if spec is None or not isinstance(spec.loader, InspectLoader):
        return True
    code = spec.loader.get_code(spec.name)
    return code is None or "compare_headers" in code.co_names


def _own_rule(name: str) -> Rule:
    return _as_rule(_name(name), importlib.import_module(f"{rules.__name__}.{name}"))


def _foreign_rules() -> list[Rule]:
    entries = importlib.metadata.entry_points(group=ENTRY_POINTS)
    return [_foreign_rule(entry) for entry in entries]


def _foreign_rule(entry: importlib.metadata.EntryPoint) -> Rule:
    package = entry.dist.name if entry.dist else "another package"
    broken = f"rule {entry.name} of {package} cannot be used"
    mend = f"mend {entry.value}, or uninstall {package}"
    if rule_names().count(entry.name) > 1:
        raise UsageError(f"{broken}: another rule has that name; {mend}")
    try:
        module = entry.load()
    except Exception as error:
        raise UsageError(f"{broken}: {type(error).__name__}: {error}; {mend}") from error
    if lacking := _lacking(module):
        raise UsageError(f"{broken}: it has no {lacking}; {mend}")
    return _as_rule(entry.name, module)


def _lacking(module: ModuleType) -> str | None:
    """Name the first part of a rule that a module lacks, or has as something else."""
    if not (module.__doc__ or "").strip():
        return "docstring"
    for name, kind in (("STAGE", Stage), ("EXAMPLE", Example)):
        if not isinstance(getattr(module, name, None), kind):
            return f"{name}, an instance of detloader.audits.rule.{kind.__name__}"
    if not any(callable(getattr(module, name, None)) for name in QUESTIONS):
        return "function " + ", ".join(QUESTIONS[:-1]) + f" or {QUESTIONS[-1]}"
    return None


def _name(module: str) -> str:
    return module.replace("_", "-")


def _as_rule(name: str, module: ModuleType) -> Rule:
    return Rule(
        name=name,
        page=module.__doc__ or "",
        stage=cast("Stage", module.STAGE),
        example=cast("Example", module.EXAMPLE),
        of_parts=getattr(module, "OF_PARTS", False) is True,
        check_run=getattr(module, "check_run", None),
        compare_runs=getattr(module, "compare_runs", None),
        compare_headers=getattr(module, "compare_headers", None),
        may_explain=getattr(module, "may_explain", None),
    )
