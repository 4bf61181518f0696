"""Settings that hold for all tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

__all__: list[str] = []

# No test may depend on the speed of the machine, so no example has a deadline.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A determinism tool's own CI is deterministic.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
