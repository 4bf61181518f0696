"""Where an iteration stands, to be saved and taken up again by the same loader elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from detloader.errors import UsageError
from detloader.findings import JsonValue
from detloader.hdf5.order.epochs import Pass
from detloader.manifest.canonical import canonical_bytes

__all__ = ["State", "fingerprint_of", "read_state", "write_state"]


class State(NamedTuple):
    """A state: of which loader, in which epoch, and where in it."""

    fingerprint: str
    pass_: Pass
    steps: Any


def fingerprint_of(settings: JsonValue) -> str:
    """Return the SHA-256 of all that decides what a loader gives, as hexadecimal digits."""
    return hashlib.sha256(canonical_bytes(settings)).hexdigest()


def write_state(state: State) -> dict[str, Any]:
    """Return a state as plain values."""
    return {
        "fingerprint": state.fingerprint,
        "epoch": state.pass_.epoch,
        "seed": state.pass_.seed,
        **({"chosen": True} if state.pass_.chosen else {}),
        "steps": state.steps,
    }


def read_state(saved: Mapping[str, Any], fingerprint: str) -> State:
    """Return a saved state.

    Raises:
        UsageError: it is none, or that of a loader with other files or arguments.
    """
    try:
        pass_ = Pass(saved["epoch"], saved["seed"], saved.get("chosen", False))
        state = State(saved["fingerprint"], pass_, saved["steps"])
    except (KeyError, TypeError) as error:
        message = "this is no state of a Dataloader's iterator: give what its get_state gave"
        raise UsageError(message) from error
    if state.fingerprint != fingerprint:
        raise UsageError(
            "the state was saved by a Dataloader with other files or arguments: "
            "make this one as that one was made"
        )
    return state
