"""A signature proves who recorded a run; what was changed since, or is another run, is refused."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from detloader import record
from detloader.errors import DamageError, RunError, UsageError
from detloader.manifest.reader import open_run
from detloader.manifest.verify import verify_run
from detloader.signing import SIGNATURE, sign_run, verify_signature
from tests.support.damage import flipped_bits

KEYS = Path(__file__).parents[1] / "fixtures" / "keys"
OURS = KEYS / "openssl.key", KEYS / "openssl.pub"
THEIRS = KEYS / "ssh.key", KEYS / "ssh.pub"


def make(run: Path, letters: str = "abc") -> Path:
    with record([*letters], run, ids=str) as rows:
        for _ in rows:
            pass
    return run


@pytest.fixture
def signed(tmp_path: Path) -> tuple[Path, Path]:
    """Return a signed run, and the public key."""
    run = make(tmp_path / "run")
    sign_run(verify_run(run), OURS[0])
    return run, OURS[1]


@pytest.mark.parametrize(("private", "public"), [OURS, THEIRS])
def test_who_signed_is_proved_by_the_public_key(
    tmp_path: Path, private: Path, public: Path
) -> None:
    run = verify_run(make(tmp_path / "run"))

    key_id = sign_run(run, private)

    assert verify_signature(verify_run(run.path), public) == key_id
    assert verify_signature(verify_run(run.path), private) == key_id


def test_a_signature_is_a_dsse_envelope_of_an_in_toto_statement(signed: tuple[Path, Path]) -> None:
    run, public = signed
    envelope: dict[str, Any] = json.loads((run / SIGNATURE).read_bytes())
    payload = base64.b64decode(envelope["payload"])
    kind = b"application/vnd.in-toto+json"
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    statement = json.loads(payload)

    key = load_pem_public_key(public.read_bytes())
    assert isinstance(key, Ed25519PublicKey)
    key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), message)
    assert envelope["payloadType"].encode() == kind
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert [subject["name"] for subject in statement["subject"]] == [
        "main/rank-00000/manifest.json"
    ]
    assert statement["predicate"]["fingerprint"] == open_run(run).fingerprint


def test_a_second_key_signs_beside_the_first(tmp_path: Path, signed: tuple[Path, Path]) -> None:
    run, public = signed
    private, other = THEIRS
    sign_run(verify_run(run), private)
    sign_run(verify_run(run), private)

    assert len(json.loads((run / SIGNATURE).read_bytes())["signatures"]) == 2
    assert verify_signature(open_run(run), public) != verify_signature(open_run(run), other)


def test_a_run_that_nobody_signed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not signed"):
        verify_signature(open_run(make(tmp_path / "run")), OURS[1])


def test_another_key_is_refused(signed: tuple[Path, Path]) -> None:
    with pytest.raises(RunError, match="has no signature by the key"):
        verify_signature(open_run(signed[0]), THEIRS[1])


def test_the_signature_of_another_run_is_refused(tmp_path: Path, signed: tuple[Path, Path]) -> None:
    other = make(tmp_path / "other", "acb")
    shutil.copy(signed[0] / SIGNATURE, other / SIGNATURE)

    with pytest.raises(DamageError, match="is not the run that was signed"):
        verify_signature(verify_run(other), signed[1])
    with pytest.raises(UsageError, match="signs another run"):
        sign_run(verify_run(other), OURS[0])


def test_a_further_rank_is_not_what_was_signed(signed: tuple[Path, Path]) -> None:
    run, public = signed
    run_id = open_run(run).run_id
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DETLOADER_RUN_ID", run_id)
        with record([*"xyz"], run, ids=str, rank=1) as rows:
            for _ in rows:
                pass

    with pytest.raises(DamageError, match="is not the run that was signed"):
        verify_signature(verify_run(run), public)


@pytest.mark.parametrize("place", ["payload", "sig"])
def test_an_altered_envelope_is_refused(signed: tuple[Path, Path], place: str) -> None:
    run, public = signed
    envelope = json.loads((run / SIGNATURE).read_bytes())
    holder = envelope if place == "payload" else envelope["signatures"][0]
    holder[place] = base64.b64encode(base64.b64decode(holder[place])[::-1]).decode()
    (run / SIGNATURE).write_bytes(msgspec.json.format(json.dumps(envelope).encode()) + b"\n")

    with pytest.raises(DamageError, match="does not fit"):
        verify_signature(open_run(run), public)


def test_every_flipped_bit_of_a_signature_is_found(signed: tuple[Path, Path]) -> None:
    run, public = signed
    opened = open_run(run)
    tried = 0
    for _ in flipped_bits(run / SIGNATURE):
        with pytest.raises(RunError):
            verify_signature(opened, public)
        tried += 1

    assert tried == 8 * (run / SIGNATURE).stat().st_size
    assert verify_signature(opened, public)


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"payload":"?","payloadType":"","signatures":[]}'],
)
def test_what_is_no_envelope_is_refused(signed: tuple[Path, Path], data: bytes) -> None:
    (signed[0] / SIGNATURE).write_bytes(data)

    with pytest.raises(DamageError, match="no DSSE envelope"):
        verify_signature(open_run(signed[0]), signed[1])


def test_a_signature_of_another_kind_of_bytes_is_refused(signed: tuple[Path, Path]) -> None:
    run, public = signed
    envelope = json.loads((run / SIGNATURE).read_bytes()) | {"payloadType": "text/plain"}
    (run / SIGNATURE).write_text(json.dumps(envelope))

    with pytest.raises(DamageError, match="no in-toto statement"):
        verify_signature(open_run(run), public)


def test_a_run_that_is_still_recorded_is_not_signed(tmp_path: Path) -> None:
    with (
        record([*"abc"], tmp_path / "run", ids=str),
        pytest.raises(RunError, match="is not sealed"),
    ):
        sign_run(open_run(tmp_path / "run"), OURS[0])


@pytest.mark.parametrize("name", ["openssl-locked.key", "ssh-locked.key"])
def test_a_locked_key_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="locked by a passphrase"):
        sign_run(open_run(make(tmp_path / "run")), KEYS / name)


@pytest.mark.parametrize("use", [sign_run, verify_signature])
def test_what_is_no_key_is_refused(
    tmp_path: Path, use: Callable[..., str], signed: tuple[Path, Path]
) -> None:
    (tmp_path / "nonsense").write_text("nonsense")

    for name, why in (("nonsense", "no Ed25519"), ("missing", "cannot be read")):
        with pytest.raises(UsageError, match=why):
            use(open_run(signed[0]), tmp_path / name)


def test_a_public_key_signs_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no Ed25519 private key"):
        sign_run(open_run(make(tmp_path / "run")), OURS[1])
