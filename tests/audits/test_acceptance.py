"""Accepted differences: what an ID depends on, what it covers, and for how long."""

from __future__ import annotations

import datetime as dt
import json
import string
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from detloader.audits import audit
from detloader.audits.acceptance import (
    Acceptance,
    accept,
    difference_id,
    load,
    read_result,
    save,
    with_acceptances,
)
from detloader.errors import UsageError
from detloader.findings import (
    Counts,
    Finding,
    Outcome,
    Result,
    RunSummary,
    Severity,
    StreamResult,
    Verdict,
)
from tests.support.runs import audit_rows, write_run

LAWS = settings(max_examples=15, deadline=None)

TODAY = dt.date(2026, 8, 1)
UNTIL = dt.date(2027, 1, 31)
BASE = [0, 1, 2, 3, 4, 5, 6, 7]
OTHER = [1, 0, 2, 3, 4, 5, 6, 7]
RECORDS = st.lists(st.integers(0, 9), min_size=1, max_size=10)


def accepted_of(result: Result, until: dt.date = UNTIL) -> dict[str, Acceptance]:
    entries = accept(result, reason="known", until=until, today=TODAY)
    return {entry.id: entry for entry in entries}


def rows(record: list[int]) -> dict[str, list[Any]]:
    return {"record": record}


def made(path: str = "runs/a", evidence: Mapping[str, Any] | None = None, **changes: Any) -> Result:
    """Make a result of two runs that differ."""
    finding = Finding(
        rule="race",
        severity=Severity.FAIL,
        run="b",
        message=f"something about {path}",
        cause="c",
        evidence=dict(evidence or {}),
        confirm=f"detloader show {path}",
    )
    stream = StreamResult(
        name="main",
        verdict=Verdict.REORDERED,
        differences=Counts(moved=3),
        findings=[finding],
    )
    runs = [
        RunSummary(path=f"{path}{end}", rows=8, complete=True, fingerprint=end * 64)
        for end in ("a", "b")
    ]
    result = Result(
        command="audit", verdict=stream.verdict, runs=runs, findings=[finding], streams=[stream]
    )
    return msgspec.structs.replace(result, **changes)


def id_of(result: Result) -> str:
    return difference_id(result, result.streams[0])


def test_an_id_is_the_same_for_ever() -> None:
    assert id_of(made(evidence={"rows": [1, 2], "share": 0.5})) == "5096811a84c1c16c"


@given(record=RECORDS, other=RECORDS)
@LAWS
def test_auditing_again_elsewhere_gives_the_same_id(record: list[int], other: list[int]) -> None:
    assume(record != other)
    found = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            result = audit_rows(Path(folder), rows(record), rows(other))
        found.append([*accepted_of(result)])

    assert found[0] == found[1]


@given(
    paths=st.lists(st.text(string.ascii_letters + "/\\. 0", min_size=1), min_size=2, max_size=2),
    evidence=st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.text())),
)
@LAWS
def test_an_id_never_depends_on_paths(paths: list[str], evidence: dict[str, Any]) -> None:
    one, two = (
        made(path, evidence | {"where": f"/data/{path}", "nested": [{f"/{path}": 1}]})
        for path in paths
    )

    assert id_of(one) == id_of(two)


@given(
    evidence=st.dictionaries(
        st.text(),
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    )
)
@LAWS
def test_an_id_survives_the_way_through_json(evidence: dict[str, Any]) -> None:
    result = made(evidence=evidence)
    read = msgspec.json.decode(msgspec.json.encode(result), type=Result)

    assert id_of(read) == id_of(result)


@given(records=st.lists(RECORDS, min_size=3, max_size=3, unique_by=tuple))
@LAWS
def test_another_difference_is_never_covered(records: list[list[int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs = [
            write_run(Path(folder) / str(place), rows(record))
            for place, record in enumerate(records)
        ]
        known, other, back = audit(*runs[:2]), audit(runs[0], runs[2]), audit(runs[1], runs[0])
    accepted = accepted_of(known)

    assert with_acceptances(known, accepted, today=TODAY).outcome is Outcome.ACCEPTED
    for result in (other, back):
        assert with_acceptances(result, accepted, today=TODAY) == result


@pytest.mark.parametrize(
    "change",
    [
        {"command": "replay"},
        {"verdict": Verdict.CHANGED},
        {"name": "val"},
        {"differences": Counts(moved=4)},
        {"rule": "coverage-hole"},
        {"evidence": {"rows": [1, 3]}},
        {"fingerprint": "c" * 64},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_identifies_a_difference_changes_its_id(change: dict[str, Any]) -> None:
    plain = made(evidence={"rows": [1, 2]})
    stream = plain.streams[0]
    ((field, value),) = change.items()
    changed = plain
    match field:
        case "command":
            changed = msgspec.structs.replace(plain, command=value)
        case "fingerprint":
            b = msgspec.structs.replace(plain.runs[1], fingerprint=value)
            changed = msgspec.structs.replace(plain, runs=[plain.runs[0], b])
        case "rule" | "evidence":
            finding = msgspec.structs.replace(stream.findings[0], **change)
            stream = msgspec.structs.replace(stream, findings=[finding])
        case _:
            stream = msgspec.structs.replace(stream, **change)

    assert difference_id(changed, stream) != id_of(plain)


def test_an_accepted_difference_is_said_with_its_day_and_reason(tmp_path: Path) -> None:
    result = audit_rows(tmp_path, rows(BASE), rows(OTHER))
    accepted = accepted_of(result)
    decided = with_acceptances(result, accepted, today=UNTIL)

    assert decided.decision == "accepted until 2027-01-31: known"
    assert decided.verdict is Verdict.REORDERED
    (entry,) = accepted.values()
    assert entry.difference == "stream main: 1 record moved"


def test_an_expired_acceptance_is_said_and_the_difference_counts_again(tmp_path: Path) -> None:
    result = audit_rows(tmp_path, rows(BASE), rows(OTHER))
    late = with_acceptances(result, accepted_of(result), today=UNTIL + dt.timedelta(days=1))

    assert late.decision == "was accepted until 2027-01-31, which is over: known"
    assert late.outcome is Outcome.EXPIRED


def test_a_decision_about_an_equivalence_stays_in_front(tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a", rows(BASE)), write_run(tmp_path / "b", rows(OTHER))
    result = audit(a, b, equivalence="same-order")
    decided = with_acceptances(result, accepted_of(result), today=TODAY)

    assert decided.outcome is Outcome.ACCEPTED
    assert decided.decision == (
        "same-order does not hold: 1 record moved; accepted until 2027-01-31: known"
    )


def two_streams(tmp_path: Path) -> Result:
    for run, record in (("a", BASE), ("b", OTHER)):
        write_run(tmp_path / run, rows(record), stream="train")
        write_run(tmp_path / run, rows([*record, 8]), stream="val")
    return audit(tmp_path / "a", tmp_path / "b")


def test_every_stream_that_differs_has_to_be_accepted(tmp_path: Path) -> None:
    result = two_streams(tmp_path)
    accepted = accepted_of(result)
    first = dict([next(iter(accepted.items()))])
    partly = with_acceptances(result, first, today=TODAY)

    assert len(accepted) == 2
    assert with_acceptances(result, accepted, today=TODAY).outcome is Outcome.ACCEPTED
    assert partly.outcome is msgspec.UNSET
    assert partly.decision == "stream train accepted until 2027-01-31: known"


def test_each_of_several_runs_has_its_own_decision(tmp_path: Path) -> None:
    base, b, c = (
        write_run(tmp_path / name, rows(record))
        for name, record in (("base", BASE), ("b", OTHER), ("c", OTHER[::-1]))
    )
    result = audit(base, b, c)
    accepted = accepted_of(audit(base, b))
    decided = with_acceptances(result, accepted, today=TODAY)
    whole = with_acceptances(result, accepted_of(result), today=TODAY)

    assert isinstance(decided.comparisons, list)
    assert [one.outcome for one in decided.comparisons] == [Outcome.ACCEPTED, msgspec.UNSET]
    assert decided.outcome is msgspec.UNSET
    assert decided.decision == f"{b}: accepted until 2027-01-31: known"
    assert whole.outcome is Outcome.ACCEPTED


def test_a_fault_of_runs_that_are_alike_is_a_difference_to_accept() -> None:
    faulty = made()
    stream = msgspec.structs.replace(faulty.streams[0], verdict=Verdict.IDENTICAL)
    result = msgspec.structs.replace(faulty, verdict=Verdict.IDENTICAL, streams=[stream])

    assert with_acceptances(result, accepted_of(result), today=TODAY).outcome is Outcome.ACCEPTED


@pytest.mark.parametrize(
    ("changes", "reason", "until", "said"),
    [
        ({}, " \n", UNTIL, "the reason is empty"),
        ({}, "known", TODAY - dt.timedelta(days=1), "2026-07-31 is over"),
        ({"command": "check"}, "known", UNTIL, "a result of check: only an audit"),
        ({"streams": []}, "known", UNTIL, "there is no difference to accept"),
        (
            {"runs": [RunSummary(path="x", rows=8, complete=False, fingerprint=None)] * 2},
            "known",
            UNTIL,
            "x is open",
        ),
    ],
)
def test_what_makes_no_sense_is_not_accepted(
    changes: dict[str, Any], reason: str, until: dt.date, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        accept(made(**changes), reason=reason, until=until, today=TODAY)


def test_identical_runs_have_nothing_to_accept(tmp_path: Path) -> None:
    result = audit_rows(tmp_path, rows(BASE), rows(BASE))

    with pytest.raises(UsageError, match="the verdict is identical"):
        accepted_of(result)
    assert with_acceptances(result, {}, today=TODAY) == result


def test_today_is_the_last_day() -> None:
    assert accepted_of(made(), until=TODAY)


def test_white_space_in_a_reason_is_evened_out() -> None:
    (entry,) = accept(made(), reason=" as\n agreed ", until=UNTIL, today=TODAY)

    assert entry.reason == "as agreed"


ENTRIES = st.builds(
    Acceptance,
    id=st.text(string.hexdigits, min_size=1, max_size=16),
    rules=st.lists(st.text()),
    verdict=st.sampled_from(Verdict),
    difference=st.text(),
    reason=st.text(),
    until=st.dates(),
)


@given(entries=st.lists(ENTRIES, unique_by=lambda entry: entry.id), data=st.data())
@LAWS
def test_what_is_saved_is_loaded_and_has_one_form(
    entries: list[Acceptance], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder, "one"), Path(folder, "two")
        save(path, entries)
        save(again, data.draw(st.permutations(entries)))

        assert load(path) == {entry.id: entry for entry in entries}
        assert path.read_bytes() == again.read_bytes()


def test_the_file_is_json_that_people_can_read(tmp_path: Path) -> None:
    save(tmp_path / "file", accepted_of(made()).values())
    text = (tmp_path / "file").read_text(encoding="utf-8")

    assert json.loads(text)["accepted"][0]["reason"] == "known"
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


def test_no_file_means_that_nothing_is_accepted(tmp_path: Path) -> None:
    assert load(tmp_path / "none") == {}


@pytest.mark.parametrize("text", ["", "[]", '{"accepted": [{}]}', '{"version": 2}', '{"a": 1}'])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match="file"):
        load(path)


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b'{"command": "audit"}'])
def test_a_file_without_a_result_is_an_error(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(text)

    with pytest.raises(UsageError, match="holds no result"):
        read_result(path)


def test_a_file_that_has_a_difference_twice_is_an_error(tmp_path: Path) -> None:
    save(
        tmp_path / "file",
        [*accepted_of(made(evidence={"rows": [1, 2], "share": 0.5})).values()] * 2,
    )

    with pytest.raises(UsageError, match="has 5096811a84c1c16c twice"):
        load(tmp_path / "file")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        save(tmp_path / "no" / "folder", [])
