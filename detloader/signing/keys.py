"""Ed25519 keys in files, as OpenSSL and ssh-keygen write them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detloader.errors import UsageError
from detloader.extras import require

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

__all__ = ["PrivateKey", "PublicKey", "load_private_key", "load_public_key"]

_CRYPTOGRAPHY = "cryptography"
_SERIALIZATION = "cryptography.hazmat.primitives.serialization"
_ED25519 = "cryptography.hazmat.primitives.asymmetric.ed25519"


@dataclass(frozen=True)
class PublicKey:
    """What checks signatures."""

    key: Ed25519PublicKey

    @property
    def key_id(self) -> str:
        """SHA-256, in hex, over the DER of the public key."""
        serialization = _library(_SERIALIZATION)
        der = self.key.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return hashlib.sha256(der).hexdigest()

    def accepts(self, signature: bytes, message: bytes) -> bool:
        """Tell whether the holder of the private key signed a message."""
        invalid = _library("cryptography.exceptions").InvalidSignature
        try:
            self.key.verify(signature, message)
        except invalid:
            return False
        return True


@dataclass(frozen=True)
class PrivateKey:
    """What signs."""

    key: Ed25519PrivateKey

    @property
    def key_id(self) -> str:
        """That of the public key."""
        return PublicKey(self.key.public_key()).key_id

    def sign(self, message: bytes) -> bytes:
        """Return the 64 bytes of a message's signature."""
        return self.key.sign(message)


def load_private_key(path: str | os.PathLike[str]) -> PrivateKey:
    """Read a private key, PEM or OpenSSH's.

    Raises:
        UsageError: the file holds none, or one that is locked by a passphrase.
        MissingExtraError: the package for keys is not installed.
    """
    key = _load(path, _read(path))
    if not isinstance(key, _library(_ED25519).Ed25519PrivateKey):
        raise UsageError(
            f"{path} holds no Ed25519 private key: "
            "openssl genpkey -algorithm ed25519 -out PRIVATE makes one"
        )
    return PrivateKey(key)


def load_public_key(path: str | os.PathLike[str]) -> PublicKey:
    """Read a public key, PEM or OpenSSH's, or the one that belongs to a private key.

    Raises:
        UsageError: the file holds none, or one that is locked by a passphrase.
        MissingExtraError: the package for keys is not installed.
    """
    key, ed25519 = _load(path, _read(path)), _library(_ED25519)
    if isinstance(key, ed25519.Ed25519PrivateKey):
        key = key.public_key()
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise UsageError(
            f"{path} holds no Ed25519 key: "
            "openssl pkey -in PRIVATE -pubout -out PUBLIC gives the one of a private key"
        )
    return PublicKey(key)


def _load(path: str | os.PathLike[str], data: bytes) -> Any:
    """Return the key that a file holds; None where it holds none."""
    serialization = _library(_SERIALIZATION)
    unsupported = _library("cryptography.exceptions").UnsupportedAlgorithm
    try:
        if data.startswith(b"ssh-"):
            return serialization.load_ssh_public_key(data)
        if b"OPENSSH PRIVATE KEY" in data:
            return serialization.load_ssh_private_key(data, password=None)
        if b"PUBLIC KEY" in data:
            return serialization.load_pem_public_key(data)
        return serialization.load_pem_private_key(data, password=None)
    except TypeError as error:
        unlock = "ssh-keygen -p -N '' -f COPY" if b"OPENSSH" in data else "openssl pkey -out COPY"
        raise UsageError(f"{path} is locked by a passphrase: unlock a copy, {unlock}") from error
    except (ValueError, unsupported):
        return None


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"the key {path} cannot be read: {error.strerror}") from error


def _library(module: str) -> Any:
    require(_CRYPTOGRAPHY, extra="sign")
    return require(module, extra="sign")
