"""Environments of other versions, and the small recorder that enters them.

    interpreter   a Python with its packages
    cache         one environment for each set of versions, made once and kept
    installers    makes one, by uv or by venv and pip; refusals: what these say when they cannot
    own           detloader itself, for factories that use it
    recording     a factory's loader, recorded in an environment
    sender        the process there; plain: what it sends
    releases      which versions of a package there are

The ways in:

    environment({"grain": "0.2.12"}, python="3.11", on_progress=print) -> Interpreter
    recorded(interpreter, recipe, out, seconds=300) -> out
"""

from __future__ import annotations

from detloader.audits.environments.cache import environment, packages_of
from detloader.audits.environments.interpreter import Interpreter
from detloader.audits.environments.recording import recorded

__all__ = ["Interpreter", "environment", "packages_of", "recorded"]
