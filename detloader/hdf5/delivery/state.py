"""Where an iteration stands, to be saved and taken up again by the same loader elsewhere."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from detloader.errors import UsageError
from detloader.findings import JsonValue
from detloader.hdf5.arguments import check_integer
from detloader.hdf5.order.epochs import Pass
from detloader.manifest.canonical import canonical_bytes

__all__ = ["State", "fingerprint_of", "name_of", "no_state", "read_state", "write_state"]


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
        **({"drawn": state.pass_.drawn} if state.pass_.drawn else {}),
        "steps": state.steps,
    }


def name_of(function: Callable[..., Any] | None) -> str | None:
    """Return what tells one callable from another in every process: its name, not its code."""
    if function is None:
        return None
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else type(function).__qualname__


def no_state() -> UsageError:
    """Return the error that says that something is no state."""
    return UsageError(
        "this is no state of a Dataloader's iterator, or a damaged one: give what its get_state "
        "gave"
    )


def read_state(saved: Mapping[str, Any], fingerprint: str) -> State:
    """Return a saved state.

    Args:
        saved: what `write_state` gave.
        fingerprint: that of the loader that takes it up.

    Raises:
        UsageError: it is none, or that of a loader with other files or arguments.
    """
    try:
        epoch, seed = (check_integer(name, saved[name], 0) for name in ("epoch", "seed"))
        drawn = check_integer("drawn", saved.get("drawn", 0), 0)
        pass_ = Pass(epoch, seed, saved.get("chosen") is True, drawn)
        state = State(saved["fingerprint"], pass_, saved["steps"])
    except (KeyError, TypeError, AttributeError, UsageError) as error:
        raise no_state() from error
    if state.fingerprint != fingerprint:
        raise UsageError(
            "the state was saved by a Dataloader with other files or arguments: "
            "make this one as that one was made"
        )
    return state
