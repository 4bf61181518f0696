"""Audits work on keyed digests of IDs as on IDs, as long as the key is one."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader import audit, check, record
from detloader.errors import UsageError
from detloader.findings import Verdict
from detloader.importers import import_log
from detloader.manifest.keyed import IdHash


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "ids.key"
    path.write_bytes(b"one key of thirty-two bytes here")
    return path


def recorded(run: Path, patients: list[str], key: Path | None) -> Path:
    with record(patients, run, ids=str, id_hash=key) as rows:
        for _ in rows:
            pass
    return run


def test_two_runs_of_one_key_are_the_same(tmp_path: Path, key: Path) -> None:
    a = recorded(tmp_path / "a", ["x", "y", "z"], key)
    b = recorded(tmp_path / "b", ["x", "y", "z"], key)

    assert audit(a, b).verdict is Verdict.IDENTICAL


def test_another_order_is_another_order(tmp_path: Path, key: Path) -> None:
    a = recorded(tmp_path / "a", ["x", "y", "z"], key)
    b = recorded(tmp_path / "b", ["z", "y", "x"], key)

    assert audit(a, b).verdict is Verdict.REORDERED


@pytest.mark.parametrize("other", [None, b"another key of thirty-two bytes!"])
def test_runs_of_unlike_keys_are_not_compared(
    tmp_path: Path, key: Path, other: bytes | None
) -> None:
    other_key = None if other is None else tmp_path / "other.key"
    if other_key is not None:
        other_key.write_bytes(other or b"")
    a = recorded(tmp_path / "a", ["x", "y", "z"], key)
    b = recorded(tmp_path / "b", ["x", "y", "z"], other_key)

    result = audit(a, b)

    assert result.verdict is Verdict.INCONCLUSIVE
    assert "record or import both with one --id-hash" in (result.reason or "")


def test_a_log_and_a_recording_of_one_key_are_the_same(tmp_path: Path, key: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("record,epoch\n17,0\n4,0\n")
    import_log(log, tmp_path / "imported", id_hash=key)
    run = recorded(tmp_path / "recorded", ["17", "4"], key)

    assert audit(tmp_path / "imported", run).verdict is Verdict.IDENTICAL


def test_weights_by_id_are_found_again(tmp_path: Path, key: Path) -> None:
    log, meta = tmp_path / "log.csv", tmp_path / "meta.json"
    names = ["often", "seldom"] * 500
    log.write_text("record,epoch\n" + "".join(f"{name},0\n" for name in names))
    meta.write_text('{"weights": {"often": 9, "seldom": 1}, "replacement": true}')
    for run, id_hash in (("plain", None), ("keyed", key)):
        import_log(log, tmp_path / run, meta=meta, id_hash=id_hash)

    plain, keyed = check(tmp_path / "plain"), check(tmp_path / "keyed")

    assert [finding.rule for finding in plain.findings] == ["ignored-weights"]
    assert [finding.rule for finding in keyed.findings] == ["ignored-weights"]


@given(st.text(), st.text())
def test_unlike_ids_have_unlike_digests(one: str, other: str) -> None:
    keyed = IdHash(b"any key that is long enough")

    assert (keyed.digest(one) == keyed.digest(other)) is (one == other)


def test_a_digest_is_the_same_for_ever() -> None:
    assert IdHash(b"0123456789abcdef").digest("patient-1") == "3646ccf2325902f398f3fded"


@pytest.mark.parametrize(("content", "why"), [(b"short\n", "5 bytes"), (None, "No such file")])
def test_what_is_no_key_is_refused(tmp_path: Path, content: bytes | None, why: str) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(UsageError, match=why):
        record(["a"], tmp_path / "run", ids=str, id_hash=path)
    assert not (tmp_path / "run").exists()
