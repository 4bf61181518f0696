"""DSSE 1.0: bytes, what kind they are, and signatures over both.

Signed is `DSSEv1 LENGTH TYPE LENGTH PAYLOAD`, so that nobody can take bytes of one kind for
those of another. (https://github.com/secure-systems-lab/dsse)
"""

from __future__ import annotations

import base64
import binascii

import msgspec

from detloader.errors import DamageError
from detloader.signing.keys import PrivateKey, PublicKey

__all__ = ["Envelope"]

_TYPE = "application/vnd.in-toto+json"


class Signature(msgspec.Struct, frozen=True):
    """One signature, in Base64, and the key that its maker names, if he names one."""

    sig: str
    keyid: str = ""


class Envelope(msgspec.Struct, frozen=True, rename="camel"):
    """A payload, in Base64, and its signatures."""

    payload: str
    payload_type: str
    signatures: list[Signature]

    @classmethod
    def of(cls, payload: bytes) -> Envelope:
        """Return an envelope that nobody has signed yet."""
        return cls(base64.b64encode(payload).decode(), _TYPE, [])

    @classmethod
    def decode(cls, data: bytes, where: str) -> Envelope:
        """Read the JSON of an envelope.

        Raises:
            DamageError: it is none, or of another kind.
        """
        try:
            envelope = msgspec.json.decode(data, type=cls)
            # Now, and not when somebody asks for them.
            _ = envelope.payload_bytes, [_bytes(each.sig) for each in envelope.signatures]
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise DamageError(f"{where} is damaged: it is no DSSE envelope") from error
        if envelope.payload_type != _TYPE:
            raise DamageError(f"{where} is damaged: what it signs is no in-toto statement")
        return envelope

    def encode(self) -> bytes:
        """Return its JSON."""
        return msgspec.json.format(msgspec.json.encode(self)) + b"\n"

    @property
    def payload_bytes(self) -> bytes:
        """What was signed."""
        return _bytes(self.payload)

    @property
    def key_ids(self) -> set[str]:
        """IDs of the keys that signatures name."""
        return {signature.keyid for signature in self.signatures}

    def signed(self, key: PrivateKey) -> Envelope:
        """Return it with a signature by this key, in the place of one that it had."""
        sig = base64.b64encode(key.sign(self._message)).decode()
        others = [each for each in self.signatures if each.keyid != key.key_id]
        signatures = [*others, Signature(sig, key.key_id)]
        return msgspec.structs.replace(self, signatures=signatures)

    def is_signed_by(self, key: PublicKey) -> bool:
        """Tell whether one of the signatures is by this key, and names it or none."""
        return any(
            each.keyid in {key.key_id, ""} and key.accepts(_bytes(each.sig), self._message)
            for each in self.signatures
        )

    @property
    def _message(self) -> bytes:
        kind, payload = self.payload_type.encode(), self.payload_bytes
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _bytes(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    if base64.b64encode(data).decode() != text:  # the last letter may have bits to spare
        raise ValueError("its Base64 is not canonical")
    return data
