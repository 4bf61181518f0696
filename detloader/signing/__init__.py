"""Signatures of runs: an in-toto statement of what was recorded, in a DSSE envelope.

keys        the key files that OpenSSL and ssh-keygen write
envelope    the signed bytes and their signatures, as JSON (DSSE 1.0)
statement   what a signature attests: the bytes of every header, and so of every file

The signature stands beside the streams of the run, in `RUN/signature.json`: a rank's folder is
never touched after sealing. docs/signing.md says how to check one without detloader.
"""

from __future__ import annotations

import os

from detloader.errors import DamageError, RunError, UsageError
from detloader.manifest.beside import read_beside, write_beside
from detloader.manifest.layout import SIGNATURE
from detloader.manifest.reader import Run
from detloader.signing.envelope import Envelope
from detloader.signing.keys import load_private_key, load_public_key
from detloader.signing.statement import payload_of

__all__ = ["SIGNATURE", "sign_run", "verify_signature"]


def sign_run(run: Run, key: str | os.PathLike[str]) -> str:
    """Sign a run that was verified; a signature by another key is kept beside this one.

    Args:
        run: the run, as `verify_run` gave it.
        key: file with an Ed25519 private key.

    Returns:
        The ID of the key: the SHA-256, in hex, of its public part.

    Raises:
        RunError: the run is still open, or its folder cannot be written.
        UsageError: the key cannot be used, or another run's signature is in the way.
        MissingExtraError: the package for keys is not installed.
    """
    if run.fingerprint is None:
        raise RunError(f"{run.path} is not sealed: sign it when the recording has ended")
    private = load_private_key(key)
    payload = payload_of(run)
    envelope = _read(run) or Envelope.of(payload)
    if envelope.payload_bytes != payload:
        where = _where(run)
        raise UsageError(f"{where} signs another run, or this one before it changed: remove it")
    write_beside(run.path, SIGNATURE, envelope.signed(private).encode())
    return private.key_id


def verify_signature(run: Run, key: str | os.PathLike[str]) -> str:
    """Prove that the holder of a key signed this very run.

    Args:
        run: the run, as `verify_run` gave it.
        key: file with the Ed25519 public key, or with the private one.

    Returns:
        The ID of the key.

    Raises:
        RunError: the run is not signed, or not by that key.
        DamageError: the signature is none, or what it signs is not this run.
        UsageError: the key cannot be used.
        MissingExtraError: the package for keys is not installed.
    """
    public = load_public_key(key)
    envelope = _read(run)
    if envelope is None:
        raise RunError(f"{run.path} is not signed: detloader sign {run.path} --key PRIVATE")
    if not envelope.is_signed_by(public):
        where = _where(run)
        if public.key_id in envelope.key_ids:
            raise DamageError(f"{where} is damaged: its signature does not fit to what it signs")
        raise RunError(
            f"{where} has no signature by the key {key}: ask for the signer's public key"
        )
    if envelope.payload_bytes != payload_of(run):
        raise DamageError(
            f"{run.path} is not the run that was signed: it was changed, or {SIGNATURE} is that "
            "of another run"
        )
    return public.key_id


def _read(run: Run) -> Envelope | None:
    data = read_beside(run.path, SIGNATURE)
    if data is None:
        return None
    envelope = Envelope.decode(data, _where(run))
    if envelope.encode() != data:  # bits that JSON and Base64 pass over
        raise DamageError(f"{_where(run)} is damaged: it is not as it was written")
    return envelope


def _where(run: Run) -> str:
    return f"{run.path.rstrip('/')}/{SIGNATURE}"
